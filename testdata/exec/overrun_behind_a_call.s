//! versions: v0 v3
//! trap: ExecutionOverrun, pc 4, cu 5
//! registers: r0=1
//! depth: 0
entrypoint:
    ja start
function:
    mov64 r0, 1
    exit
start:
    call function
