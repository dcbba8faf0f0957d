.globl entrypoint
entrypoint:
    call sol_log_
    exit
a: .byte 1, 2
.byte 3, 4
b: .ascii "text"
