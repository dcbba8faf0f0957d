; A payout: splits a pool between two parties. It has a bug, which docs/debugging.md finds.
;
;     selkie run examples/payout.s --input examples/rust/payout/input.json
;
; Accounts: one, owned by this program, writable, with 24 bytes of data: the pool's total, the share of
; the first party, and that of the second. Instruction data: 2 bytes, the first party's share in basis
; points. All numbers are unsigned and little-endian.
;
; Exit codes: 0 if the pool was split, 1 if the shares do not add up to the total, 2 if accounts or data
; are not as described.

.equ POOL_LEN, 24
.equ POINTS_LEN, 2
.accounts 1, POOL_LEN

.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + NUM_ACCOUNTS]
    jne r2, 1, malformed
    ldxdw r2, [r1 + ACCT0_DATA_LEN]
    jne r2, POOL_LEN, malformed
    ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
    jne r2, POINTS_LEN, malformed

    mov64 r6, r1
    add64 r6, ACCT0_DATA              ; r6 points to the pool
    ldxh r7, [r1 + INSTRUCTION_DATA]  ; r7 is the first party's points

    ldxdw r1, [r6 + 0]
    mov64 r2, r7
    call share
    stxdw [r6 + 8], r0

    ldxdw r1, [r6 + 0]
    mov64 r2, 10000
    sub64 r2, r7
    call share
    stxdw [r6 + 16], r0

    ldxdw r1, [r6 + 8]
    add64 r1, r0
    ldxdw r2, [r6 + 0]
    jne r1, r2, not_all_paid
    mov64 r0, 0
    exit
not_all_paid:
    mov64 r0, 1
    exit
malformed:
    mov64 r0, 2
    exit

; Returns the part of a total in r1 that r2 basis points are.
share:
    ; The bug: the product does not fit into 32 bits.
    mul32 r1, r2
    div32 r1, 10000
    mov64 r0, r1
    exit
