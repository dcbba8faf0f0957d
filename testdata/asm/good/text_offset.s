; the file starts its instructions, and after them its data, where it is told to
.text_offset 0x120
.globl entrypoint
entrypoint:
    lddw r1, message
    mov64 r2, 5
    call sol_log_
    exit
.rodata
message:
    .ascii "hello"
