; `.extern` leaves open what a name is; `syscall` does not.
.extern sol_get_stack_height, sol_log_64_, memcpy
entrypoint:
    call sol_get_stack_height
    mov64 r6, r0
    syscall sol_get_stack_height
    mov64 r7, r0
    mov64 r1, r10
    add64 r1, -8
    lddw r2, text
    mov64 r3, 8
    call memcpy
    ldxb r3, [r10 - 8]
    mov64 r1, r6
    mov64 r2, r7
    mov64 r4, 0
    mov64 r5, 0
    call sol_log_64_
    mov64 r0, 0
    exit
.rodata
text: .ascii "abcdefgh"
