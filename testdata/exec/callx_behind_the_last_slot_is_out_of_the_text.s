//! versions: v0 v1 v3 v4
//! trap: CallOutsideTextSegment, pc 3, cu 3
//! versions: v2
//! trap: CallOutsideTextSegment, pc 3, cu 4
entrypoint:
    lddw r6, last
    add64 r6, 8
    callx r6
last:
    exit
