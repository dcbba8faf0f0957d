.if UNKNOWN
    mov64 r1, r99
.endif
.ifdef UNKNOWN
    mov64 r1, r99
.endif
.globl entrypoint
entrypoint:
    exit
