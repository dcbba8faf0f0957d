.text
    exit
    .quad f
.globl f, renamed
f:
    exit
.set renamed, outside + 8
.bss
b: .byte 0, 1
c: .quad f
.comm shared, 8
.comm shared, 8
.comm f, 8
.comm negative, 0 - 1
.size f, 400
.size f
.weak table
.rodata
table: .quad 1
.equ LENGTH, end - table
end:
