; Writes to its own instructions, which the machine does not let it do: the program ends with the store,
; `exit` is not reached, and r0 does not matter.
;
;     selkie run examples/registers/read-only.s

.globl entrypoint
entrypoint:
    lddw r1, 0x100000000  ; the program's own region
    stdw [r1 + 0], 42
    exit
