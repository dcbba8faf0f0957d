//! The instruction table: one row per meaning of an opcode.
//!
//! `code, versions => Name = "mnemonic", Kind;`
//!
//! An opcode that means something else in another version has another row with the same code; a
//! `const` assertion in [`op`](crate::op) rejects two rows with the same code in one version.
//! Sources: anza sbpf `ebpf.rs`, `interpreter.rs`, `verifier.rs` and `program.rs`; SIMD-0166
//! (dynamic frames, V1), SIMD-0173 (encoding, V2), SIMD-0174 (arithmetic, V2), SIMD-0178 and
//! SIMD-0377 (static calls and 32-bit jumps, V3).

/// Invokes `$mac!` once, with all rows of the instruction table.
///
/// ```
/// macro_rules! count {
///     ($($code:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
///         0 $(+ { let _ = $code; 1 })*
///     };
/// }
/// assert_eq!(selkie_isa::for_each_op!(count), selkie_isa::Op::ALL.len());
/// ```
#[macro_export]
macro_rules! for_each_op {
    ($mac:ident) => {
        $mac! {
            // 64-bit immediate in two slots.
            0x18, NOT_V2 => Lddw        = "lddw",    LoadImm64;
            0x00, ALL    => Tail        = "",        Tail;

            // Loads and stores. V2 moved them into the ALU classes (SIMD-0173).
            0x71, NOT_V2 => Ldxb        = "ldxb",    Load(B);
            0x69, NOT_V2 => Ldxh        = "ldxh",    Load(H);
            0x61, NOT_V2 => Ldxw        = "ldxw",    Load(W);
            0x79, NOT_V2 => Ldxdw       = "ldxdw",   Load(Dw);
            0x72, NOT_V2 => Stb         = "stb",     StoreImm(B);
            0x6a, NOT_V2 => Sth         = "sth",     StoreImm(H);
            0x62, NOT_V2 => Stw         = "stw",     StoreImm(W);
            0x7a, NOT_V2 => Stdw        = "stdw",    StoreImm(Dw);
            0x73, NOT_V2 => Stxb        = "stxb",    StoreReg(B);
            0x6b, NOT_V2 => Stxh        = "stxh",    StoreReg(H);
            0x63, NOT_V2 => Stxw        = "stxw",    StoreReg(W);
            0x7b, NOT_V2 => Stxdw       = "stxdw",   StoreReg(Dw);
            0x2c, V2     => LdxbV2      = "ldxb",    Load(B);
            0x3c, V2     => LdxhV2      = "ldxh",    Load(H);
            0x8c, V2     => LdxwV2      = "ldxw",    Load(W);
            0x9c, V2     => LdxdwV2     = "ldxdw",   Load(Dw);
            0x27, V2     => StbV2       = "stb",     StoreImm(B);
            0x37, V2     => SthV2       = "sth",     StoreImm(H);
            0x87, V2     => StwV2       = "stw",     StoreImm(W);
            0x97, V2     => StdwV2      = "stdw",    StoreImm(Dw);
            0x2f, V2     => StxbV2      = "stxb",    StoreReg(B);
            0x3f, V2     => StxhV2      = "stxh",    StoreReg(H);
            0x8f, V2     => StxwV2      = "stxw",    StoreReg(W);
            0x9f, V2     => StxdwV2     = "stxdw",   StoreReg(Dw);

            // 32-bit arithmetic. Sums, differences and products are sign-extended (S32), except in
            // V2 (SIMD-0174); all other results are zero-extended (Z32).
            0x04, NOT_V2 => Add32Imm    = "add32",   Alu(Add, S32, Imm);
            0x0c, NOT_V2 => Add32Reg    = "add32",   Alu(Add, S32, Reg);
            0x14, NOT_V2 => Sub32Imm    = "sub32",   Alu(Sub, S32, Imm);
            0x1c, NOT_V2 => Sub32Reg    = "sub32",   Alu(Sub, S32, Reg);
            0x04, V2     => Add32ImmV2  = "add32",   Alu(Add, Z32, Imm);
            0x0c, V2     => Add32RegV2  = "add32",   Alu(Add, Z32, Reg);
            0x14, V2     => Sub32ImmV2  = "sub32",   Alu(Rsub, Z32, Imm);
            0x1c, V2     => Sub32RegV2  = "sub32",   Alu(Sub, Z32, Reg);
            0x24, NOT_V2 => Mul32Imm    = "mul32",   Alu(Mul, S32, Imm);
            0x2c, NOT_V2 => Mul32Reg    = "mul32",   Alu(Mul, S32, Reg);
            0x34, NOT_V2 => Div32Imm    = "div32",   Alu(Div, Z32, Imm);
            0x3c, NOT_V2 => Div32Reg    = "div32",   Alu(Div, Z32, Reg);
            0x44, ALL    => Or32Imm     = "or32",    Alu(Or, Z32, Imm);
            0x4c, ALL    => Or32Reg     = "or32",    Alu(Or, Z32, Reg);
            0x54, ALL    => And32Imm    = "and32",   Alu(And, Z32, Imm);
            0x5c, ALL    => And32Reg    = "and32",   Alu(And, Z32, Reg);
            0x64, ALL    => Lsh32Imm    = "lsh32",   Alu(Lsh, Z32, Imm);
            0x6c, ALL    => Lsh32Reg    = "lsh32",   Alu(Lsh, Z32, Reg);
            0x74, ALL    => Rsh32Imm    = "rsh32",   Alu(Rsh, Z32, Imm);
            0x7c, ALL    => Rsh32Reg    = "rsh32",   Alu(Rsh, Z32, Reg);
            0x84, NOT_V2 => Neg32       = "neg32",   Neg(Z32);
            0x94, NOT_V2 => Mod32Imm    = "mod32",   Alu(Mod, Z32, Imm);
            0x9c, NOT_V2 => Mod32Reg    = "mod32",   Alu(Mod, Z32, Reg);
            0xa4, ALL    => Xor32Imm    = "xor32",   Alu(Xor, Z32, Imm);
            0xac, ALL    => Xor32Reg    = "xor32",   Alu(Xor, Z32, Reg);
            0xb4, ALL    => Mov32Imm    = "mov32",   Alu(Mov, Z32, Imm);
            0xbc, NOT_V2 => Mov32Reg    = "mov32",   Alu(Mov, Z32, Reg);
            0xbc, V2     => Mov32RegV2  = "mov32",   Alu(Mov, S32, Reg);
            0xc4, ALL    => Arsh32Imm   = "arsh32",  Alu(Arsh, Z32, Imm);
            0xcc, ALL    => Arsh32Reg   = "arsh32",  Alu(Arsh, Z32, Reg);
            0xd4, NOT_V2 => Le          = "le",      Endian(Little);
            0xdc, ALL    => Be          = "be",      Endian(Big);

            // 64-bit arithmetic.
            0x07, ALL    => Add64Imm    = "add64",   Alu(Add, W64, Imm);
            0x0f, ALL    => Add64Reg    = "add64",   Alu(Add, W64, Reg);
            0x17, NOT_V2 => Sub64Imm    = "sub64",   Alu(Sub, W64, Imm);
            0x17, V2     => Sub64ImmV2  = "sub64",   Alu(Rsub, W64, Imm);
            0x1f, ALL    => Sub64Reg    = "sub64",   Alu(Sub, W64, Reg);
            0x27, NOT_V2 => Mul64Imm    = "mul64",   Alu(Mul, W64, Imm);
            0x2f, NOT_V2 => Mul64Reg    = "mul64",   Alu(Mul, W64, Reg);
            0x37, NOT_V2 => Div64Imm    = "div64",   Alu(Div, W64, Imm);
            0x3f, NOT_V2 => Div64Reg    = "div64",   Alu(Div, W64, Reg);
            0x47, ALL    => Or64Imm     = "or64",    Alu(Or, W64, Imm);
            0x4f, ALL    => Or64Reg     = "or64",    Alu(Or, W64, Reg);
            0x57, ALL    => And64Imm    = "and64",   Alu(And, W64, Imm);
            0x5f, ALL    => And64Reg    = "and64",   Alu(And, W64, Reg);
            0x67, ALL    => Lsh64Imm    = "lsh64",   Alu(Lsh, W64, Imm);
            0x6f, ALL    => Lsh64Reg    = "lsh64",   Alu(Lsh, W64, Reg);
            0x77, ALL    => Rsh64Imm    = "rsh64",   Alu(Rsh, W64, Imm);
            0x7f, ALL    => Rsh64Reg    = "rsh64",   Alu(Rsh, W64, Reg);
            0x87, NOT_V2 => Neg64       = "neg64",   Neg(W64);
            0x97, NOT_V2 => Mod64Imm    = "mod64",   Alu(Mod, W64, Imm);
            0x9f, NOT_V2 => Mod64Reg    = "mod64",   Alu(Mod, W64, Reg);
            0xa7, ALL    => Xor64Imm    = "xor64",   Alu(Xor, W64, Imm);
            0xaf, ALL    => Xor64Reg    = "xor64",   Alu(Xor, W64, Reg);
            0xb7, ALL    => Mov64Imm    = "mov64",   Alu(Mov, W64, Imm);
            0xbf, ALL    => Mov64Reg    = "mov64",   Alu(Mov, W64, Reg);
            0xc7, ALL    => Arsh64Imm   = "arsh64",  Alu(Arsh, W64, Imm);
            0xcf, ALL    => Arsh64Reg   = "arsh64",  Alu(Arsh, W64, Reg);
            0xf7, V2     => Hor64       = "hor64",   Alu(Hor, W64, Imm);

            // Product, quotient, remainder: V2 only (SIMD-0174). The unsigned 64-bit immediates are
            // zero-extended (Uimm).
            0x36, V2     => Uhmul64Imm  = "uhmul64", Alu(Uhmul, W64, Uimm);
            0x3e, V2     => Uhmul64Reg  = "uhmul64", Alu(Uhmul, W64, Reg);
            0x46, V2     => Udiv32Imm   = "udiv32",  Alu(Div, Z32, Imm);
            0x4e, V2     => Udiv32Reg   = "udiv32",  Alu(Div, Z32, Reg);
            0x56, V2     => Udiv64Imm   = "udiv64",  Alu(Div, W64, Uimm);
            0x5e, V2     => Udiv64Reg   = "udiv64",  Alu(Div, W64, Reg);
            0x66, V2     => Urem32Imm   = "urem32",  Alu(Mod, Z32, Imm);
            0x6e, V2     => Urem32Reg   = "urem32",  Alu(Mod, Z32, Reg);
            0x76, V2     => Urem64Imm   = "urem64",  Alu(Mod, W64, Uimm);
            0x7e, V2     => Urem64Reg   = "urem64",  Alu(Mod, W64, Reg);
            0x86, V2     => Lmul32Imm   = "lmul32",  Alu(Mul, Z32, Imm);
            0x8e, V2     => Lmul32Reg   = "lmul32",  Alu(Mul, Z32, Reg);
            0x96, V2     => Lmul64Imm   = "lmul64",  Alu(Mul, W64, Imm);
            0x9e, V2     => Lmul64Reg   = "lmul64",  Alu(Mul, W64, Reg);
            0xb6, V2     => Shmul64Imm  = "shmul64", Alu(Shmul, W64, Imm);
            0xbe, V2     => Shmul64Reg  = "shmul64", Alu(Shmul, W64, Reg);
            0xc6, V2     => Sdiv32Imm   = "sdiv32",  Alu(Sdiv, Z32, Imm);
            0xce, V2     => Sdiv32Reg   = "sdiv32",  Alu(Sdiv, Z32, Reg);
            0xd6, V2     => Sdiv64Imm   = "sdiv64",  Alu(Sdiv, W64, Imm);
            0xde, V2     => Sdiv64Reg   = "sdiv64",  Alu(Sdiv, W64, Reg);
            0xe6, V2     => Srem32Imm   = "srem32",  Alu(Srem, Z32, Imm);
            0xee, V2     => Srem32Reg   = "srem32",  Alu(Srem, Z32, Reg);
            0xf6, V2     => Srem64Imm   = "srem64",  Alu(Srem, W64, Imm);
            0xfe, V2     => Srem64Reg   = "srem64",  Alu(Srem, W64, Reg);

            // Jumps.
            0x05, ALL    => Ja          = "ja",      Jump;
            0x15, ALL    => Jeq64Imm    = "jeq",     Branch(Eq, W64, Imm);
            0x1d, ALL    => Jeq64Reg    = "jeq",     Branch(Eq, W64, Reg);
            0x25, ALL    => Jgt64Imm    = "jgt",     Branch(Gt, W64, Imm);
            0x2d, ALL    => Jgt64Reg    = "jgt",     Branch(Gt, W64, Reg);
            0x35, ALL    => Jge64Imm    = "jge",     Branch(Ge, W64, Imm);
            0x3d, ALL    => Jge64Reg    = "jge",     Branch(Ge, W64, Reg);
            0x45, ALL    => Jset64Imm   = "jset",    Branch(Set, W64, Imm);
            0x4d, ALL    => Jset64Reg   = "jset",    Branch(Set, W64, Reg);
            0x55, ALL    => Jne64Imm    = "jne",     Branch(Ne, W64, Imm);
            0x5d, ALL    => Jne64Reg    = "jne",     Branch(Ne, W64, Reg);
            0x65, ALL    => Jsgt64Imm   = "jsgt",    Branch(Sgt, W64, Imm);
            0x6d, ALL    => Jsgt64Reg   = "jsgt",    Branch(Sgt, W64, Reg);
            0x75, ALL    => Jsge64Imm   = "jsge",    Branch(Sge, W64, Imm);
            0x7d, ALL    => Jsge64Reg   = "jsge",    Branch(Sge, W64, Reg);
            0xa5, ALL    => Jlt64Imm    = "jlt",     Branch(Lt, W64, Imm);
            0xad, ALL    => Jlt64Reg    = "jlt",     Branch(Lt, W64, Reg);
            0xb5, ALL    => Jle64Imm    = "jle",     Branch(Le, W64, Imm);
            0xbd, ALL    => Jle64Reg    = "jle",     Branch(Le, W64, Reg);
            0xc5, ALL    => Jslt64Imm   = "jslt",    Branch(Slt, W64, Imm);
            0xcd, ALL    => Jslt64Reg   = "jslt",    Branch(Slt, W64, Reg);
            0xd5, ALL    => Jsle64Imm   = "jsle",    Branch(Sle, W64, Imm);
            0xdd, ALL    => Jsle64Reg   = "jsle",    Branch(Sle, W64, Reg);
            0x16, V3UP   => Jeq32Imm    = "jeq32",   Branch(Eq, Z32, Imm);
            0x1e, V3UP   => Jeq32Reg    = "jeq32",   Branch(Eq, Z32, Reg);
            0x26, V3UP   => Jgt32Imm    = "jgt32",   Branch(Gt, Z32, Imm);
            0x2e, V3UP   => Jgt32Reg    = "jgt32",   Branch(Gt, Z32, Reg);
            0x36, V3UP   => Jge32Imm    = "jge32",   Branch(Ge, Z32, Imm);
            0x3e, V3UP   => Jge32Reg    = "jge32",   Branch(Ge, Z32, Reg);
            0x46, V3UP   => Jset32Imm   = "jset32",  Branch(Set, Z32, Imm);
            0x4e, V3UP   => Jset32Reg   = "jset32",  Branch(Set, Z32, Reg);
            0x56, V3UP   => Jne32Imm    = "jne32",   Branch(Ne, Z32, Imm);
            0x5e, V3UP   => Jne32Reg    = "jne32",   Branch(Ne, Z32, Reg);
            0x66, V3UP   => Jsgt32Imm   = "jsgt32",  Branch(Sgt, Z32, Imm);
            0x6e, V3UP   => Jsgt32Reg   = "jsgt32",  Branch(Sgt, Z32, Reg);
            0x76, V3UP   => Jsge32Imm   = "jsge32",  Branch(Sge, Z32, Imm);
            0x7e, V3UP   => Jsge32Reg   = "jsge32",  Branch(Sge, Z32, Reg);
            0xa6, V3UP   => Jlt32Imm    = "jlt32",   Branch(Lt, Z32, Imm);
            0xae, V3UP   => Jlt32Reg    = "jlt32",   Branch(Lt, Z32, Reg);
            0xb6, V3UP   => Jle32Imm    = "jle32",   Branch(Le, Z32, Imm);
            0xbe, V3UP   => Jle32Reg    = "jle32",   Branch(Le, Z32, Reg);
            0xc6, V3UP   => Jslt32Imm   = "jslt32",  Branch(Slt, Z32, Imm);
            0xce, V3UP   => Jslt32Reg   = "jslt32",  Branch(Slt, Z32, Reg);
            0xd6, V3UP   => Jsle32Imm   = "jsle32",  Branch(Sle, Z32, Imm);
            0xde, V3UP   => Jsle32Reg   = "jsle32",  Branch(Sle, Z32, Reg);

            // Calls. Until V2 the immediate is a hash for syscalls and functions alike; from V3 the
            // source nibble tells a syscall (0, hash) from a function (1, relative) (SIMD-0178).
            // The register of `callx` moved twice (SIMD-0173, SIMD-0377).
            0x85, UNTIL_V2 => CallHash  = "call",    CallHash;
            0x85, V3UP   => CallStatic  = "call",    CallStatic;
            0x8d, V0V1   => CallxImm    = "callx",   CallReg(InImm);
            0x8d, V2     => CallxSrc    = "callx",   CallReg(InSrc);
            0x8d, V3UP   => CallxDst    = "callx",   CallReg(InDst);
            0x95, ALL    => Exit        = "exit",    Exit;
        }
    };
}
