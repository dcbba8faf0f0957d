//! Round trips of instructions, and assembly of random text without a panic.

use proptest::prelude::*;
use selkie_asm::{Options, assemble};
use selkie_isa::{Alu, Insn, Kind, NoNames, Op, Operand, Size, Version, op::Field};

/// Generates instructions that the verifier of `version` accepts and that text can express.
fn instruction(version: Version) -> impl Strategy<Value = Insn> {
    let ops: Vec<Op> = Op::ALL
        .iter()
        .copied()
        .filter(|op| op.versions().contains(version) && *op != Op::Tail)
        .collect();
    let fields = (any::<i64>(), any::<i16>(), 0..10_u8, 0..10_u8);
    (proptest::sample::select(ops), fields).prop_map(|(op, fields)| fit(op, fields))
}

/// Limits random fields to the ranges of an operation, and zeroes those it does not use.
fn fit(op: Op, (imm, off, dst, src): (i64, i16, u8, u8)) -> Insn {
    #[allow(clippy::cast_possible_truncation, reason = "any 32 bits are a valid immediate")]
    let imm32 = i64::from(imm as i32);
    let plain = Insn { imm: 0, off: 0, dst: 0, src: 0, op };
    match op.kind() {
        Kind::Alu(alu, width, operand) => {
            let imm = match (alu, operand) {
                (_, Operand::Reg) => 0,
                (Alu::Lsh | Alu::Rsh | Alu::Arsh, _) => imm.rem_euclid(width.bits().into()),
                (Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, _) if imm32 == 0 => 1,
                _ => imm32,
            };
            let src = if operand == Operand::Reg { src } else { 0 };
            Insn { imm, dst, src, ..plain }
        }
        Kind::Neg(_) => Insn { dst, ..plain },
        Kind::Endian(_) => Insn { dst, imm: [16, 32, 64][usize::from(src) % 3], ..plain },
        Kind::Load(_) | Kind::StoreReg(_) => Insn { dst, src, off, ..plain },
        Kind::StoreImm(Size::Dw | Size::W | Size::H | Size::B) => {
            Insn { dst, off, imm: imm32, ..plain }
        }
        Kind::LoadImm64 => Insn { dst, imm, ..plain },
        // To the next instruction, which exists in any program.
        Kind::Jump => plain,
        Kind::Branch(_, _, Operand::Reg) => Insn { dst, src, ..plain },
        Kind::Branch(..) => Insn { dst, imm: imm32, ..plain },
        Kind::CallHash | Kind::CallStatic => Insn { src: 1, ..plain },
        Kind::CallReg(Field::InImm) => Insn { imm: dst.into(), ..plain },
        Kind::CallReg(Field::InSrc) => Insn { src: dst, ..plain },
        Kind::CallReg(Field::InDst) => Insn { dst, ..plain },
        Kind::Exit | Kind::Tail => plain,
    }
}

/// Returns the text of an instruction, with distances as targets, since there are no labels.
fn text(insn: Insn) -> String {
    let shown = insn.display(0, &NoNames).to_string();
    match insn.op.kind() {
        Kind::Jump | Kind::Branch(..) => shown.replace("lbb_1", "+0"),
        Kind::CallHash | Kind::CallStatic => "call 0".to_owned(),
        _ => shown,
    }
}

fn round_trips(version: Version, insns: &[Insn]) -> Result<(), TestCaseError> {
    let mut source = String::from("entrypoint:\n");
    let mut expected = Vec::new();
    for &insn in insns {
        source.push_str(&text(insn));
        source.push('\n');
        let (first, second) = insn.encode();
        expected.extend_from_slice(&first.to_le_bytes());
        expected.extend(second.into_iter().flat_map(u64::to_le_bytes));
    }
    source.push_str("exit\n");
    expected.extend_from_slice(&[0x95, 0, 0, 0, 0, 0, 0, 0]);
    let output = assemble(&source, &Options { version, ..Options::default() });
    let rendered = output.render(false);
    let Some(assembly) = output.assembly else { return Err(TestCaseError::fail(rendered)) };
    prop_assert_eq!(assembly.text, expected, "{}", source);
    Ok(())
}

/// Words of the language, so that random text reaches more than the lexer.
const WORDS: &[&str] = &[
    "mov64",
    "r1",
    "r10",
    "w2",
    ",",
    "[",
    "]",
    "(",
    ")",
    "+",
    "-",
    "*",
    "0x10",
    "99",
    "1f",
    "1b",
    "1:",
    "label:",
    "label",
    "\n",
    "\n",
    "\n",
    " ",
    "=",
    "+=",
    "s>>=",
    "if",
    "goto",
    "call",
    "syscall",
    "sol_log_",
    "lddw",
    "ll",
    "exit",
    ".equ",
    ".set",
    "X",
    ".macro m a",
    ".endm",
    "m",
    "\\a",
    "\\@",
    ".rept 3",
    ".endr",
    ".irp a, 1, 2",
    ".irpc",
    ".if 1",
    ".if 0",
    ".else",
    ".elseif 1",
    ".endif",
    ".rodata",
    ".text",
    ".byte",
    ".quad",
    ".ascii",
    "\"s\\n\"",
    "\"",
    "'",
    "'a'",
    ".zero",
    ".align",
    ".fill",
    ".struct S",
    ".field f, 8",
    ".ends",
    ".accounts 2",
    ".section",
    ".pubkey",
    "*(u64 *)",
    "be16",
    "/*",
    "*/",
    ";",
    "#",
    "//",
    "<<",
    "~",
    "!",
    ".",
    "entrypoint:",
    ".globl entrypoint",
    ".include \"x\"",
    "\u{fc}",
    "\t",
    "lock",
    "@",
    "$",
];

fn assemble_all(source: &str) {
    for version in [Version::V0, Version::V2, Version::V3] {
        let output = assemble(source, &Options { version, debug_info: true, ..Options::default() });
        let _ = output.render(true);
        assert_eq!(output.assembly.is_some(), output.error_count() == 0);
        if let Some(assembly) = output.assembly {
            let _ = assembly.to_elf();
        }
    }
}

#[test]
fn very_long_inputs_do_not_panic() {
    for unit in ["a: ", "1: ", "(", "-", "1,", "'", "/*", "a", "[r1", "\"x\",", ".if 1\n", "m \\a"]
    {
        let long = unit.repeat(20_000);
        for before in ["", "mov64 r0, ", ".rodata\n.byte ", ".macro m ", ".irp x, ", ".equ X, "] {
            let _ = assemble(&format!("{before}{long}"), &Options::default()).render(false);
        }
    }
}

proptest! {
    #[test]
    fn disassembled_instructions_assemble_to_the_same_words(
        (version, insns) in (0..5_usize).prop_map(|at| Version::ALL[at]).prop_flat_map(|version| {
            (Just(version), proptest::collection::vec(instruction(version), 1..20))
        })
    ) {
        round_trips(version, &insns)?;
    }

    #[test]
    fn random_text_does_not_panic(source in any::<String>()) {
        assemble_all(&source);
    }

    #[test]
    fn random_sequences_of_words_do_not_panic(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)
    ) {
        assemble_all(&words.concat());
        assemble_all(&words.join(" "));
    }
}
