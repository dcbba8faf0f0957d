entrypoint:
  mov r6, r1
  ldxdw r2, [r6]
  jne64 r2, 0x1, fail
  ldxw r3, [r6+0x8]
  stxw [r10-0x4], r3
  stb [r10-5], 7
  lddw r4, 0x123456789abcdef
  arsh r4, 3
  add32 r4, 5
  neg r4
  be16 r4
  xor r4, r3
  jsgt r4, -5, next
  mov32 r4, 0
next:
  call double
  syscall sol_log_64_
  callx r7
  mov r0, 0
  exit
fail:
  mov r0, 1
  exit
double:
  lsh r1, 1
  ja +0
  exit
