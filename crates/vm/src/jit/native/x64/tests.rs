//! Every encoding is read back by a disassembler.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use super::encoder::{Arith, Bits, Encoder, Flag, Mem, Reg, Shift, Unary};
use crate::jit::native::code_buffer::Encode as _;

const REGS: [Reg; 16] = [
    Reg::Rax,
    Reg::Rcx,
    Reg::Rdx,
    Reg::Rbx,
    Reg::Rsp,
    Reg::Rbp,
    Reg::Rsi,
    Reg::Rdi,
    Reg::R8,
    Reg::R9,
    Reg::R10,
    Reg::R11,
    Reg::R12,
    Reg::R13,
    Reg::R14,
    Reg::R15,
];

fn name(reg: Reg, bits: u32) -> String {
    let long = format!("{reg:?}").to_lowercase();
    match (reg as u8, bits) {
        (_, 64) => long,
        (8.., 32) => format!("{long}d"),
        (8.., 16) => format!("{long}w"),
        (8.., _) => format!("{long}b"),
        (_, 32) => format!("e{}", &long[1..]),
        (_, 16) => long[1..].into(),
        (4..8, _) => format!("{}l", &long[1..]),
        _ => format!("{}l", &long[1..2]),
    }
}

fn long(bits: Bits) -> u32 {
    if bits == Bits::B64 { 64 } else { 32 }
}

fn check(expected: &str, write: impl FnOnce(&mut Encoder)) {
    let mut code = Encoder::new(64);
    write(&mut code);
    let mut decoder = Decoder::with_ip(64, code.bytes(), 0, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter.options_mut().set_memory_size_options(iced_x86::MemorySizeOptions::Never);
    formatter.options_mut().set_signed_immediate_operands(true);
    formatter.options_mut().set_show_zero_displacements(false);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_show_branch_size(false);
    formatter.options_mut().set_small_hex_numbers_in_decimal(false);
    formatter.options_mut().set_uppercase_hex(false);
    let mut text = String::new();
    formatter.format(&decoder.decode(), &mut text);
    assert_eq!(text, expected);
    assert!(!decoder.can_decode(), "`{expected}` is one instruction");
}

/// Memory operands of every form, with their text.
fn memory_operands() -> Vec<(Mem, String)> {
    let mut memory_operands = Vec::new();
    for base in REGS {
        for (disp, text) in
            [(0, ""), (1, "+0x1"), (-128, "-0x80"), (128, "+0x80"), (-70000, "-0x11170")]
        {
            memory_operands.push((Mem::at(base, disp), format!("[{}{text}]", name(base, 64))));
            for (index, shift) in [(Reg::Rcx, 0), (Reg::R12, 2), (Reg::Rbp, 1), (Reg::R13, 3)] {
                let scale = ["", "*2", "*4", "*8"][usize::from(shift)];
                let (base_name, index_name) = (name(base, 64), name(index, 64));
                let text = format!("[{base_name}+{index_name}{scale}{text}]");
                memory_operands.push((Mem::indexed(base, index, shift, disp), text));
            }
        }
    }
    memory_operands
}

#[test]
fn register_instructions_match_the_disassembler() {
    let ariths = [
        (Arith::Add, "add"),
        (Arith::Or, "or"),
        (Arith::And, "and"),
        (Arith::Sub, "sub"),
        (Arith::Xor, "xor"),
        (Arith::Cmp, "cmp"),
    ];
    let shifts = [(Shift::Shl, "shl"), (Shift::Shr, "shr"), (Shift::Sar, "sar")];
    let unaries = [
        (Unary::Neg, "neg"),
        (Unary::Mul, "mul"),
        (Unary::Imul, "imul"),
        (Unary::Div, "div"),
        (Unary::Idiv, "idiv"),
    ];
    for a in REGS {
        let a64 = name(a, 64);
        check(&format!("push {a64}"), |code| code.push(a));
        check(&format!("pop {a64}"), |code| code.pop(a));
        check(&format!("jmp {a64}"), |code| code.jump_reg(a));
        check(&format!("call {a64}"), |code| code.call_reg(a));
        check(&format!("rol {}, 0x8", name(a, 16)), |code| code.rol16_by_8(a));
        check(&format!("mov {}, 0x7fffffff", name(a, 32)), |code| code.mov_imm(a, 0x7fff_ffff));
        check(&format!("mov {a64}, -0x2"), |code| code.mov_imm(a, u64::MAX - 1));
        check(&format!("mov {a64}, 0x123456789abcdef"), |code| {
            code.mov_imm(a, 0x0123_4567_89ab_cdef);
        });
        for bits in [Bits::B32, Bits::B64] {
            let a_name = name(a, long(bits));
            check(&format!("bswap {a_name}"), |code| code.bswap(bits, a));
            check(&format!("test {a_name}, 0x12345"), |code| code.test_imm(bits, a, 0x12345));
            for (op, text) in unaries {
                check(&format!("{text} {a_name}"), |code| code.unary(bits, op, a));
            }
            for (op, text) in shifts {
                check(&format!("{text} {a_name}, 0x1f"), |code| code.shift_imm(bits, op, a, 31));
                check(&format!("{text} {a_name}, cl"), |code| code.shift_cl(bits, op, a));
            }
            for (op, text) in ariths {
                check(&format!("{text} {a_name}, -0x80"), |code| code.arith_imm(bits, op, a, -128));
                check(&format!("{text} {a_name}, 0x80"), |code| code.arith_imm(bits, op, a, 128));
            }
            for b in REGS {
                let b_name = name(b, long(bits));
                check(&format!("mov {a_name}, {b_name}"), |code| code.mov(bits, a, b));
                check(&format!("test {a_name}, {b_name}"), |code| code.test(bits, a, b));
                check(&format!("imul {a_name}, {b_name}"), |code| code.imul(bits, a, b));
                // The disassembler omits the repeated operand.
                let factors = if a == b { a_name.clone() } else { format!("{a_name}, {b_name}") };
                check(&format!("imul {factors}, -0x3"), |code| {
                    code.imul_imm(bits, a, b, -3);
                });
                check(&format!("imul {factors}, 0x400"), |code| {
                    code.imul_imm(bits, a, b, 1024);
                });
                for (op, text) in ariths {
                    check(&format!("{text} {a_name}, {b_name}"), |code| code.arith(bits, op, a, b));
                }
                for (op, text) in shifts {
                    check(
                        &format!("{text}x {a_name}, {b_name}, {}", name(Reg::R9, long(bits))),
                        |code| {
                            code.shift_by(bits, op, a, b, Reg::R9);
                        },
                    );
                }
            }
        }
        for b in REGS {
            check(&format!("movsxd {a64}, {}", name(b, 32)), |code| code.movsxd(a, b));
            check(&format!("movzx {}, {}", name(a, 32), name(b, 16)), |code| code.movzx16(a, b));
        }
    }
}

#[test]
fn memory_instructions_match_the_disassembler() {
    for (mem, operand) in memory_operands() {
        check(&format!("call {operand}"), |code| code.call_mem(mem));
        check(&format!("movups xmm0, {operand}"), |code| code.load_xmm(mem));
        check(&format!("movups {operand}, xmm0"), |code| code.store_xmm(mem));
        check(&format!("jmp {operand}"), |code| code.jump_mem(mem));
        for a in REGS {
            let (a64, a32) = (name(a, 64), name(a, 32));
            check(&format!("lea {a64}, {operand}"), |code| code.lea(a, mem));
            check(&format!("lea {a32}, {operand}"), |code| code.lea32(a, mem));
            check(&format!("movzx {a32}, {operand}"), |code| code.load(0, a, mem));
            check(&format!("movzx {a32}, {operand}"), |code| code.load(1, a, mem));
            check(&format!("mov {a32}, {operand}"), |code| code.load(2, a, mem));
            check(&format!("mov {a64}, {operand}"), |code| code.load(3, a, mem));
            for (size, bits) in [(0, 8), (1, 16), (2, 32), (3, 64)] {
                check(&format!("mov {operand}, {}", name(a, bits)), |code| {
                    code.store(size, mem, a)
                });
            }
            check(&format!("cmp {a64}, {operand}"), |code| {
                code.arith_mem(Bits::B64, Arith::Cmp, a, mem);
            });
            check(&format!("add {a32}, {operand}"), |code| {
                code.arith_mem(Bits::B32, Arith::Add, a, mem);
            });
            check(&format!("test {operand}, {a64}"), |code| code.test_mem(a, mem));
            check(&format!("pext {a64}, {a64}, {operand}"), |code| code.pext(a, a, mem));
        }
        check(&format!("mov {operand}, 0x7f"), |code| code.store_imm(0, mem, 0x17f));
        check(&format!("mov {operand}, 0x17f"), |code| code.store_imm(1, mem, 0x4_017f));
        check(&format!("mov {operand}, -0x5"), |code| code.store_imm(2, mem, -5));
        check(&format!("mov {operand}, -0x5"), |code| code.store_imm(3, mem, -5));
    }
}

#[test]
fn jumps_and_calls_match_the_disassembler() {
    let flags = [
        (Flag::Below, "jb"),
        (Flag::AboveOrEqual, "jae"),
        (Flag::Equal, "je"),
        (Flag::NotEqual, "jne"),
        (Flag::BelowOrEqual, "jbe"),
        (Flag::Above, "ja"),
        (Flag::Less, "jl"),
        (Flag::GreaterOrEqual, "jge"),
        (Flag::LessOrEqual, "jle"),
        (Flag::Greater, "jg"),
    ];
    for (flag, text) in flags {
        check(&format!("{text} 0x40"), |code| {
            let jump = code.jump_if(flag);
            code.patch(jump, 0x40);
        });
        check(&format!("{text} 0x40"), |code| code.jump_if_to(flag, 0x40));
        check(&format!("{text} 0x140"), |code| code.jump_if_to(flag, 0x140));
    }
    check("jmp 0x40", |code| code.jump_to(0x40));
    check("jmp 0x81", |code| code.jump_to(0x81));
    check("jmp 0x82", |code| code.jump_to(0x82));
    check("jmp 0x4000", |code| code.jump_to(0x4000));
    check("call 0x40", |code| code.call_to(0x40));
    check("ret", Encoder::ret);
    check("nop", Encoder::nop);
    check("ud2", Encoder::ud2);
    check("cdq", |code| code.cqo(Bits::B32));
    check("cqo", |code| code.cqo(Bits::B64));
}
