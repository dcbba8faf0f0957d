//! versions: v0 v1 v2 v3
//! config: depth=65
//! r0: 5, cu 322
//! versions: v0 v1 v2 v3
//! trap: CallDepthExceeded, pc 8, cu 254
; Functions that are written where they are called still need a frame.
entrypoint:
    mov64 r6, 5
    call down
    exit
down:
    add64 r1, 1
    add64 r2, 1
    jeq r2, 63, last
    call down
    exit
last:
    call leaf
    mov64 r0, r6
    exit
leaf:
    add64 r1, 7
    mov64 r3, r1
    exit
