.globl entrypoint
entrypoint:
    lock *(u64 *)(r1 + 0) += r2
    r2 = atomic_fetch_add((u64 *)(r1 + 0), r2)
    exit
