; The error that a function writes to memory comes to r0 through registers, memory and another function.
.globl entrypoint
entrypoint:
    call check
    mov64 r7, r0
    mov64 r0, 0
    jeq r7, 0, end
    lsh64 r7, 32
    mov64 r0, r7
end:
    exit

check:
    mov64 r6, r10
    stdw [r6 - 8], 25
    ldxw r1, [r10 - 8]
    call same
    exit

same:
    mov64 r6, r1
    mov64 r0, r6
    exit
