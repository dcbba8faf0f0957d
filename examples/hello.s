; The smallest program that shows something: it logs a greeting and ends with success.
;
;     selkie run examples/hello.s

.globl entrypoint           ; `entrypoint` is where the program starts: name it for the loader
entrypoint:
    lddw r1, greeting       ; first argument: the address of the text (64 bits, so `lddw`)
    mov64 r2, GREETING_LEN  ; second argument: its length in bytes
    call sol_log_           ; a syscall is called by its name; arguments are in r1 to r5
    mov64 r0, 0             ; r0 is the result: 0 is success, anything else an error
    exit

.rodata                          ; what the program can read but not write
greeting:
    .ascii "Hello from sBPF!"
.equ GREETING_LEN, . - greeting  ; `.` is this place, so this is the length of the text
