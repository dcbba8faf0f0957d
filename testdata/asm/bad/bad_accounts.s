.accounts 300
.accounts 1, 2, 3
.accounts -1
.globl entrypoint
entrypoint:
    exit
