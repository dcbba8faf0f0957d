; version: v3
.text_offset 0x1000
.globl entrypoint
entrypoint:
    exit
