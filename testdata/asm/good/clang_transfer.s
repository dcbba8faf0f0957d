	.text
	.file	"transfer.c"
	.globl	entrypoint                      # -- Begin function entrypoint
	.p2align	3
	.type	entrypoint,@function
entrypoint:                             # @entrypoint
# %bb.0:
	r8 = r1
	r6 = 3
	r1 = *(u64 *)(r8 + 0)
	if r1 != 0 goto LBB0_3
# %bb.1:
	r6 = 2
	r7 = *(u64 *)(r8 + 8)
	if r7 s< 1 goto LBB0_3
# %bb.2:
	r1 = GREETING ll
	r2 = 27
	call sol_log_
	r1 = r8
	r1 += 16
	r2 = r7
	call weigh
	r6 = r0
	r2 = *(u8 *)(r8 + 16)
	r2 <<= 56
	r2 s>>= 56
	r1 = r6
	call mix
	r0 <<= 32
	r0 >>= 32
	r3 = r6
	r3 = be32 r3
	r4 = r6
	r4 = -r4
	r1 = r6
	r2 = r0
	r5 = r7
	call sol_log_64_
	r1 = r6
	r1 /= 7
	r1 *= 7
	r6 -= r1
LBB0_3:
	r0 = r6
	exit
.Lfunc_end0:
	.size	entrypoint, .Lfunc_end0-entrypoint
                                        # -- End function
	.p2align	3                               # -- Begin function weigh
	.type	weigh,@function
weigh:                                  # @weigh
# %bb.0:
	r0 = 0
	if r2 == 0 goto LBB1_3
# %bb.1:
	r3 = 0
	r4 = 0
LBB1_2:                                 # =>This Inner Loop Header: Depth=1
	r5 = r3
	r5 &= 3
	r5 <<= 3
	r0 = WEIGHTS ll
	r0 += r5
	r5 = r1
	r5 += r3
	r5 = *(u8 *)(r5 + 0)
	r0 = *(u64 *)(r0 + 0)
	r0 *= r5
	r0 += r4
	r3 += 1
	r4 = r0
	if r3 < r2 goto LBB1_2
LBB1_3:
	exit
.Lfunc_end1:
	.size	weigh, .Lfunc_end1-weigh
                                        # -- End function
	.p2align	3                               # -- Begin function mix
	.type	mix,@function
mix:                                    # @mix
# %bb.0:
	r0 = r1
	r2 s>>= 1
	r0 <<= 3
	r0 ^= r2
	exit
.Lfunc_end2:
	.size	mix, .Lfunc_end2-mix
                                        # -- End function
	.type	GREETING,@object                # @GREETING
	.section	.rodata,"a",@progbits
GREETING:
	.asciz	"sum of the instruction data"
	.size	GREETING, 28

	.type	WEIGHTS,@object                 # @WEIGHTS
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	3
WEIGHTS:
	.quad	1                               # 0x1
	.quad	10                              # 0xa
	.quad	100                             # 0x64
	.quad	1000                            # 0x3e8
	.size	WEIGHTS, 32

	.addrsig
	.addrsig_sym GREETING
