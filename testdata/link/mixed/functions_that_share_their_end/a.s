; Jumps from one function into another, and falling into the next, keep them together. Labels of the
; same name in another source are others.
.globl entrypoint
entrypoint:
    mov64 r6, 1
    call first
    mov64 r7, r0
    call third
    mov64 r1, r7
    mov64 r2, r0
    mov64 r3, r6
    mov64 r4, 0
    mov64 r5, 0
    call sol_log_64_
    mov64 r0, 0
    exit
.globl first, second, third
first:
    mov64 r0, 10
    ja finish
second:
    mov64 r0, 20
finish:
    add64 r0, 1
    exit
third:
    call fourth
fifth:
    add64 r0, 100
    exit
.type unused, @function
unused:
    call nothing_of_this_name
    exit
