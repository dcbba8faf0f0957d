//! versions: v0 v3
//! r0: 5, cu 9
; `first` ends with an `lddw`, whose second half is no end: control goes on in `second`, which
; writes a register that the call has to save.
entrypoint:
    mov64 r9, 5
    call first
    mov64 r0, r9
    exit
first:
    mov64 r1, 1
    lddw r7, 0x300000076
second:
    mov64 r9, 8
    jeq r1, 0, out
    exit
out:
    call second
    exit
