.globl entrypoint
entrypoint:
    lddw r1, counter
    stxdw [r1 + 0], r1
    exit
.data
counter: .quad 7
.size counter, 8
