.globl entrypoint
entrypoint:
    jeq r1, 0, far
    .fill 40000, 0xb7
far:
    exit
