; version: v0 v3
.accounts 2, 165
.struct Vault, ACCT0_DATA
.field owner, 32
.field bump, 1
.field amount, 8, 8
.ends
.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + NUM_ACCOUNTS]
    ldxb r2, [r1 + ACCT0_HEADER]
    ldxb r2, [r1 + ACCT0_IS_SIGNER]
    ldxb r2, [r1 + ACCT0_IS_WRITABLE]
    ldxb r2, [r1 + ACCT0_IS_EXECUTABLE]
    ldxdw r2, [r1 + ACCT0_KEY]
    ldxdw r2, [r1 + ACCT0_OWNER]
    ldxdw r2, [r1 + ACCT0_LAMPORTS]
    ldxdw r2, [r1 + ACCT0_DATA_LEN]
    ldxdw r2, [r1 + ACCT0_DATA]
    ldxdw r2, [r1 + ACCT0_RENT_EPOCH]
    ldxdw r2, [r1 + ACCT1_HEADER]
    ldxdw r2, [r1 + ACCT1_RENT_EPOCH]
    ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
    ldxdw r2, [r1 + INSTRUCTION_DATA]
    ldxb r3, [r1 + Vault.bump]
    ldxdw r3, [r1 + Vault.amount]
    mov64 r0, Vault.SIZE
    exit
