.globl entrypoint
entrypoint:
    ldxdw r1, [r1 + message]
    mov64 r1, message
    mov64 r2, message - entrypoint
    exit
.rodata
message: .ascii "x"
.int message
