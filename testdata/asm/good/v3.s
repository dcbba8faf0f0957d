; version: v3 v4
.globl entrypoint
entrypoint:
    lddw r1, message
    mov64 r2, message_len
    call sol_log_
    syscall sol_log_compute_units_
    call 0x207559bd
    call function
    jeq32 r1, 0xffffffff, function
    jslt32 r1, r2, function
    callx r4
    exit
function:
    exit
.rodata
message: .ascii "hello"
.equ message_len, . - message
