.equ LATER, EARLIER * 2 ; before what it needs
.equ EARLIER, 21
.equ MASK, ~0xff & 0xffff | 1 << 4 ^ 3
.set COUNTER, 1
.globl entrypoint
entrypoint:
    mov64 r0, LATER
    mov64 r0, 10 - 3 - 2
    mov64 r0, 1 + 2 * 3
    mov64 r0, (1 + 2) * 3
    mov64 r0, -7 / 2
    mov64 r0, -7 % 3
    mov64 r0, 1 << 3 + 1
    mov64 r0, MASK
    mov64 r0, !0 + !5
    mov64 r0, 2 > 1 && 1 >= 1 || 0
    mov64 r0, 'A' + '\n'
    mov64 r0, 0b1010_0101 + 0o17 + 0xF_F
    mov64 r0, COUNTER
.set COUNTER, COUNTER + 1
    mov64 r0, COUNTER
    mov64 r0, end - start
    mov64 r0, . - entrypoint
    mov64 r0, SBPF_VERSION
    ldxdw r1, [r1 + EARLIER - 1 + 4]
    ldxdw r1, [r1 - EARLIER + 1]
    ldxdw r1, [r1 + (EARLIER - 1) * 2]
    jeq r0, 0, entrypoint + 8
    ja . + 8
    exit
.rodata
start: .byte 1, 2, 3
end:
