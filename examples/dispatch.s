; A program with two operations: the first byte of the instruction data selects one.
;
; It takes one account (without data) and 9 bytes of instruction data: one byte that selects the
; operation (a "discriminator"), and 8 bytes for the operation itself.
;
; Exit codes: 0 success, 2 malformed instruction data.

; When the program starts, r1 points to the serialized input: the number of accounts, the accounts,
; the length of the instruction data, and the instruction data. These are the offsets of the fields
; for one account without data. `.accounts 1` would define the same constants.
.equ NUM_ACCOUNTS, 0x0000
.equ ACCT0_HEADER, 0x0008
.equ ACCT0_KEY, 0x0010
.equ ACCT0_LAMPORTS, 0x0050
.equ ACCT0_DATA_LEN, 0x0058
.equ ACCT0_DATA, 0x0060
.equ INSTRUCTION_DATA_LEN, 0x2868
.equ INSTRUCTION_DATA, 0x2870

.globl entrypoint
entrypoint:
    ; Check the length first: with less data, the loads below would read other fields.
    ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
    jne r2, 9, bad_ix_data

    ; Compare the discriminator with each known value. If none matches, fall through to the error.
    ldxb r4, [r1 + INSTRUCTION_DATA + 0]
    jeq r4, 0x0, handler_a
    jeq r4, 0x1, handler_b
    ja bad_ix_data

; Every path sets r0 before `exit`, since r0 is the program's result.
handler_a:
    mov64 r0, 0
    exit

handler_b:
    mov64 r0, 0
    exit

bad_ix_data:
    mov64 r0, 2
    exit
