//! Every encoding is read back by a disassembler, which prints no aliases.
//!
//! `cargo xtask ports --full` compiles the tests with `SELKIE_ENCODINGS`, the name of a file: then they
//! use all registers, and write each expected text with the code, for an assembler to compare.

use std::{
    fs::File,
    io::Write as _,
    sync::{LazyLock, Mutex},
};

use disarm64::{decoder, format_insn::format_insn_pc};

use super::{
    encoder::Encoder,
    operands::{Arith, Bits, Flag, Index, Reg, STACK, Shift, When, logical_imm},
};
use crate::jit::native::code_buffer::Encode as _;

#[rustfmt::skip]
const ALL_REGISTERS: [Reg; 32] = [
    Reg::X0, Reg::X1, Reg::X2, Reg::X3, Reg::X4, Reg::X5, Reg::X6, Reg::X7,
    Reg::X8, Reg::X9, Reg::X10, Reg::X11, Reg::X12, Reg::X13, Reg::X14, Reg::X15,
    Reg::X16, Reg::X17, Reg::X18, Reg::X19, Reg::X20, Reg::X21, Reg::X22, Reg::X23,
    Reg::X24, Reg::X25, Reg::X26, Reg::X27, Reg::X28, Reg::X29, Reg::X30, Reg::Zero,
];

/// Where texts and codes are written.
static ENCODINGS: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = option_env!("SELKIE_ENCODINGS")?;
    Some(Mutex::new(File::create(path).expect("the file can be written")))
});

/// Returns the registers to test: each bit of their numbers, or all.
fn registers() -> Vec<Reg> {
    match option_env!("SELKIE_ENCODINGS") {
        Some(_) => ALL_REGISTERS.to_vec(),
        None => [0, 1, 6, 8, 12, 17, 23, 30, 31].map(|it| ALL_REGISTERS[it]).to_vec(),
    }
}

fn name(reg: Reg, bits: Bits) -> String {
    let letter = if bits == Bits::B64 { 'x' } else { 'w' };
    match reg {
        Reg::Zero => format!("{letter}zr"),
        reg => format!("{letter}{}", reg as u8),
    }
}

/// Returns the name of a base register.
fn base_name(reg: Reg) -> String {
    if reg == STACK { "sp".into() } else { name(reg, Bits::B64) }
}

/// Returns the instructions that are written, as text.
fn written(write: impl FnOnce(&mut Encoder)) -> Vec<String> {
    let mut code = Encoder::new(64);
    write(&mut code);
    texts(&code)
}

fn texts(code: &Encoder) -> Vec<String> {
    let (words, rest) = code.bytes().as_chunks();
    assert!(rest.is_empty(), "instructions have four bytes");
    let texts = words.iter().zip((0..).step_by(4)).map(|(word, at)| {
        let insn = decoder::decode(u32::from_le_bytes(*word)).expect("it is an instruction");
        let mut text = String::new();
        format_insn_pc(at, &mut text, &insn).expect("it has a text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    texts.collect()
}

fn check(expected: &str, write: impl FnOnce(&mut Encoder)) {
    let mut code = Encoder::new(64);
    write(&mut code);
    assert_eq!(texts(&code).join("; "), expected);
    if let Some(file) = &*ENCODINGS {
        let mut line = format!("{expected}\t");
        line.extend(code.bytes().iter().map(|byte| format!("{byte:02x}")));
        line.push('\n');
        let mut file = file.lock().expect("no test panics there");
        file.write_all(line.as_bytes()).expect("the file can be written");
    }
}

#[test]
fn arithmetic_matches_the_disassembler() {
    let ariths = [
        (Arith::And, "and"),
        (Arith::Add, "add"),
        (Arith::Orr, "orr"),
        (Arith::Adds, "adds"),
        (Arith::Eor, "eor"),
        (Arith::Sub, "sub"),
        (Arith::Ands, "ands"),
        (Arith::Subs, "subs"),
    ];
    let shifts = [(Shift::Lsl, "lsl"), (Shift::Lsr, "lsr"), (Shift::Asr, "asr")];
    for [d, n, m] in triples() {
        for bits in [Bits::B32, Bits::B64] {
            let names = [d, n, m].map(|reg| name(reg, bits)).join(", ");
            for (op, text) in ariths {
                check(&format!("{text} {names}"), |code| code.arith(bits, op, d, n, m));
            }
            for (op, text) in shifts {
                check(&format!("{text}v {names}"), |code| code.shift(bits, op, d, n, m));
            }
            check(&format!("sdiv {names}"), |code| code.divide(bits, true, d, n, m));
            check(&format!("udiv {names}"), |code| code.divide(bits, false, d, n, m));
            let added = name(Reg::X7, bits);
            check(&format!("msub {names}, {added}"), |code| {
                code.multiply_subtract(bits, d, [n, m, Reg::X7]);
            });
            let zero = name(Reg::Zero, bits);
            check(&format!("madd {names}, {zero}"), |code| code.multiply(bits, d, n, m));
        }
        let names = [d, n, m].map(|reg| name(reg, Bits::B64)).join(", ");
        for (op, text) in shifts {
            check(&format!("sub {names}, {text} #5"), |code| {
                code.arith_shifted(Arith::Sub, d, n, (m, op, 5));
            });
        }
        check(&format!("smulh {names}"), |code| code.multiply_high(true, d, n, m));
        check(&format!("umulh {names}"), |code| code.multiply_high(false, d, n, m));
    }
}

fn pairs() -> impl Iterator<Item = [Reg; 2]> {
    registers().into_iter().flat_map(|d| registers().into_iter().map(move |n| [d, n]))
}

fn triples() -> impl Iterator<Item = [Reg; 3]> {
    pairs().flat_map(|[d, n]| registers().into_iter().map(move |m| [d, n, m]))
}

#[test]
fn instructions_with_two_registers_match_the_disassembler() {
    for [d, n] in pairs() {
        let [d64, n64] = [d, n].map(|reg| name(reg, Bits::B64));
        let [d32, n32] = [d, n].map(|reg| name(reg, Bits::B32));
        check(&format!("orr {d64}, xzr, {n64}"), |code| code.mov(Bits::B64, d, n));
        check(&format!("orr {d32}, wzr, {n32}"), |code| code.mov(Bits::B32, d, n));
        check(&format!("sbfm {d64}, {n64}, #0, #31"), |code| code.sign_extend(d, n));
        check(&format!("ubfm {d64}, {n64}, #32, #34"), |code| {
            code.bits_of(Bits::B64, d, n, 32, 34);
        });
        check(&format!("ubfm {d32}, {n32}, #0, #15"), |code| {
            code.bits_of(Bits::B32, d, n, 0, 15);
        });
        check(&format!("rev {d32}, {n32}"), |code| code.reverse(Bits::B32, d, n));
        check(&format!("rev {d64}, {n64}"), |code| code.reverse(Bits::B64, d, n));
        check(&format!("rev16 {d32}, {n32}"), |code| code.reverse16(d, n));
        for count in 0..64 {
            let left = (64 - count) % 64;
            check(&format!("ubfm {d64}, {n64}, #{left}, #{}", 63 - count), |code| {
                code.shift_imm(Bits::B64, Shift::Lsl, d, n, count);
            });
            check(&format!("sbfm {d64}, {n64}, #{count}, #63"), |code| {
                code.shift_imm(Bits::B64, Shift::Asr, d, n, count);
            });
            if count < 32 {
                check(&format!("ubfm {d32}, {n32}, #{}, #{}", left % 32, 31 - count), |code| {
                    code.shift_imm(Bits::B32, Shift::Lsl, d, n, count);
                });
                check(&format!("ubfm {d32}, {n32}, #{count}, #31"), |code| {
                    code.shift_imm(Bits::B32, Shift::Lsr, d, n, count);
                });
            }
        }
    }
}

#[test]
fn sums_with_numbers_match_the_disassembler() {
    for (number, text) in [
        (0, "add x1, x2, #0x0"),
        (4095, "add x1, x2, #0xfff"),
        (-1, "sub x1, x2, #0x1"),
        (4096, "add x1, x2, #0x1, lsl #12"),
        (-0xfff_000, "sub x1, x2, #0xfff, lsl #12"),
        (4097, "movz x11, #0x1001, lsl #0x0; add x1, x2, x11"),
        (-4097, "movn x11, #0x1000, lsl #0x0; add x1, x2, x11"),
        (i64::MIN, "movz x11, #0x8000, lsl #0x30; add x1, x2, x11"),
    ] {
        check(text, |code| code.add_imm(Bits::B64, Arith::Add, Reg::X1, Reg::X2, number));
    }
    check("subs xzr, x2, #0x0", |code| {
        code.add_imm(Bits::B64, Arith::Subs, Reg::Zero, Reg::X2, 0);
    });
    check("adds wzr, w2, #0x5", |code| {
        code.add_imm(Bits::B32, Arith::Subs, Reg::Zero, Reg::X2, -5);
    });
    check("add sp, x9, #0x0", |code| code.mov_stack(STACK, Reg::X9));
}

/// Returns the value of a register after instructions that load a constant.
fn loaded(texts: &[String]) -> u64 {
    let number = |text: &str| {
        let text = text.trim_start_matches('#');
        text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
    };
    texts.iter().fold(0, |value, text| {
        let (name, operands) = text.split_once(' ').expect("it has operands");
        let operands: Vec<&str> = operands.split(", ").collect();
        if name == "orr" {
            assert_eq!(operands[..2], ["x3", "xzr"]);
            return number(operands[2]).expect("a number");
        }
        assert_eq!(operands[0], "x3");
        let shift = operands[2].strip_prefix("lsl ").expect("a shift");
        let shift = number(shift).expect("a number");
        let chunk = number(operands[1]).expect("a number") << shift;
        match name {
            "movz" => chunk,
            "movn" => !chunk,
            "movk" => value & !(0xffff << shift) | chunk,
            name => panic!("`{name}` does not load a constant"),
        }
    })
}

#[test]
fn constants_are_loaded_with_the_fewest_instructions() {
    let chunks = [0, 1, 0x1234, 0x8000, 0xfffe, 0xffff];
    for index in 0..chunks.len().pow(4) {
        let digit = |place: u32| chunks[index / chunks.len().pow(place) % chunks.len()];
        let number: u64 = (0..4).fold(0, |number, place| number << 16 | digit(place));
        let texts = written(|code| code.mov_imm(Reg::X3, number));
        assert_eq!(loaded(&texts), number, "{texts:?}");
        let count = |chunk| (0..4).filter(|place| digit(*place) != chunk).count().max(1);
        assert!(texts.len() <= count(0).min(count(0xffff)), "{texts:?} for {number:#x}");
    }
}

#[test]
fn logical_immediates_are_exactly_the_rotated_repeated_runs() {
    let mut count = 0;
    for period in [2, 4, 8, 16, 32, 64] {
        for ones in 1..period {
            for rotation in 0..period {
                let mask = u64::MAX >> (64 - period);
                // The part of a run that leaves its period comes back on the other side.
                let low = u64::MAX >> (64 - ones);
                let element = (low << rotation | low.unbounded_shr(period - rotation)) & mask;
                let number = (0..64 / period).fold(0, |all, at| all | element << (at * period));
                let imm = logical_imm(Bits::B64, number).expect("it has the form");
                check(&format!("and x1, x2, #{number:#x}"), |code| {
                    code.logical(Bits::B64, Arith::And, Reg::X1, Reg::X2, imm);
                });
                count += 1;
                for flipped in [0, 13, 40] {
                    // With another bit, most have the form no more; those that do say so.
                    let other = number ^ 1 << flipped;
                    if let Some(imm) = logical_imm(Bits::B64, other) {
                        check(&format!("eor x1, x2, #{other:#x}"), |code| {
                            code.logical(Bits::B64, Arith::Eor, Reg::X1, Reg::X2, imm);
                        });
                    }
                }
            }
        }
    }
    assert_eq!(count, 5334, "all that the processor has");
    for number in [0, u64::MAX, 5, 0x1234_5678] {
        assert_eq!(logical_imm(Bits::B64, number), None);
    }
    let imm = logical_imm(Bits::B32, 0xffff_ff00).expect("it has the form");
    check("ands wzr, w2, #0xffffff00", |code| {
        code.logical(Bits::B32, Arith::Ands, Reg::Zero, Reg::X2, imm);
    });
}

#[test]
fn accesses_match_the_disassembler() {
    let sizes = [("b", Bits::B32), ("h", Bits::B32), ("", Bits::B32), ("", Bits::B64)];
    for (size, (suffix, bits)) in (0..).zip(sizes) {
        for [t, base] in pairs() {
            let (t_name, base_name) = (name(t, bits), base_name(base));
            let bytes = 1 << size;
            for (is_load, op) in [(true, "ld"), (false, "st")] {
                let access = |code: &mut Encoder, offset| match is_load {
                    true => code.load(size, t, base, offset),
                    false => code.store(size, t, base, offset),
                };
                let check_at = |offset: i32, text: &str| check(text, |code| access(code, offset));
                check_at(0, &format!("{op}r{suffix} {t_name}, [{base_name}]"));
                for offset in [bytes, 4095 * bytes] {
                    let operand = format!("[{base_name}, #{offset:#x}]");
                    check_at(offset, &format!("{op}r{suffix} {t_name}, {operand}"));
                }
                for offset in [-256, -1] {
                    let operand = format!("[{base_name}, #{offset}]");
                    check_at(offset, &format!("{op}ur{suffix} {t_name}, {operand}"));
                }
                if base != STACK {
                    let far = 4096 * bytes;
                    let high = far >> 12;
                    let sum = format!("add x11, {base_name}, #{high:#x}, lsl #12");
                    check_at(far, &format!("{sum}; {op}r{suffix} {t_name}, [x11]"));
                }
                // A base that changes cannot be the register that is accessed.
                if t != base || base == STACK {
                    check(&format!("{op}r{suffix} {t_name}, [{base_name}], #{bytes}"), |code| {
                        code.access_next(is_load, size, t, base);
                    });
                }
            }
        }
    }
    check("ldr x1, [x2, x3, lsl #3]", |code| code.load_entry(Reg::X1, Reg::X2, Reg::X3));
    for (index, before, after) in
        [(Index::Before, "", "]!"), (Index::Offset, "", "]"), (Index::After, "]", "")]
    {
        for (is_load, op) in [(true, "ldp"), (false, "stp")] {
            for offset in [-512, 504, 16] {
                check(&format!("{op} x1, x30, [sp{before}, #{offset}{after}"), |code| {
                    code.pair(is_load, index, [Reg::X1, Reg::X30], STACK, offset);
                });
            }
        }
    }
}

#[test]
fn branches_match_the_disassembler() {
    let flags = [
        (Flag::Equal, "eq", "ne"),
        (Flag::NotEqual, "ne", "eq"),
        (Flag::HigherOrSame, "cs", "cc"),
        (Flag::Lower, "cc", "cs"),
        (Flag::Overflow, "vs", "vc"),
        (Flag::Higher, "hi", "ls"),
        (Flag::LowerOrSame, "ls", "hi"),
        (Flag::GreaterOrEqual, "ge", "lt"),
        (Flag::Less, "lt", "ge"),
        (Flag::Greater, "gt", "le"),
        (Flag::LessOrEqual, "le", "gt"),
    ];
    let flags = flags.map(|(flag, text, opposite)| {
        (When::Flag(flag), format!("b.{text}"), format!("b.{opposite}"))
    });
    let registers = registers().into_iter().flat_map(|reg| {
        [Bits::B32, Bits::B64].into_iter().flat_map(move |bits| {
            let [zero, not_zero] = ["cbz", "cbnz"].map(|op| format!("{op} {},", name(reg, bits)));
            [
                (When::Zero(bits, reg), zero.clone(), not_zero.clone()),
                (When::NotZero(bits, reg), not_zero, zero),
            ]
        })
    });
    for (when, text, opposite) in flags.into_iter().chain(registers) {
        check(&format!("{text} 0xffffc"), |code| {
            let jump = code.jump_when(when);
            code.patch(jump, 0xffffc);
        });
        check(&format!("{opposite} 0x8; b 0x7fffffc"), |code| {
            let jump = code.jump_far_when(when);
            code.patch(jump, 0x7ff_fffc);
        });
    }
    check("nop; b 0x0; bl 0x0", |code| {
        code.nop();
        code.jump_to(0);
        code.call_to(0);
    });
    check("bl 0x7fffffc", |code| {
        let call = code.call();
        code.patch(call, 0x7ff_fffc);
    });
    check("ret x30; ret x9; br x9; blr x9; isb; udf #0x0", |code| {
        code.ret(Reg::X30);
        code.ret(Reg::X9);
        code.jump_reg(Reg::X9);
        code.call_reg(Reg::X9);
        code.isb();
        code.udf();
    });
}

#[test]
#[should_panic = "in reach"]
fn conditional_branches_beyond_their_reach_are_refused() {
    let mut code = Encoder::new(64);
    let jump = code.jump_if(Flag::Equal);
    code.patch(jump, 1 << 20);
}
