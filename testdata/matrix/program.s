; Fails in the way that the first byte of the data names, in the line with that comment.
.globl entrypoint
entrypoint:
    mov64 r6, r1                                ; ok
    ; The data follow the accounts; r2 has their address.
    ldxb r7, [r2+0]
    jeq r7, 1, trap
    jeq r7, 2, invoke
    jeq r7, 3, refuse
    jeq r7, 4, panic
    mov64 r0, 0
    exit
trap:
    mov64 r1, 7
    ldxdw r0, [r1+0]                            ; trap
    exit
invoke:
    ; An instruction of the program that the first account's address would be.
    add64 r6, 16
    stxdw [r10-40], r6
    stdw [r10-32], 0
    stdw [r10-24], 0
    stdw [r10-16], 0
    stdw [r10-8], 0
    mov64 r1, r10
    add64 r1, -40
    mov64 r2, 0
    mov64 r3, 0
    mov64 r4, 0
    mov64 r5, 0
    call sol_invoke_signed_c                    ; cpi
    exit
refuse:
    mov64 r0, 7                                 ; error
    exit
panic:
    mov64 r1, r6
    mov64 r2, 0
    mov64 r3, 1
    mov64 r4, 1
    call sol_panic_                             ; panic
    exit
