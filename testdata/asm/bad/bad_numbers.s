.globl entrypoint
entrypoint:
    mov64 r1, 0x
    mov64 r1, 12q4
    mov64 r1, 0b12
    mov64 r1, 010
    mov64 r1, 'ab'
    exit
