.warning "this is old"
.error "this is wrong"
.err
.if 0
.err
.endif
.globl entrypoint
entrypoint:
    exit
