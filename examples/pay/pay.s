; Pays: invokes the system program to transfer lamports.
;
;     selkie run examples/pay/pay.s --input examples/pay/input.json
;
; Accounts: the payer (signer, writable) and the recipient (writable), without data; the system program,
; whose data on a cluster are its name.
; Instruction data: 8 bytes, the lamports to transfer.
;
; The invocation is described in memory in the layout of the C SDK: the instruction (SolInstruction)
; with its accounts (SolAccountMeta) and data, and the caller's view of those accounts
; (SolAccountInfo).

.equ TRANSFER, 2

; r1 points to the serialized input. This directive defines the offsets of its fields, ACCT0_KEY and
; so on, for three accounts without data; what follows data is as much later as they are long.
.accounts 3, 0, 0, 0

; Offsets in the stack frame, from r10, which points to its end.
.equ METAS, -32        ; two SolAccountMeta of 16 bytes: key, is_writable, is_signer
.equ INSTRUCTION, -72  ; program, accounts, their number, data, its length
.equ DATA, -88         ; the instruction of the system program: its index and the lamports
.equ INFOS, -200       ; two SolAccountInfo of 56 bytes
.equ INFO0, INFOS
.equ INFO1, INFOS + 56

.globl entrypoint
entrypoint:
    ; The lamports are behind the system program's data, which are padded to a multiple of 8 bytes.
    stw [r10 + DATA], TRANSFER
    ldxdw r2, [r1 + ACCT2_DATA_LEN]
    add64 r2, 7
    and64 r2, -8
    add64 r2, r1
    ldxdw r2, [r2 + INSTRUCTION_DATA]
    stxdw [r10 + DATA + 4], r2

    ; The instruction's accounts: the payer signs, both are written to.
    mov64 r2, r1
    add64 r2, ACCT0_KEY
    stxdw [r10 + METAS], r2
    sth [r10 + METAS + 8], 0x0101
    stxdw [r10 + INFO0], r2
    mov64 r2, r1
    add64 r2, ACCT1_KEY
    stxdw [r10 + METAS + 16], r2
    sth [r10 + METAS + 24], 0x0001
    stxdw [r10 + INFO1], r2

    mov64 r2, r1
    add64 r2, ACCT2_KEY
    stxdw [r10 + INSTRUCTION], r2
    mov64 r2, r10
    add64 r2, METAS
    stxdw [r10 + INSTRUCTION + 8], r2
    stdw [r10 + INSTRUCTION + 16], 2
    mov64 r2, r10
    add64 r2, DATA
    stxdw [r10 + INSTRUCTION + 24], r2
    stdw [r10 + INSTRUCTION + 32], 12

    ; The caller's view of the accounts: pointers to their lamports, data and owners.
    mov64 r2, r1
    add64 r2, ACCT0_LAMPORTS
    stxdw [r10 + INFO0 + 8], r2
    stdw [r10 + INFO0 + 16], 0
    mov64 r2, r1
    add64 r2, ACCT0_DATA
    stxdw [r10 + INFO0 + 24], r2
    mov64 r2, r1
    add64 r2, ACCT0_OWNER
    stxdw [r10 + INFO0 + 32], r2
    mov64 r2, r1
    add64 r2, ACCT1_LAMPORTS
    stxdw [r10 + INFO1 + 8], r2
    stdw [r10 + INFO1 + 16], 0
    mov64 r2, r1
    add64 r2, ACCT1_DATA
    stxdw [r10 + INFO1 + 24], r2
    mov64 r2, r1
    add64 r2, ACCT1_OWNER
    stxdw [r10 + INFO1 + 32], r2

    mov64 r1, r10
    add64 r1, INSTRUCTION
    mov64 r2, r10
    add64 r2, INFOS
    mov64 r3, 2
    mov64 r4, 0
    mov64 r5, 0
    call sol_invoke_signed_c
    exit
