.globl entrypoint
entrypoint:
    lddw r1, missing_table
    call missing_function
    call sol_lgo_
    call helper
    exit
.macro twice name
    call \name
    call \name
.endm
helper:
    twice from_macro
    lddw r1, pointers
    exit
.rodata
pointers: .quad helper, missing_datum
