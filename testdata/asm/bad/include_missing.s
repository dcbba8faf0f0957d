.include "nowhere.s"
.incbin "nowhere.bin"
.include nowhere
.globl entrypoint
entrypoint:
    exit
