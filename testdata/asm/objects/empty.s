; Nothing but constants, for others to include.
.equ ONE, 1
.macro nop
    mov64 r0, r0
.endm
