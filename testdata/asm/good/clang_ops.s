; version: v0 v3
	.text
	.file	"clang_ops.c"
	.globl	f1                              # -- Begin function f1
	.p2align	3
	.type	f1,@function
entrypoint:
f1:                                     # @f1
# %bb.0:
	r0 = r2
	r0 *= r1
	r3 = r2
	r3 += 3
	r0 /= r3
	r3 = r0
	r3 /= 17
	r3 *= 17
	r0 -= r3
	r3 = r1
	r3 <<= r2
	r0 ^= r3
	r2 ^= -1
	r1 >>= 5
	r1 &= r2
	r0 |= r1
	exit
.Lfunc_end0:
	.size	f1, .Lfunc_end0-f1
                                        # -- End function
	.globl	f2                              # -- Begin function f2
	.p2align	3
	.type	f2,@function
f2:                                     # @f2
# %bb.0:
	r0 = r2
	r0 *= r1
	r0 <<= 32
	r0 >>= 32
	r4 = r2
	r4 += 3
	r4 <<= 32
	r4 >>= 32
	r0 /= r4
	r4 = r0
	r4 /= 17
	r4 *= 17
	r0 -= r4
	r4 = 4294967264 ll
	r5 = r1
	r5 &= r4
	r4 = r2
	r4 &= 31
	r1 <<= r4
	r0 ^= r1
	r5 >>= 5
	r2 ^= -1
	r5 &= r2
	r3 <<= 32
	r3 s>>= 39
	r3 ^= r5
	r0 |= r3
	exit
.Lfunc_end1:
	.size	f2, .Lfunc_end1-f2
                                        # -- End function
	.globl	f3                              # -- Begin function f3
	.p2align	3
	.type	f3,@function
f3:                                     # @f3
# %bb.0:
	r0 = r1
	if r0 s<= r2 goto LBB2_2
# %bb.1:
	r0 s>>= 3
	goto LBB2_8
LBB2_2:
	if r0 s> -6 goto LBB2_4
# %bb.3:
	r2 = -r2
	r0 = r2
	goto LBB2_8
LBB2_4:
	if r0 s< 100 goto LBB2_6
# %bb.5:
	r2 &= r0
	r0 = r2
	goto LBB2_8
LBB2_6:
	if r0 s> r2 goto LBB2_8
# %bb.7:
	r0 = 5
LBB2_8:
	exit
.Lfunc_end2:
	.size	f3, .Lfunc_end2-f3
                                        # -- End function
	.globl	f4                              # -- Begin function f4
	.p2align	3
	.type	f4,@function
f4:                                     # @f4
# %bb.0:
	if r1 <= r2 goto LBB3_3
# %bb.1:
	r1 >>= 3
LBB3_2:
	r0 = r1
	goto LBB3_8
LBB3_3:
	if r1 > 6 goto LBB3_5
# %bb.4:
	r2 = -r2
	goto LBB3_7
LBB3_5:
	if r1 < 100 goto LBB3_9
# %bb.6:
	r2 &= r1
LBB3_7:
	r0 = r2
LBB3_8:
	exit
LBB3_9:
	r0 = 9
	r3 = r1
	r3 &= 64
	if r3 != 0 goto LBB3_8
# %bb.10:
	if r1 == r2 goto LBB3_2
# %bb.11:
	r1 = 5
	goto LBB3_2
.Lfunc_end3:
	.size	f4, .Lfunc_end3-f4
                                        # -- End function
	.globl	f5                              # -- Begin function f5
	.p2align	3
	.type	f5,@function
f5:                                     # @f5
# %bb.0:
	r5 = *(u8 *)(r2 + 0)
	r5 += 1
	*(u16 *)(r1 + 0) = r5
	r5 = *(u64 *)(r4 + 0)
	*(u32 *)(r3 + 0) = r5
	r5 = 81985529216486895 ll
	*(u64 *)(r4 + 0) = r5
	r5 = 77
	*(u32 *)(r3 + 12) = r5
	r3 = 200
	*(u8 *)(r2 + 1) = r3
	r2 = -5
	*(u64 *)(r4 + 16) = r2
	r2 = *(u64 *)(r4 + 0)
	r2 = be64 r2
	r0 = *(u16 *)(r1 + 0)
	r0 = be16 r0
	r0 += r2
	r0 &= 65535
	exit
.Lfunc_end4:
	.size	f5, .Lfunc_end4-f5
                                        # -- End function
	.globl	f6                              # -- Begin function f6
	.p2align	3
	.type	f6,@function
f6:                                     # @f6
# %bb.0:
	r0 = r2
	r3 = r0
	r3 <<= 32
	r3 >>= 32
	r2 = r1
	r2 <<= 32
	r4 = r2
	r4 >>= 32
	if r4 <= r3 goto LBB5_2
# %bb.1:
	r2 = 4294967288 ll
	r1 &= r2
	r1 >>= 3
	r0 = r1
	goto LBB5_6
LBB5_2:
	r2 s>>= 32
	if r2 s< -5 goto LBB5_6
# %bb.3:
	r3 = r0
	r3 <<= 32
	r3 >>= 32
	r4 = r1
	r4 <<= 32
	r4 >>= 32
	r2 = 3
	if r4 == r3 goto LBB5_5
# %bb.4:
	r0 += r1
	r2 = r0
LBB5_5:
	r0 = r2
LBB5_6:
	exit
.Lfunc_end5:
	.size	f6, .Lfunc_end5-f6
                                        # -- End function
	.addrsig
