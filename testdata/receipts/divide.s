# A function divides by zero: the backtrace names both functions.
entrypoint:
    mov64 r1, 7
    call share
    exit

share:
    mov64 r2, 0
    div64 r1, r2
    exit
