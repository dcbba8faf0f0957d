.rodata
.pubkey "Tokenkeg"
.pubkey "O0lI"
.pubkey Tokenkeg
.text
.globl entrypoint
entrypoint:
    exit
