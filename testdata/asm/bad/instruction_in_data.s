.rodata
    mov64 r0, 0
    r1 = 5
    if r1 == 5 goto entrypoint
    call entrypoint
    *(u64 *)(r1 + 0) = 1
.text
.globl entrypoint
entrypoint:
    exit
