.globl entrypoint
entrypoint:
    exit
.endif
.else
.endm
.endr
.ends
.popsection
.exitm
