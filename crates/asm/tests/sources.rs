//! The sources in `testdata/asm`.
//!
//! `bad/NAME.s` gives the diagnostics in `bad/NAME.stderr`; `good/NAME.s` gives the bytes in
//! `good/NAME.hex`, without diagnostics. A first line `; version: v3 …` selects the versions, which
//! default to V0. `UPDATE=1 cargo test -p selkie-asm` rewrites the expected files.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_asm::{Assembly, DiskFiles, Options, Output, assemble, assemble_object};
use selkie_isa::Version;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asm").join(name)
}

fn sources(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).expect("the test data exists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
    paths.sort();
    paths
}

fn versions(text: &str) -> Vec<Version> {
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("; version:") {
        Some(list) => list.split_whitespace().map(|word| word.parse().unwrap()).collect(),
        None => vec![Version::V0],
    }
}

fn options(path: &Path, version: Version) -> Options {
    let folder = path.parent().unwrap();
    Options {
        version,
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        include_paths: vec![folder.to_owned()],
        files: Arc::new(DiskFiles),
        ..Options::default()
    }
}

/// Compares with the expected file beside the source, or rewrites it.
fn check(path: &Path, extension: &str, actual: &str, failures: &mut String) {
    let expected_path = path.with_extension(extension);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&expected_path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&expected_path).unwrap_or_default();
    if expected != actual {
        let name = path.display();
        let _ = writeln!(failures, "{name}: expected\n{expected}\nbut got\n{actual}");
    }
}

/// Removes the path of the test data from a text.
fn without_folder(text: &str, path: &Path) -> String {
    text.replace(&format!("{}/", path.parent().unwrap().display()), "")
}

#[test]
fn sources_in_bad_give_the_expected_diagnostics() {
    let paths = sources("bad");
    assert!(paths.len() >= 60);
    let mut failures = String::new();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let [version] = versions(&text)[..] else { panic!("one version for {}", path.display()) };
        let output = assemble(&text, &options(path, version));
        assert!(!output.diagnostics.is_empty(), "{} has no diagnostics", path.display());
        assert_eq!(output.assembly.is_none(), output.error_count() > 0);
        let rendered = without_folder(&output.render(false), path);
        check(path, "stderr", &rendered, &mut failures);
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn sources_in_good_give_the_expected_bytes() {
    let mut failures = String::new();
    for path in sources("good") {
        let text = fs::read_to_string(&path).unwrap();
        let mut listing = String::new();
        for version in versions(&text) {
            let output = assemble(&text, &options(&path, version));
            assert_eq!(output.render(false), "", "{}", path.display());
            list(&mut listing, &assembly(output));
        }
        check(&path, "hex", &listing, &mut failures);
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Sources whose names are equal up to a `-` are the same program in several dialects.
#[test]
fn dialects_give_the_same_bytes() {
    let mut compared = 0;
    for path in sources("dialects") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (program, dialect) = name.split_once('-').expect("PROGRAM-DIALECT.s");
        if dialect == "mnemonic.s" {
            continue;
        }
        let reference = path.with_file_name(format!("{program}-mnemonic.s"));
        for version in [Version::V0, Version::V3] {
            let image = |path: &Path| {
                let text = fs::read_to_string(path).unwrap();
                let output = assemble(&text, &options(path, version));
                assert_eq!(output.error_count(), 0, "{}", output.render(false));
                let Assembly { text, rodata, entry_pc, syscalls, .. } = assembly(output);
                (text, rodata, entry_pc, syscalls)
            };
            assert_eq!(image(&path), image(&reference), "{name} {version}");
            compared += 1;
        }
    }
    assert!(compared >= 4);
}

/// The examples have no diagnostics in any version.
#[test]
fn examples_assemble_without_diagnostics() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["hello.s", "dispatch.s", "counter/counter.s"] {
        let path = examples.join(name);
        let text = fs::read_to_string(&path).unwrap();
        for version in Version::ALL {
            assert_eq!(assemble(&text, &options(&path, version)).render(false), "", "{name}");
        }
    }
}

#[test]
fn listings_in_the_manual_assemble_without_diagnostics() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assembler.md");
    let manual = fs::read_to_string(&path).unwrap();
    let blocks: Vec<&str> = manual.split("```asm\n").skip(1).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        let source = block.split("```").next().unwrap();
        for version in [Version::V0, Version::V3] {
            let options = options(&path, version);
            // The listing without an entry is an object.
            match source.contains(".globl scale") {
                true => assert_eq!(assemble_object(source, &options).render(false), ""),
                false => assert_eq!(assemble(source, &options).render(false), ""),
            }
        }
    }
}

/// All columns of a row in the manual's table of dialects give the same bytes.
#[test]
fn dialects_in_the_table_of_the_manual_give_the_same_bytes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assembler.md");
    let manual = fs::read_to_string(&path).unwrap();
    let table = manual.split("|---|---|---|\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let program = |instruction: &str| {
        let rest = "exit\nlabel:\nfunction: exit\n exit\n exit\n";
        let source = format!("entrypoint: {instruction}\n{rest}");
        let output = assemble(&source, &options(&path, Version::V3));
        assert_eq!(output.error_count(), 0, "{instruction}: {}", output.render(false));
        assembly(output).text
    };
    for row in table.lines() {
        let cells: Vec<&str> = row.split('|').filter_map(|cell| cell.split('`').nth(1)).collect();
        // `ja +3` has another target than `ja label`.
        let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.contains("ja +")).collect();
        for cell in &cells {
            assert_eq!(program(cell), program(cells[0]), "{row}");
        }
    }
    assert!(table.lines().count() >= 10);
}

fn assembly(output: Output) -> Assembly {
    output.assembly.expect("there are no errors")
}

/// Lists the words of the text with their disassembly, then the data.
fn list(out: &mut String, assembly: &Assembly) {
    let _ = writeln!(out, "version {}, entry {}", assembly.version, assembly.entry_pc);
    for (pc, word) in assembly.text.chunks(8).enumerate() {
        let hex: Vec<String> = word.iter().map(|byte| format!("{byte:02x}")).collect();
        let insn = selkie_isa::Insn::decode(assembly.version, &assembly.text, pc);
        let text = insn.map(|insn| insn.display(pc, &selkie_isa::NoNames).to_string());
        let _ = writeln!(out, "{pc:4}: {}  {}", hex.join(" "), text.unwrap_or_default());
    }
    for (pc, name) in &assembly.syscalls {
        let _ = writeln!(out, "syscall {pc} {name}");
    }
    for chunk in assembly.rodata.chunks(16) {
        let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(out, "data {}", hex.join(" "));
    }
}
