; Calls another program: the memo program, which logs the text that it is given.
;
;     selkie run examples/memo.s --accounts MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr:r
;
; Accounts: the memo program. The instruction is described in memory in the layout of the C SDK.

.accounts 1, 0

.equ INSTRUCTION, -40  ; program, accounts, their number, data, its length

.globl entrypoint
entrypoint:
    mov64 r2, r1
    add64 r2, ACCT0_KEY
    stxdw [r10 + INSTRUCTION], r2
    stdw [r10 + INSTRUCTION + 8], 0
    stdw [r10 + INSTRUCTION + 16], 0
    lddw r3, text
    stxdw [r10 + INSTRUCTION + 24], r3
    stdw [r10 + INSTRUCTION + 32], text_end - text

    mov64 r1, r10
    add64 r1, INSTRUCTION
    mov64 r2, 0
    mov64 r3, 0
    mov64 r4, 0
    mov64 r5, 0
    call sol_invoke_signed_c
    exit

.rodata
text: .ascii "from a program"
text_end:
