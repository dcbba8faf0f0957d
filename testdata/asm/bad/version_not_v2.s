; version: v2
.globl entrypoint
entrypoint:
    mul64 r1, r2
    div64 r1, 5
    mod32 r1, r2
    neg64 r1
    le16 r1
    exit
