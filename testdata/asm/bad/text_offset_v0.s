.text_offset 65
.globl entrypoint
entrypoint:
    exit
