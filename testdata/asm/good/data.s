.globl entrypoint
entrypoint:
    lddw r1, second
    exit
.rodata
first: .byte 1, 2
.byte 3, 4 ; without a label of its own
.short 0x0102, -1
.int 0x01020304
.long 5
.align 8
.quad second, second - first, -1
second: .ascii "a\tb\\\"\x41\101", "c"
.asciz "zero"
.string "ends"
.p2align 2, 0xff
.zero 3
.space 2, 0xaa
.fill 2, 2, 0x1234
.uleb128 300, 0
.sleb128 -129, 63, 64
.pubkey "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
.section .rodata.str1.1,"aMS",@progbits,1
"a name with spaces": .asciz "merged"
.section .data.rel.ro,"aw",@progbits
.quad "a name with spaces"
.section .debug_info,"",@progbits
.long nowhere
