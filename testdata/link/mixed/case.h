typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;

void sol_log_(const char *text, u64 length);
void sol_log_64_(u64, u64, u64, u64, u64);
u64 sol_get_stack_height(void);
