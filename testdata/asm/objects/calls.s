; Calls by name are the linker's; those within a section that go by a place are not.
.globl start
start:
    call helper             ; here
    call elsewhere          ; in another section
    call outside            ; in another object
    call outside + 16
    call sol_log_           ; a syscall, unless an object defines it
    syscall sol_log_        ; a syscall in any case
    call 0x207559bd         ; the same, by its number
    call .Lhidden
    call 1f
    call +1
    callx r3
    exit
helper:
    exit
.Lhidden:
1:  exit
.section .text.elsewhere, "ax", @progbits
elsewhere:
    call 2f
    exit
2:  exit
