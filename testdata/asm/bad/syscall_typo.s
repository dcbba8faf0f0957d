.globl entrypoint
entrypoint:
    call sol_lgo_
    call print
    syscall sol_log
    exit
