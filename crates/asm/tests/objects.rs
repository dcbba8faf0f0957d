//! The sources in `testdata/asm/objects`, assembled to objects.
//!
//! `NAME.s` gives the diagnostics in `NAME.stderr`, or else the object in `NAME.lst`, as other
//! tools read it. `UPDATE=1 cargo test -p selkie-asm` rewrites the expected files.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use object::{
    LittleEndian as LE, elf,
    read::elf::{
        FileHeader as _, Rel as _, SectionHeader as _, SectionTable, Sym as _, SymbolTable,
    },
};
use selkie_asm::{DiskFiles, Object, Options, assemble, assemble_object};
use selkie_isa::{Insn, NoNames, Version};

/// Lists the sections with their bytes, the symbols and the relocations, without debug information.
fn list(object: &Object) -> object::read::Result<String> {
    let bytes = &*object.elf;
    let header = elf::FileHeader64::<LE>::parse(bytes)?;
    assert_eq!(header.e_type(LE), elf::ET_REL);
    let sections = header.sections(LE, bytes)?;
    let symbols = sections.symbols(LE, bytes, elf::SHT_SYMTAB)?;
    let mut out = format!("machine {}, flags {}\n", header.e_machine(LE).0, header.e_flags(LE).0);
    list_sections(&mut out, object, &sections)?;
    list_symbols(&mut out, &sections, &symbols)?;
    list_relocations(&mut out, bytes, &sections, &symbols)?;
    Ok(out)
}

type Sections<'a> = SectionTable<'a, elf::FileHeader64<LE>>;
type Symbols<'a> = SymbolTable<'a, elf::FileHeader64<LE>>;

fn section_name(sections: &Sections<'_>, index: usize) -> object::read::Result<String> {
    let section = sections.section(object::SectionIndex(index))?;
    Ok(String::from_utf8_lossy(sections.section_name(LE, section)?).into_owned())
}

fn list_sections(
    out: &mut String,
    object: &Object,
    sections: &Sections<'_>,
) -> object::read::Result<()> {
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
        let data = section.data(LE, &*object.elf)?;
        let line_bytes = if letters.contains('x') { 8 } else { 16 };
        for (line, bytes) in data.chunks(line_bytes).enumerate() {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let hex = hex.join(" ");
            if letters.contains('x') {
                let insn = Insn::decode(object.version, data, line);
                let text = insn.map(|insn| insn.display(line, &NoNames).to_string());
                writeln!(out, "{line:4}: {hex}  {}", text.unwrap_or_default()).unwrap();
            } else {
                writeln!(out, "    {hex}").unwrap();
            }
        }
    }
    Ok(())
}

fn list_symbols(
    out: &mut String,
    sections: &Sections<'_>,
    symbols: &Symbols<'_>,
) -> object::read::Result<()> {
    for symbol in symbols.iter().skip(1).filter(|it| it.st_type() != elf::STT_SECTION) {
        let section = match symbol.st_shndx(LE) {
            elf::SHN_UNDEF => "undefined".to_owned(),
            elf::SHN_ABS => "absolute".to_owned(),
            elf::SHN_COMMON => "common".to_owned(),
            index => section_name(sections, index.0.into())?,
        };
        let name = String::from_utf8_lossy(symbols.symbol_name(LE, symbol)?);
        let binding = ["local", "global", "weak"][usize::from(symbol.st_bind().0)];
        let kind = ["", ", object", ", function"][usize::from(symbol.st_type().0)];
        let visibility =
            ["", ", internal", ", hidden", ", protected"][usize::from(symbol.st_visibility().0)];
        let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
        writeln!(out, "{name}: {section}+{value:#x}, {size} bytes, {binding}{kind}{visibility}")
            .unwrap();
    }
    Ok(())
}

fn list_relocations(
    out: &mut String,
    bytes: &[u8],
    sections: &Sections<'_>,
    symbols: &Symbols<'_>,
) -> object::read::Result<()> {
    for section in sections.iter() {
        let Some((relocations, _)) = section.rel(LE, bytes)? else { continue };
        let target = section_name(sections, section.sh_info(LE) as usize)?;
        if target.starts_with(".debug") {
            continue;
        }
        for it in relocations {
            let symbol = symbols.symbol(object::SymbolIndex(it.r_sym(LE) as usize))?;
            let name = match symbol.st_type() {
                elf::STT_SECTION => section_name(sections, symbol.st_shndx(LE).0.into())?,
                _ => String::from_utf8_lossy(symbols.symbol_name(LE, symbol)?).into_owned(),
            };
            let kind = match it.r_type(LE).0 {
                1 => "constant",
                2 => "data",
                10 => "call",
                other => panic!("a relocation of type {other}"),
            };
            writeln!(out, "{target}+{:#x}: {kind} {name}", it.r_offset(LE)).unwrap();
        }
    }
    Ok(())
}

#[test]
fn objects_have_the_expected_sections_symbols_and_relocations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm/objects");
    let entries = fs::read_dir(&folder).expect("the test data exists");
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
            Some(object) => ("lst", list(object).expect("the object is valid ELF")),
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

/// Sources of programs can be assembled to objects.
#[test]
fn sources_of_programs_assemble_to_objects() {
    for folder in ["good", "dialects"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm").join(folder);
        for entry in fs::read_dir(folder).expect("the test data exists") {
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

#[test]
fn objects_have_line_tables_unless_stripped() {
    let source = "f:\n mov64 r0, 1\n exit\n";
    for strip in [false, true] {
        let output = assemble_object(source, &Options { strip, ..Options::default() });
        let object = output.assembly.expect("the source has no errors");
        let has_lines = object.elf.windows(11).any(|it| it == b".debug_line");
        assert_eq!(has_lines, !strip);
    }
}
