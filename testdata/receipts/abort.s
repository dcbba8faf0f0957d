# A syscall stops the program.
entrypoint:
    call fail
    exit

fail:
    call abort
    exit
