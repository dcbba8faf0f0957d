; r6 to r9 keep their values over a call: the machine saves them for the caller, so that `other` may change
; r6. Each function has a frame of its own below r10, in which it can keep what it needs; here its
; caller's r6, as it was on entry.
;
;     selkie run examples/registers/preserved.s

.globl entrypoint
entrypoint:
    mov64 r6, 999
    call other
    mov64 r2, r6  ; still 999, which is 0x3e7
    mov64 r0, 0
    exit

other:
    stxdw [r10 - 8], r6
    mov64 r6, 42
    add64 r6, 10
    ldxdw r6, [r10 - 8]
    exit
