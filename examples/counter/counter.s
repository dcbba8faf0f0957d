; A counter: adds the amount in the instruction data to the number in an account.
;
;     selkie run examples/counter/counter.s --input examples/counter/input.json
;
; Accounts: one, owned by this program, writable, with 8 bytes of data: the count.
; Instruction data: 8 bytes, the amount to add. Both are unsigned and little-endian.
;
; Exit codes, each for one reason, so that a client can tell them apart:
;     0  the count was increased
;     1  not exactly one account
;     2  the account is a duplicate of another
;     3  the account is not writable
;     4  the account's data is not 8 bytes long
;     5  the instruction data is not 8 bytes long
;     6  the count would overflow

.equ COUNT_LEN, 8
.equ AMOUNT_LEN, 8

; r1 points to the serialized input. This directive defines the offsets of its fields, ACCT0_DATA
; and so on, for one account with 8 bytes of data. The offsets of everything after the data depend on
; its length, so the program must check the length before it reads the instruction data.
.accounts 1, COUNT_LEN

.globl entrypoint
entrypoint:
    ; How many accounts were passed?
    ldxdw r2, [r1 + NUM_ACCOUNTS]
    jne r2, 1, wrong_account_count

    ; A duplicate of an earlier account is not serialized again: its first byte is the index of the
    ; earlier one. Otherwise the byte is 0xff.
    ldxb r2, [r1 + ACCT0_HEADER]
    jne r2, 0xff, duplicate_account

    ; The runtime would reject a change of a read-only account, but only after the program ends.
    ; Checking here gives a clear reason.
    ldxb r2, [r1 + ACCT0_IS_WRITABLE]
    jeq r2, 0, not_writable

    ldxdw r2, [r1 + ACCT0_DATA_LEN]
    jne r2, COUNT_LEN, wrong_data_length

    ; From here on the offsets are right.
    ldxdw r2, [r1 + INSTRUCTION_DATA_LEN]
    jne r2, AMOUNT_LEN, wrong_instruction_length

    ldxdw r2, [r1 + ACCT0_DATA]        ; the count
    ldxdw r3, [r1 + INSTRUCTION_DATA]  ; the amount
    add64 r3, r2
    jlt r3, r2, overflow               ; a sum smaller than one of its terms has overflowed
    stxdw [r1 + ACCT0_DATA], r3        ; the runtime copies the account's data from here

    mov64 r0, 0
    exit

wrong_account_count:
    mov64 r0, 1
    exit
duplicate_account:
    mov64 r0, 2
    exit
not_writable:
    mov64 r0, 3
    exit
wrong_data_length:
    mov64 r0, 4
    exit
wrong_instruction_length:
    mov64 r0, 5
    exit
overflow:
    mov64 r0, 6
    exit
