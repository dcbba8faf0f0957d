//! versions: v0 v1 v2 v3 v4
//! r0: 1, cu 8
entrypoint:
    mov64 r1, 5
    jgt r1, -1, wrong               // -1 is the largest number
    jge r1, -1, wrong
    jlt r1, -1, next
wrong:
    exit
next:
    jle r1, 4, wrong
    jne r1, 5, wrong
    mov64 r0, 1
    exit
