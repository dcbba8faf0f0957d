.rodata
.ascii "open
.ascii "bad \q escape"
.ascii no_quotes
.byte "text"
.text
.globl entrypoint
entrypoint:
    exit
