//! The sources in `testdata/asm/objects`, assembled to objects.
//!
//! `NAME.s` gives what the assembler says in `NAME.stderr`, or else the object in `NAME.lst`, as
//! tools read it. `UPDATE=1 cargo test -p selkie-asm` writes what is expected anew.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use object::{
    LittleEndian as LE, elf,
    read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _},
};
use selkie_asm::{DiskFiles, Object, Options, assemble, assemble_object};
use selkie_isa::{Insn, NoNames, Version};

/// A file as tools read it: sections with their bytes, symbols, relocations. Debug information is
/// left out.
fn list(object: &Object) -> object::read::Result<String> {
    let bytes = &*object.elf;
    let header = elf::FileHeader64::<LE>::parse(bytes)?;
    assert_eq!(header.e_type(LE), elf::ET_REL);
    let sections = header.sections(LE, bytes)?;
    let symbols = sections.symbols(LE, bytes, elf::SHT_SYMTAB)?;
    let mut out = format!("machine {}, flags {}\n", header.e_machine(LE).0, header.e_flags(LE).0);
    for section in sections.iter() {
        let name = String::from_utf8_lossy(sections.section_name(LE, section)?).into_owned();
        let flags = section.sh_flags(LE).0;
        if flags & elf::SHF_ALLOC.0 == 0 {
            continue;
        }
        let letter = |flag: elf::SectionFlags, letter| (flags & flag.0 != 0).then_some(letter);
        let letters: String = [letter(elf::SHF_WRITE, 'w'), letter(elf::SHF_EXECINSTR, 'x')]
            .into_iter()
            .flatten()
            .collect();
        let (size, align) = (section.sh_size(LE), section.sh_addralign(LE));
        writeln!(out, "{name} {letters} {size} bytes, aligned to {align}").unwrap();
        let data = section.data(LE, bytes)?;
        if letters.contains('x') {
            for (pc, word) in data.chunks(8).enumerate() {
                let hex: Vec<String> = word.iter().map(|byte| format!("{byte:02x}")).collect();
                let insn = Insn::decode(object.version, data, pc);
                let text = insn.map(|insn| insn.display(pc, &NoNames).to_string());
                writeln!(out, "{pc:4}: {}  {}", hex.join(" "), text.unwrap_or_default()).unwrap();
            }
        } else {
            for chunk in data.chunks(16) {
                let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(out, "    {}", hex.join(" ")).unwrap();
            }
        }
    }
    for symbol in symbols.iter().skip(1).filter(|it| it.st_type() != elf::STT_SECTION) {
        let home = match symbol.st_shndx(LE) {
            elf::SHN_UNDEF => "undefined".to_owned(),
            elf::SHN_ABS => "absolute".to_owned(),
            elf::SHN_COMMON => "common".to_owned(),
            index => {
                let section = sections.section(object::SectionIndex(index.0.into()))?;
                String::from_utf8_lossy(sections.section_name(LE, section)?).into_owned()
            }
        };
        let name = String::from_utf8_lossy(symbols.symbol_name(LE, symbol)?);
        let binding = ["local", "global", "weak"][usize::from(symbol.st_bind().0)];
        let kind = ["", ", object", ", function"][usize::from(symbol.st_type().0)];
        let visibility =
            ["", ", internal", ", hidden", ", protected"][usize::from(symbol.st_visibility().0)];
        let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
        writeln!(out, "{name}: {home}+{value:#x}, {size} bytes, {binding}{kind}{visibility}")
            .unwrap();
    }
    for section in sections.iter() {
        let Some((relocations, _)) = section.rel(LE, bytes)? else { continue };
        let target = sections.section(object::SectionIndex(section.sh_info(LE) as usize))?;
        let target = String::from_utf8_lossy(sections.section_name(LE, target)?);
        if target.starts_with(".debug") {
            continue;
        }
        for it in relocations {
            let symbol = symbols.symbol(object::SymbolIndex(it.r_sym(LE) as usize))?;
            let mut name = String::from_utf8_lossy(symbols.symbol_name(LE, symbol)?).into_owned();
            if symbol.st_type() == elf::STT_SECTION {
                let section =
                    sections.section(object::SectionIndex(symbol.st_shndx(LE).0.into()))?;
                name = String::from_utf8_lossy(sections.section_name(LE, section)?).into_owned();
            }
            let kind = match it.r_type(LE).0 {
                1 => "constant",
                2 => "data",
                10 => "call",
                other => panic!("a relocation of type {other}"),
            };
            writeln!(out, "{target}+{:#x}: {kind} {name}", it.r_offset(LE)).unwrap();
        }
    }
    Ok(out)
}

#[test]
fn objects_are_what_linkers_expect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm/objects");
    let entries = fs::read_dir(&folder).expect("the test data is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
    paths.sort();
    assert!(paths.len() >= 8);
    let mut failures = String::new();
    for path in paths {
        let source = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let first = source.lines().next().unwrap_or_default();
        let version =
            first.strip_prefix("; version: ").map_or(Version::V3, |it| it.parse().unwrap());
        let options = Options {
            version,
            name,
            include_paths: vec![folder.clone()],
            files: Arc::new(DiskFiles),
            ..Options::default()
        };
        let output = assemble_object(&source, &options);
        let (extension, actual) = match &output.assembly {
            Some(object) => ("lst", list(object).expect("tools read what we write")),
            None => ("stderr", String::new()),
        };
        let actual = format!("{}{actual}", output.render(false));
        let path = path.with_extension(extension);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, actual).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected != actual {
            writeln!(failures, "{}: expected\n{expected}\nbut got\n{actual}", path.display())
                .unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Whatever is a program is an object too.
#[test]
fn programs_are_objects() {
    for folder in ["good", "dialects"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm").join(folder);
        for entry in fs::read_dir(folder).expect("the test data is there") {
            let path = entry.unwrap().path();
            let Ok(source) = fs::read_to_string(&path) else { continue };
            for version in [Version::V0, Version::V3, Version::V4] {
                let options = Options { version, ..Options::default() };
                if assemble(&source, &options).assembly.is_none() {
                    continue;
                }
                let output = assemble_object(&source, &options);
                assert_eq!(output.error_count(), 0, "{}: {}", path.display(), output.render(false));
            }
        }
    }
}

/// Debug information is there unless it is to be stripped.
#[test]
fn objects_have_lines() {
    let source = "f:\n mov64 r0, 1\n exit\n";
    for strip in [false, true] {
        let output = assemble_object(source, &Options { strip, ..Options::default() });
        let object = output.assembly.expect("the source has no errors");
        let has_lines = object.elf.windows(11).any(|it| it == b".debug_line");
        assert_eq!(has_lines, !strip);
    }
}
