


; A header.   
; It has two lines.
  .globl   entrypoint ;the entry
.equ A,1+2*(3-  -4)   ; a constant
B=A<<2|~1 ; another
.set  C , !A&&B
 entrypoint : ldxdw R2,[r1+8] ; the first
	mov64 r1 ,  -5;five
   # about the branch
	jeq r2,0 , out   // a comment that is far away
	JEQ_IS_A_MACRO r2,  a+b , "x  ,  y"



	r0=*(u64*)(r1+8)
	*(u32 *) (R10 -4)=w1
	if r1 s> -5 goto out
	if w1==W2 goto +3
	r1 s>>=3
	r1 s >>= r2
	r2=-r2
	r3 = be16 R3
	r4=out ll
	goto out
	ja . +8
	callx R3
	call sol_log_
	; the end of the block

; a remark between
out:loop:
1: 2:   exit   /* done */
	exit /* one */ ; two
  add64 r1 , /* inner */ 2
.macro  load  dst,index = 0 , rest : vararg
ldxdw r\dst,[r1+8*\index]
ok_\@ :
ok_\@: .byte_list   \rest , 2  ; in a macro
	j\cond r1,2,ok_\@
.endm
load 2,( 1 + 2 )
  .rept  2
add64 r1,1
  .endr
.irp  x , r6,r7
	mov64 \x,0
.endr
.if  SBPF_VERSION>=3&&A
	mov64 r0,1
.else
	not   an   instruction , here
.endif
.struct  S , 8
.field a,1
  .field  b , 8 , 8
.ends
  .section	.rodata.str1.1,"aMS",@progbits,1
	.type	f1,@function
	.cfi_def_cfa   r1 ,  8
text:.ascii "a  ,  b" , "c" ; text
	"a name" : .byte 'a',',',0x1F
table: .quad entrypoint,1f-1b
 /* a comment
      over lines */
a /* within
  code */ : exit
.pubkey "1111"

