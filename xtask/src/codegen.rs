//! `cargo xtask codegen`: writes generated files: documentation from tables, and the templates of new
//! projects from the examples, since a package contains only files of its own folder.
//!
//! With `--check` nothing is written, and a file that is not up to date is an error.

use std::{fmt::Write as _, fs, process::Command};

use anyhow::{Context, Result, bail};
use selkie_isa::{Op, Version, op::Versions, syntax::meaning};

use crate::{output, peers, repository, say, speed, steps::built, upstream};

/// A generated file, and the function that returns its text.
type Made = (&'static str, fn() -> String);

const FILES: &[Made] = &[
    ("docs/isa.md", isa),
    ("docs/switch-api.md", switch_api),
    ("docs/syscalls.md", selkie_protocol::docs::syscalls),
    ("docs/features.md", selkie_protocol::docs::features),
    ("docs/builtins.md", selkie_builtins::docs::builtins),
    ("docs/protocol.md", upstream::page::protocol),
    ("editors/sbpf.tmLanguage.json", selkie_lsp::grammar::textmate),
];

/// Files that an example prints, which has more dependencies than chores should have.
const PRINTED: &[(&str, &str)] = &[("docs/rpc.md", "examples/documentation")];

/// Copied files: the copy and the original.
const COPIES: &[(&str, &str)] = &[
    ("crates/build/src/template/counter.s.txt", "examples/counter/counter.s"),
    ("crates/build/src/template/counter.c.txt", "examples/c/counter.c"),
    ("crates/build/src/template/counter.rs.txt", "examples/rust/counter/src/lib.rs"),
    ("crates/build/src/template/input.json.txt", "examples/counter/input.json"),
];

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_check = match arguments[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!("usage: cargo xtask codegen [--check]"),
    };
    for (name, make) in FILES {
        settle(name, &make(), is_check)?;
    }
    for (name, text) in peers::patch::files()? {
        settle(&name, &text, is_check)?;
    }
    for (name, example) in PRINTED {
        settle(name, &printed(example)?, is_check)?;
    }
    for name in speed::DOCUMENTS {
        settle(name, &speed::document(name)?, is_check)?;
    }
    for (copy, original) in COPIES {
        let text = fs::read_to_string(repository().join(original)).context(*original)?;
        settle(copy, &text, is_check)?;
    }
    Ok(())
}

/// Returns what an example prints.
fn printed(example: &str) -> Result<String> {
    let output = output(&mut Command::new(built(example)?))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes a file unless it has that text already. With `--check`, fails instead of writing.
fn settle(name: &str, text: &str, is_check: bool) -> Result<()> {
    let path = repository().join(name);
    if fs::read_to_string(&path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if is_check {
        bail!("{name} is not what it is made from\nhelp: run `cargo xtask codegen`");
    }
    fs::create_dir_all(path.parent().expect("files are in the repository"))?;
    fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
    say(&format!("wrote {name}"));
    Ok(())
}

/// `docs/isa.md`.
fn isa() -> String {
    let mut text = String::from(
        "# Instructions\n\n\
         Generated from the rows of `crates/isa/src/table.rs`; do not edit.\n\n\
         An instruction occupies a slot of eight bytes, `lddw` two: the opcode, the registers `dst` \
         (low nibble) and `src` (high nibble), `off` (16 bits) and `imm` (32 bits), both signed and \
         little-endian. Registers have 64 bits. `imm` is sign-extended unless the table says \
         `(u32)imm`. Division by zero traps. Every instruction costs one compute unit, and a call \
         of a syscall the cost of the syscall on top.\n\n\
         | opcode | mnemonic | operands | versions | what it does | cost |\n\
         |---|---|---|---|---|---|\n",
    );
    for op in Op::ALL.iter().filter(|&&op| op != Op::Tail) {
        let (code, mnemonic) = (op.code(), op.mnemonic());
        let (operands, versions) = (op.kind().shape(), versions(op.versions()));
        let meaning = meaning(*op).replace('|', "\\|");
        writeln!(
            text,
            "| `0x{code:02x}` | `{mnemonic}` | {operands} | {versions} | `{meaning}` | 1 |"
        )
        .expect("strings take all that is written");
    }
    text
}

/// `docs/switch-api.md`.
fn switch_api() -> String {
    let heading = "# LiteSVM's and Mollusk's public items\n\n\
                   Generated from `xtask/peers/api.tsv`, which `cargo xtask peers --api` compares with \
                   the sources of the peers' packages and of ours; do not edit. \
                   [switch.md](switch.md) says how to use them.\n";
    heading.to_owned() + &peers::api::tables()
}

/// `V0 V1 V3 V4`, or `all`.
fn versions(versions: Versions) -> String {
    if versions == Versions::ALL {
        return "all".to_owned();
    }
    let names: Vec<String> = versions.iter().map(|it: Version| format!("{it:?}")).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_has_its_line() {
        let text = isa();
        let lines = text.lines().filter(|line| line.starts_with("| `0x")).count();
        assert_eq!(lines, Op::ALL.len() - 1);
        for line in [
            "| `0x79` | `ldxdw` | dst, [src + off] | V0 V1 V3 V4 | `dst = *(u64 *)(src + off)` | 1 |",
            "| `0x4f` | `or64` | dst, src | all | `dst = dst \\| src` | 1 |",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}");
        }
    }
}
