// A bug that takes four calls in order: B(2), C(3), A(1), D(4). The account keeps how far it came; a
// wrong call succeeds, and starts over. The data are the letter, from 0, and a number of eight bytes.

entrypoint:
    ldxb r6, [r2+0]
    ldxdw r7, [r2+1]
    ldxb r8, [r1+0x60]          // account 0's data
    mov64 r9, 0
    jne r8, 0, second
    jne r6, 1, done
    jne r7, 2, done
    mov64 r9, 1
    ja done
second:
    jne r8, 1, third
    jne r6, 2, done
    jne r7, 3, done
    mov64 r9, 2
    ja done
third:
    jne r8, 2, fourth
    jne r6, 0, done
    jne r7, 1, done
    mov64 r9, 3
    ja done
fourth:
    jne r6, 3, done
    lddw r3, 4
    jne r7, r3, done
    mov64 r3, 0
    div64 r7, r3
done:
    stxb [r1+0x60], r9
    mov64 r0, 0
    exit
