# A loop without an end uses all compute units.
entrypoint:
    mov64 r6, 1
again:
    add64 r6, 1
    ja again
