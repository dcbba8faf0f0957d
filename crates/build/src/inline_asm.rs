//! Advice about inline assembly that LLVM does not read: where it is, and how LLVM spells it.
//!
//! Solana's fork of LLVM reads mnemonics (`lddw r0, 1`), and stock LLVM reads pseudo-C (`r0 = 1 ll`). Its error
//! has the text after operands were put in, and no place.

use std::{
    fs, iter,
    path::{Path, PathBuf},
};

use selkie_asm::{Options, assemble};
use selkie_isa::{
    Alu, Cond, Endian, Insn, Kind, Op, Operand, Size, Version, Width, input, insn::instructions,
};
use serde_json::Value;

/// The folders of sources that are looked into, and their files.
const FILES_MAX: usize = 2_000;

/// The largest source that is looked into.
const SOURCE_BYTES_MAX: u64 = 4 << 20;

/// Returns the folder of a library's source: a message of cargo about a library that was compiled.
pub(crate) fn library(message: &Value) -> Option<PathBuf> {
    let is_library = message["reason"] == "compiler-artifact";
    let root = message["target"]["src_path"].as_str().filter(|_| is_library)?;
    Some(Path::new(root).parent()?.to_owned())
}

/// Returns what to do about an error in inline assembly: a message of cargo about rustc's diagnostic. The
/// assembly is that of the crate, or of an inlined function in one of the `libraries`.
pub(crate) fn advice(message: &Value, libraries: &[PathBuf]) -> Option<String> {
    let spans = message["message"]["children"][0]["spans"].as_array()?;
    let span = spans.iter().find(|it| it["file_name"] == "<inline asm>")?;
    let text = span["text"][0]["text"].as_str()?.trim();
    let root = Path::new(message["target"]["src_path"].as_str()?).parent()?;
    let roots = iter::once(root).chain(libraries.iter().map(PathBuf::as_path));
    let place = roots.flat_map(files).find_map(|path| place(&path, text));
    let place = place.map(|it| format!("{it}: ")).unwrap_or_default();
    Some(format!("{place}{}", in_syntax_of_llvm(text)))
}

/// Returns what to do about an error of clang in inline assembly. Clang names the place.
pub(crate) fn advice_of_clang(errors: &str) -> Option<String> {
    let (_, note) = errors.split_once("<inline asm>:")?;
    let (_, text) = note.lines().nth(1)?.split_once('|')?;
    Some(in_syntax_of_llvm(text.trim()))
}

fn in_syntax_of_llvm(text: &str) -> String {
    let rule = "inline assembly has LLVM's syntax";
    spelled(text).map_or_else(
        || format!("{rule}, such as `r0 = 1 ll`, `r1 += 2` or `if r1 == 0 goto label`"),
        |it| format!("{rule}: write `{it}` for `{text}`"),
    )
}

/// Returns the Rust sources below a folder.
fn files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let mut open = vec![root.to_owned()];
    let entries = iter::from_fn(move || {
        let path = open.pop()?;
        let below = fs::read_dir(&path).into_iter().flatten().flatten().map(|it| it.path());
        open.extend(below);
        Some(path)
    });
    entries.take(FILES_MAX).filter(|it| it.extension().is_some_and(|it| it == "rs"))
}

/// Returns the file, line and function of the string in a source that becomes the text of an instruction.
fn place(path: &Path, text: &str) -> Option<String> {
    let source = input::text(path, SOURCE_BYTES_MAX).ok()?;
    let mut function = None;
    for (line, number) in source.lines().zip(1..) {
        function = name_of_function(line).or(function);
        let is_text = |it: &str| fits(it.trim().trim_end_matches("\\n"), text);
        // A string has a line or several, each with one or several instructions.
        let strings = line.split('"').flat_map(|it| it.split("\\n").flat_map(|it| it.split(';')));
        if strings.into_iter().any(is_text) {
            let function = function.map(|it| format!(", in `{it}`")).unwrap_or_default();
            return Some(format!("{}:{number}{function}", path.display()));
        }
    }
    None
}

fn name_of_function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_start = before.is_empty() || before.ends_with([' ', '\t']);
    let end = after.find(|it: char| !it.is_alphanumeric() && it != '_')?;
    (is_start && end > 0).then(|| &after[..end])
}

/// Returns whether a template with operands in braces can become the text, whose first word it has.
fn fits(template: &str, text: &str) -> bool {
    let mnemonic = text.split(' ').next().unwrap_or_default();
    if !template.starts_with(mnemonic) {
        return false;
    }
    let mut parts = template.split('{');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some((_, literal)) = part.split_once('}') else { return false };
        let at = if literal.is_empty() { Some(rest.len()) } else { rest.find(literal) };
        let Some(at) = at else { return false };
        is_open = literal.is_empty();
        rest = &rest[at + literal.len()..];
    }
    !template.is_empty() && (rest.is_empty() || is_open)
}

/// Returns an instruction of our assembler's mnemonics as LLVM spells it.
fn spelled(text: &str) -> Option<String> {
    let options = Options { version: Version::V3, ..Options::default() };
    let assembly = assemble(&format!("{text}\nexit\n"), &options).assembly?;
    let (_, insn) = instructions(Version::V3, &assembly.text).next()?;
    llvm(&insn?)
}

fn llvm(insn: &Insn) -> Option<String> {
    let Insn { op, dst, src, off, imm } = *insn;
    let register = |width: Width, number: u8| match width {
        Width::W64 => format!("r{number}"),
        Width::Z32 | Width::S32 => format!("w{number}"),
    };
    let right = |width, operand| match operand {
        Operand::Reg => register(width, src),
        Operand::Imm | Operand::Uimm => imm.to_string(),
    };
    let memory = |size, base, off: i16| {
        let bits = match size {
            Size::B => 8,
            Size::H => 16,
            Size::W => 32,
            Size::Dw => 64,
        };
        let sign = if off < 0 { '-' } else { '+' };
        format!("*(u{bits} *)(r{base} {sign} {})", off.unsigned_abs())
    };
    Some(match op.kind() {
        Kind::Alu(alu, width, operand) => {
            let sign = assignment(alu)?;
            format!("{} {sign} {}", register(width, dst), right(width, operand))
        }
        Kind::Neg(width) => format!("{0} = -{0}", register(width, dst)),
        Kind::Endian(Endian::Little) => format!("r{dst} = le{imm} r{dst}"),
        Kind::Endian(Endian::Big) => format!("r{dst} = be{imm} r{dst}"),
        Kind::Load(size) => format!("r{dst} = {}", memory(size, src, off)),
        Kind::StoreImm(size) => format!("{} = {imm}", memory(size, dst, off)),
        Kind::StoreReg(size) => format!("{} = r{src}", memory(size, dst, off)),
        Kind::LoadImm64 => format!("r{dst} = {imm} ll"),
        Kind::Branch(cond, width, operand) => format!(
            "if {} {} {} goto {off:+}",
            register(width, dst),
            comparison(cond),
            right(width, operand)
        ),
        Kind::Jump => format!("goto {off:+}"),
        Kind::CallReg(_) => format!("callx r{}", insn.call_register()?),
        Kind::Exit if op == Op::Exit => "exit".to_owned(),
        _ => return None,
    })
}

/// Returns LLVM's sign for an operation; LLVM's BPF has only these.
const fn assignment(alu: Alu) -> Option<&'static str> {
    Some(match alu {
        Alu::Add => "+=",
        Alu::Sub => "-=",
        Alu::Mul => "*=",
        Alu::Div => "/=",
        Alu::Mod => "%=",
        Alu::Or => "|=",
        Alu::And => "&=",
        Alu::Xor => "^=",
        Alu::Mov => "=",
        Alu::Lsh => "<<=",
        Alu::Rsh => ">>=",
        Alu::Arsh => "s>>=",
        _ => return None,
    })
}

const fn comparison(cond: Cond) -> &'static str {
    match cond {
        Cond::Eq => "==",
        Cond::Ne => "!=",
        Cond::Gt => ">",
        Cond::Ge => ">=",
        Cond::Lt => "<",
        Cond::Le => "<=",
        Cond::Set => "&",
        Cond::Sgt => "s>",
        Cond::Sge => "s>=",
        Cond::Slt => "s<",
        Cond::Sle => "s<=",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_spelled_as_llvm_reads_them() {
        let rows = [
            ("lddw r0, 1", "r0 = 1 ll"),
            ("mov64 r1, r2", "r1 = r2"),
            ("mov32 r1, 5", "w1 = 5"),
            ("add64 r1, -7", "r1 += -7"),
            ("arsh64 r3, r4", "r3 s>>= r4"),
            ("ldxdw r6, [r10-0x8]", "r6 = *(u64 *)(r10 - 8)"),
            ("stxb [r1+2], r3", "*(u8 *)(r1 + 2) = r3"),
            ("stw [r1+4], 9", "*(u32 *)(r1 + 4) = 9"),
            ("be64 r2", "r2 = be64 r2"),
            ("exit", "exit"),
        ];
        for (text, expected) in rows {
            assert_eq!(spelled(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(spelled("jeq r1, 0, label"), None, "a label is not known here");
    }

    #[test]
    fn errors_of_clang_have_the_text_below_them() {
        let errors = "a.c:2:58: error: invalid register/token name\n    2 | __asm__(\"lddw %0, 1\");\n\
                      <inline asm>:1:2: note: instantiated into assembly here\n    1 |         lddw r3, 1\n";
        let advice = advice_of_clang(errors).expect("it is about inline assembly");
        assert!(advice.ends_with("write `r3 = 1 ll` for `lddw r3, 1`"), "{advice}");
        assert_eq!(advice_of_clang("a.c:1:1: error: expected expression\n"), None);
    }

    #[test]
    fn places_are_those_of_the_crate_or_of_libraries() {
        let [own, library] = ["inline-asm-own", "inline-asm-library"].map(|name| {
            let folder = std::env::temp_dir().join(format!("selkie-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).expect("the folder can be made");
            folder
        });
        fs::write(own.join("lib.rs"), "fn own() {}\n").expect("it can be written");
        let source = "pub fn stop() {\n    asm!(\"lddw r0, 2\\nexit\")\n}\n";
        fs::write(library.join("lib.rs"), source).expect("it can be written");
        let of = |root: &Path| serde_json::json!({ "src_path": root.join("lib.rs") });
        let span = serde_json::json!({
            "file_name": "<inline asm>", "text": [{ "text": "\tlddw r0, 2" }],
        });
        let error = serde_json::json!({
            "target": of(&own), "message": { "children": [{ "spans": [span] }] },
        });
        let compiled = serde_json::json!({
            "reason": "compiler-artifact", "target": of(&library),
        });
        let libraries: Vec<_> =
            [&error, &compiled].into_iter().filter_map(super::library).collect();
        let found = advice(&error, &libraries).expect("it is about inline assembly");
        let place = format!("{}:2, in `stop`: ", library.join("lib.rs").display());
        assert!(found.starts_with(&place) && found.contains("`r0 = 2 ll`"), "{found}");
        for folder in [own, library] {
            fs::remove_dir_all(folder).expect("it can be removed");
        }
    }

    #[test]
    fn templates_fit_the_text_that_they_become() {
        assert!(fits("lddw r0, 1", "lddw r0, 1"));
        assert!(fits("lddw {0}, {value}", "lddw r3, 1"));
        assert!(fits("add64 {a}, 7", "add64 r1, 7"));
        assert!(!fits("add64 {a}, 7", "add64 r1, 8"));
        assert!(!fits("", "exit"));
        assert!(!fits("use core::{mem, ptr", "exit"));
        assert!(!fits("{fail}", "lddw r0, 1"), "a format of other text");
        assert_eq!(name_of_function("    pub extern \"C\" fn twice<T>(x: T) {"), Some("twice"));
        assert_eq!(name_of_function("let fns = 3;"), None);
    }
}
