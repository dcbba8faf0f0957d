//! versions: v0 v1 v2 v3 v4
//! r0: 2, cu 2
.globl entrypoint
function:
    mov64 r0, 1
    exit
entrypoint:
    mov64 r0, 2
    exit
