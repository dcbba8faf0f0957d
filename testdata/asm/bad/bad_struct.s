.field a, 8
.struct S
.field a, 8
.field a, 4
.field b, -1
.field c, 1, 3
    mov64 r1, 1
.struct T
.globl entrypoint
entrypoint:
    exit
