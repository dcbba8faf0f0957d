//! versions: v0 v1 v2 v3 v4
//! r0: 31, cu 21
.macro taken condition, right
    \condition r1, \right, ok_\@
    exit
ok_\@:
    lsh64 r0, 1
    or64 r0, 1
.endm
.macro not_taken condition, right
    \condition r1, \right, wrong
.endm
entrypoint:
    mov64 r1, -1
    mov64 r2, 1
    taken jslt, 0
    taken jsle, -1
    taken jslt, r2
    taken jsgt, -2
    taken jsge, -1
    not_taken jsgt, r2
    not_taken jsge, 0
    not_taken jsle, -2
    exit
wrong:
    mov64 r0, 0
    exit
