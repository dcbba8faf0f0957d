.globl entrypoint
entrypoint:
    call sol_log_64_
