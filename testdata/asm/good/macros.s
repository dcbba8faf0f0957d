.macro load dst, index=0
    ldxdw r\dst, [r1 + 8 * \index]
.endm
.macro fail_unless register, value, rest:vararg
    jeq \register, \value, ok_\@
    mov64 r0, \@ + 1
    exit
ok_\@:
    .byte_list \rest
.endm
.macro .byte_list first, rest:vararg
    .ifnb \first
    add64 r0, \first
    .byte_list \rest
    .endif
.endm
.globl entrypoint
entrypoint:
    load 2
    load 3, 2
    load index=3, dst=4
    fail_unless r2, 5, 10, 20
    fail_unless r3, 6
.rept 2
    mov64 r5, 1
    .rept 2
    add64 r5, 1
    .endr
.endr
.irp register, r6, r7
    mov64 \register, 0
.endr
.irpc digit, 89
    mov64 r\digit, \digit
.endr
.if SBPF_VERSION == 0
    mov64 r0, 100
.elseif SBPF_VERSION == 3
    mov64 r0, 103
.else
    mov64 r0, 104
.endif
.ifdef UNDEFINED
    not an instruction
    .if nested
    .endif
.else
    mov64 r0, 200
.endif
.ifndef entrypoint
    .err
.endif
.ifc a b, a b
    mov64 r0, 201
.endif
1:  sub64 r5, 1
    jne r5, 0, 1b
    ja 1f
    mov64 r0, 1
1:  exit
