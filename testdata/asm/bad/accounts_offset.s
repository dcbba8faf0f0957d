.accounts 4
.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
    exit
