.equ C0, C1 + C1
.equ C1, C2 + C2
.equ C2, C3 + C3
.equ C3, C4 + C4
.equ C4, C5 + C5
.equ C5, C6 + C6
.equ C6, C7 + C7
.equ C7, C8 + C8
.equ C8, C9 + C9
.equ C9, C10 + C10
.equ C10, C11 + C11
.equ C11, C12 + C12
.equ C12, C13 + C13
.equ C13, C14 + C14
.equ C14, C15 + C15
.equ C15, C16 + C16
.equ C16, C17 + C17
.equ C17, C18 + C18
.equ C18, C19 + C19
.equ C19, C20 + C20
.equ C20, C21 + C21
.equ C21, C22 + C22
.equ C22, C23 + C23
.equ C23, C24 + C24
.equ C24, C25 + C25
.equ C25, C26 + C26
.equ C26, C27 + C27
.equ C27, C28 + C28
.equ C28, C29 + C29
.equ C29, C30 + C30
.equ C30, C31 + C31
.equ C31, C32 + C32
.equ C32, C33 + C33
.equ C33, C34 + C34
.equ C34, C35 + C35
.equ C35, C36 + C36
.equ C36, C37 + C37
.equ C37, C38 + C38
.equ C38, C39 + C39
.equ C39, C40 + C40
.equ C40, C41 + C41
.equ C41, C42 + C42
.equ C42, C43 + C43
.equ C43, C44 + C44
.equ C44, C45 + C45
.equ C45, C46 + C46
.equ C46, C47 + C47
.equ C47, C48 + C48
.equ C48, C49 + C49
.equ C49, C50 + C50
.equ C50, C51 + C51
.equ C51, C52 + C52
.equ C52, C53 + C53
.equ C53, C54 + C54
.equ C54, C55 + C55
.equ C55, C56 + C56
.equ C56, C57 + C57
.equ C57, C58 + C58
.equ C58, C59 + C59
.equ C59, C60 + C60
.if C0
.endif
.equ C60, 1
.globl entrypoint
entrypoint:
    mov64 r0, C40
    lddw r0, C0
    exit
