.equ ZERO, 0
.globl entrypoint
entrypoint:
    mov64 r0, 1 / ZERO
    mov64 r0, 1 << 64
    mov64 r0, (1 + 2
    mov64 r0, 1 +
    mov64 r0, -entrypoint
    mov64 r0, entrypoint
    mov64 r0, entrypoint * 2
    exit
