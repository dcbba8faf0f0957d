.globl entrypoint
entrypoint:
    ja message
    exit
.rodata
message: .ascii "x"
