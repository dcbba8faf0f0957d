; Ends with an error of its own: what r0 holds at `exit` is the result of the program, and anything but
; 0 is an error. Clients see this one as custom program error 0x258, which is 600.
;
;     selkie run examples/registers/error-code.s

.globl entrypoint
entrypoint:
    mov64 r0, 600
    exit
