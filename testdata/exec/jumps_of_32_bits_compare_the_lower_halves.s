//! versions: v3 v4
//! r0: 1, cu 12
entrypoint:
    lddw r1, 0x1ffffffff
    mov64 r2, -1
    jeq r1, r2, wrong
    jne32 r1, r2, wrong
    jne32 r1, -1, wrong
    jsgt32 r1, -1, wrong            // the lower half is -1
    jslt32 r1, 0, next
wrong:
    exit
next:
    jlt32 r1, 7, wrong              // and unsigned, the largest number
    jset32 r1, 1, end
    exit
end:
    mov64 r0, 1
    jle32 r1, -1, out
    exit
out:
    exit
