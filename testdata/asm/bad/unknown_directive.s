.GLOBL entrypoint
.golbl entrypoint
.asci "x"
.globl entrypoint
entrypoint:
    exit
