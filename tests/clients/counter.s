; A counter with Anchor's layout: 8 bytes that tell accounts apart, then the count.
;
; Accounts: the counter, owned by this program, writable.
; Instruction data: 8 bytes that tell instructions apart, then the amount to add.
; It logs an event, `Increased { amount: u64 }`, and returns the count.

.accounts 1, 16

.equ EVENT_LEN, 16

.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + NUM_ACCOUNTS]
    jne r2, 1, wrong
    ldxdw r2, [r1 + ACCT0_DATA_LEN]
    jne r2, 16, wrong

    ldxdw r2, [r1 + ACCT0_DATA + 8]
    mov64 r6, r1
    add64 r6, INSTRUCTION_DATA
    ldxdw r3, [r6 + 8]
    jeq r3, 0, zero
    add64 r2, r3
    stxdw [r1 + ACCT0_DATA + 8], r2

    ; The event: its discriminator and the amount, as a slice.
    lddw r4, 0x9cacac02d000cf92
    stxdw [r10 - 16], r4
    stxdw [r10 - 8], r3
    mov64 r5, r10
    sub64 r5, 16
    stxdw [r10 - 32], r5
    mov64 r5, EVENT_LEN
    stxdw [r10 - 24], r5
    mov64 r7, r1
    mov64 r1, r10
    sub64 r1, 32
    mov64 r2, 1
    call sol_log_data

    mov64 r1, r7
    add64 r1, ACCT0_DATA + 8
    mov64 r2, 8
    call sol_set_return_data
    mov64 r0, 0
    exit

wrong:
    mov64 r0, 1
    exit
zero:
    lddw r0, 6000
    exit
