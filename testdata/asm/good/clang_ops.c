// clang -target bpf -mcpu=v2 -O1 -S clang_ops.c, and a label `entrypoint` before the first function.
typedef unsigned long long u64; typedef unsigned u32; typedef unsigned short u16; typedef unsigned char u8;
u64 f1(u64 a,u64 b){return (a*b)/(b+3)%17 ^ (a<<b) | (a>>5) & ~b;}
u32 f2(u32 a,u32 b,int c){return (a*b)/(b+3)%17 ^ (a<<(b&31)) | (a>>5) & ~b ^ (c>>7);}
long long f3(long long a,long long b){ if(a>b) return a>>3; if (a<-5) return -b; if (a>=100) return b&a; if (a<=b) return 5; return a;}
u64 f4(u64 a,u64 b){ if(a>b) return a>>3; if (a<7) return -b; if (a>=100) return b&a; if (a&64) return 9; if (a!=b) return 5; return a;}
u16 f5(u16*p,u8*q,u32*r,u64*s){ *p=*q+1; *r=*s; *s=0x123456789abcdefULL; r[3]=77; q[1]=200; s[2]=-5; return __builtin_bswap16(*p)+__builtin_bswap64(*s);}
u32 f6(u32 a,u32 b){ if(a>b) return a>>3; if ((int)a<-5) return b; return a==b?3:a+b;}
