//! A listing assembles to the program that it was made from.

mod support;

use std::{fs, path::Path, sync::Arc};

use proptest::prelude::*;
use selkie_asm::{DiskFiles, Options, assemble};
use selkie_elf::{Environment, Executable, Syscalls, load};
use selkie_inspect::{Listing, NamedProgram, TextOptions};
use selkie_isa::{
    Insn, Kind, Op, Version,
    symbol::{murmur3, pc_key},
};
use support::{bytes, program, word};

fn environment() -> Environment {
    let syscalls = Arc::new(Syscalls::new(selkie_protocol::syscalls::names()));
    Environment { syscalls, labels: true, ..Environment::default() }
}

/// Assembles the listing of a program.
fn assembled(program: &NamedProgram) -> Executable {
    let text = Listing::new(program).text(&TextOptions { addresses: true, bytes: true });
    let output = assemble(&text, &Options { version: program.version(), ..Options::default() });
    let findings = output.render(false);
    let assembly = output.assembly.unwrap_or_else(|| panic!("{findings}\nin\n{text}"));
    load(&assembly.to_elf(), &environment()).expect("the assembler makes files that load")
}

/// The read-only data, without the instructions that are part of it until V2.
fn data(executable: &Executable) -> &[u8] {
    let image = executable.read_only();
    let end = executable.text_vaddr() + executable.text().len() as u64;
    let start = if executable.version().strict_elf() { 0 } else { end - image.vaddr };
    image.bytes.get(usize::try_from(start).unwrap()..).unwrap_or_default()
}

fn check_file(name: &str, file: &[u8]) {
    let program = NamedProgram::open(file, &environment()).unwrap();
    if program.refusal().is_some() {
        return;
    }
    let (before, after) = (program.executable(), assembled(&program));
    assert!(before.text() == after.text(), "{name}: other instructions");
    // An assembler fills up the last word.
    assert!(data(&after).starts_with(data(before)), "{name}: other data");
    assert_eq!(before.entry_pc(), after.entry_pc(), "{name}");
}

#[test]
fn listings_of_assembled_programs_assemble_to_the_same_bytes() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm/good");
    let mut count = 0;
    for entry in fs::read_dir(&sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "s") {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for version in Version::ALL {
            let name = format!("{version} {}", path.display());
            let options = Options {
                version,
                include_paths: vec![sources.clone()],
                files: Arc::new(DiskFiles),
                ..Options::default()
            };
            if let Some(assembly) = assemble(&source, &options).assembly {
                check_file(&name, &assembly.to_elf());
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} sources assemble");
}

/// Programs of the ecosystem.
#[test]
fn listings_of_deployed_programs_assemble_to_the_same_bytes() {
    for path in selkie_testdata::elfs() {
        check_file(&path.display().to_string(), &fs::read(&path).unwrap());
    }
}

/// A slot of a program of `slots` slots: any instruction, sound or not, or none at all.
fn slot(version: Version, slots: u32) -> impl Strategy<Value = Vec<u64>> {
    let raw = (any::<u64>(), 0..slots, any::<bool>());
    raw.prop_map(move |(raw, target, tidy)| {
        let off = |pc: u32| i16::try_from(pc).unwrap();
        let Some(insn) = Insn::decode(version, &bytes(&[raw, 0]), 0) else { return vec![raw] };
        match insn.op.kind() {
            Kind::CallHash if raw & 1 << 40 == 0 => {
                vec![word(0x85, 0x10, 0, pc_key(target).cast_signed())]
            }
            Kind::CallHash => vec![word(0x85, 0x10, 0, murmur3(b"sol_log_").cast_signed())],
            Kind::LoadImm64 => vec![raw & 0xffff_0000_0000_0fff, raw >> 40 << 32],
            Kind::Jump | Kind::Branch(..) if tidy => {
                vec![raw & !0xffff_0000 | u64::from(off(target).cast_unsigned()) << 16]
            }
            _ if tidy => {
                let registers = (insn.dst % 10) | ((insn.src % 10) << 4);
                vec![word(insn.op.code(), registers, insn.off, 9)]
            }
            _ => vec![raw],
        }
    })
}

fn any_program() -> impl Strategy<Value = (Version, Vec<u64>)> {
    let version = prop::sample::select(&Version::ALL[..]);
    version.prop_flat_map(|version| {
        let slots = prop::collection::vec(slot(version, 12), 1..40);
        (Just(version), slots.prop_map(|slots| slots.concat()))
    })
}

proptest! {
    #[test]
    fn listings_of_random_programs_assemble_to_the_same_bytes((version, words) in any_program()) {
        let is_start = |pc: u32| selkie_isa::insn::instructions(version, &bytes(&words))
            .any(|(start, _)| start == pc as usize);
        let functions: Vec<(u32, &str)> =
            (0..12).filter(|&pc| is_start(pc)).map(|pc| (pc, "function")).collect();
        // A file cannot contain calls out of the program, or of the call itself.
        let keys = |own: usize| functions.iter().filter(move |(pc, _)| *pc as usize != own)
            .map(|&(pc, _)| pc_key(pc)).chain([murmur3(b"sol_log_")]);
        let words: Vec<u64> = words.iter().enumerate().map(|(own, &word)| {
            let insn = Insn::decode(version, &bytes(&[word, 0]), 0);
            let is_call = insn.is_some_and(|insn| insn.op == Op::CallHash);
            let is_held = keys(own).any(|key| u64::from(key) == word >> 32);
            if is_call && !is_held { 0x95 } else { word }
        }).collect();
        let program = program(version, &words, &functions);
        let after = assembled(&program);
        prop_assert_eq!(after.text(), program.executable().text());
    }
}
