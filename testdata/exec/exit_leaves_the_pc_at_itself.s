//! versions: v0 v1 v2 v3 v4
//! r0: 0, cu 2
//! pc: 3
//! steps: 2
entrypoint:
    ja out
    exit
    exit
out:
    exit
