; A lockup: pays its lamports to a beneficiary once a deadline has passed.
;
;     cargo run -p selkie --example lockup
;
; Accounts: the lockup, owned by this program, writable, with 40 bytes of data: the deadline as a Unix time in
; seconds, signed and little-endian, and the beneficiary's address; the beneficiary, writable.
; Instruction data: none is read.
;
; The clock of a block shows when the block before it ended. At 200 ms a slot about five blocks have the same
; second, and the first one after the deadline may pay.
;
; Exit codes:
;     0  the lamports were paid
;     1  not exactly two accounts
;     2  the lockup's data are not 40 bytes long
;     3  the second account is not the beneficiary
;     4  the deadline has not passed

.equ LOCKUP_LEN, 40
.equ BENEFICIARY, 8  ; behind the deadline

; r1 points to the serialized input. This directive defines the offsets of its fields.
.accounts 2, LOCKUP_LEN, 0

; The clock in the stack frame, and where it has the Unix time.
.equ CLOCK, -40
.equ UNIX_TIMESTAMP, 32

.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + NUM_ACCOUNTS]
    jne r2, 2, wrong_account_count
    ldxdw r2, [r1 + ACCT0_DATA_LEN]
    jne r2, LOCKUP_LEN, wrong_data_length

    ; A duplicate of the lockup is not serialized again, and no beneficiary either.
    ldxb r2, [r1 + ACCT1_HEADER]
    jne r2, 0xff, wrong_beneficiary
    ldxdw r2, [r1 + ACCT0_DATA + BENEFICIARY]
    ldxdw r3, [r1 + ACCT1_KEY]
    jne r2, r3, wrong_beneficiary
    ldxdw r2, [r1 + ACCT0_DATA + BENEFICIARY + 8]
    ldxdw r3, [r1 + ACCT1_KEY + 8]
    jne r2, r3, wrong_beneficiary
    ldxdw r2, [r1 + ACCT0_DATA + BENEFICIARY + 16]
    ldxdw r3, [r1 + ACCT1_KEY + 16]
    jne r2, r3, wrong_beneficiary
    ldxdw r2, [r1 + ACCT0_DATA + BENEFICIARY + 24]
    ldxdw r3, [r1 + ACCT1_KEY + 24]
    jne r2, r3, wrong_beneficiary

    mov64 r6, r1  ; the syscall changes r1 to r5
    mov64 r1, r10
    add64 r1, CLOCK
    call sol_get_clock_sysvar
    ldxdw r2, [r10 + CLOCK + UNIX_TIMESTAMP]
    ldxdw r3, [r6 + ACCT0_DATA]
    jslt r2, r3, locked

    ; The runtime lets a program take lamports only from accounts that it owns.
    ldxdw r2, [r6 + ACCT0_LAMPORTS]
    ldxdw r3, [r6 + ACCT1_LAMPORTS]
    add64 r3, r2  ; there are fewer lamports than 2^64
    stxdw [r6 + ACCT1_LAMPORTS], r3
    mov64 r2, 0
    stxdw [r6 + ACCT0_LAMPORTS], r2
    mov64 r0, 0
    exit

wrong_account_count:
    mov64 r0, 1
    exit
wrong_data_length:
    mov64 r0, 2
    exit
wrong_beneficiary:
    mov64 r0, 3
    exit
locked:
    mov64 r0, 4
    exit
