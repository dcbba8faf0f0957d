# A session with the failed transaction of examples/rust/payout: `cargo xtask gdb` checks what it prints.
# It begins at the failure. The first party's share is at 0x400000068.
set pagination off
backtrace
watch *(0x400000068 as *mut u64)
reverse-continue
delete
break share
reverse-continue
backtrace
info args
print $r1
next
reverse-next
reverse-stepi
finish
reverse-finish
up
monitor goto 30
maintenance flush register-cache
frame
delete
tbreak check
continue
info args
continue
backtrace
reverse-stepi
reverse-continue
