//! versions: v0
//! trap: CallOutsideTextSegment, pc 1, cu 2
//! registers: r6=7 r10=0x200003000
//! depth: 1
//! returns to: [2]
//! versions: v1 v2
//! trap: CallOutsideTextSegment, pc 1, cu 2
//! registers: r6=7 r10=0x200040000
//! depth: 1
//! returns to: [2]
//! versions: v3 v4
//! trap: CallOutsideTextSegment, pc 1, cu 2
//! registers: r6=7 r10=0x200002000
//! depth: 1
//! returns to: [2]
entrypoint:
    mov64 r6, 7                     // far below the text: the difference wraps
    callx r6
    exit
