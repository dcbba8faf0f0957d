//! Assembly linked with C and with other assembly.
//!
//! Each folder of `testdata/link/mixed` is a program: sources in assembly, and perhaps `program.c`,
//! whose object is in the same folder. `expected` contains the logs of the program and the functions
//! of the assembly with their stack use, or the errors of the linker. `UPDATE=1` rewrites it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use selkie_asm::{DiskFiles, Object, assemble, assemble_object};
use selkie_inspect::SourceMap;
use selkie_isa::{Kind, Version, insn::instructions};
use selkie_link::{Input, LinkError, Linked, Options, link};

use crate::{
    compilers::{COMPILERS, is_there, scratch},
    machine::{VERSIONS, linked, loads, run, run_apart},
    rendered, testdata,
};

/// Files by name.
type Files = Vec<(String, Vec<u8>)>;

/// Compiles a source of its own folder for eBPF, if there is a compiler.
fn clang_object(source: &Path, folder: &Path) -> Option<Vec<u8>> {
    let (compiler, ..) = COMPILERS.iter().rfind(|it| it.2 == 4 && is_there(it.0))?;
    let name = folder.file_name().expect("it has one").to_string_lossy().into_owned();
    let object = scratch(&format!("{name}.mixed.o"));
    let mut command = Command::new(compiler);
    command.args(["-target", "bpf", "-mcpu=v4", "-O1", "-ffreestanding", "-w", "-c", "-o"]);
    let made = command.arg(&object).arg(source).output().expect("it said its version");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::read(object).ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the test data is there");
    let mut paths: Vec<PathBuf> = entries.map(|it| it.expect("it can be read").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("it has one").to_string_lossy().into_owned()
}

fn options(path: &Path, version: Version) -> selkie_asm::Options {
    selkie_asm::Options {
        version,
        name: name(path),
        include_paths: path.parent().map(Path::to_owned).into_iter().collect(),
        files: std::sync::Arc::new(DiskFiles),
        ..selkie_asm::Options::default()
    }
}

pub(crate) fn object_of(path: &Path, version: Version) -> Object {
    let source = fs::read_to_string(path).expect("it is text");
    let output = assemble_object(&source, &options(path, version));
    assert_eq!(output.error_count(), 0, "{}", output.render(false));
    output.assembly.expect("there was no error")
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "s")
}

/// The objects of a case, that of C as it is given.
fn objects(folder: &Path, c: Option<Vec<u8>>, version: Version) -> Files {
    let sources = entries(folder).into_iter().filter(|path| is_source(path));
    let objects = sources.map(|path| (name(&path), object_of(&path, version).elf));
    objects.chain(c.map(|it| ("program.o".to_owned(), it))).collect()
}

fn link_all(files: &Files, version: Version) -> Result<Linked, Vec<LinkError>> {
    let inputs: Vec<Input<'_>> = files.iter().map(|(name, bytes)| Input { name, bytes }).collect();
    link(&inputs, &Options { version, ..Options::default() })
}

/// Returns the logs and functions of a case, or its errors.
fn verdict(files: &Files, version: Version) -> String {
    let mut said = String::new();
    match link_all(files, version) {
        Ok(linked) => {
            let run = run(&linked.elf, &[]);
            run.logs.iter().filter(|it| it.starts_with("Program log")).for_each(|line| {
                writeln!(said, "{line}").unwrap();
            });
            writeln!(said, "{:?}", run.result.map_err(|_| "it failed")).unwrap();
            for it in &linked.functions {
                if it.object.as_ref().is_some_and(|it| it.ends_with(".s")) {
                    writeln!(said, "{} of assembly, stack {}", it.name, it.stack).unwrap();
                    assert_eq!(it.slots_added, 0, "{}", it.name);
                }
            }
        }
        Err(errors) => said.push_str(&rendered(&errors)),
    }
    said
}

#[test]
fn mixed_assembly_and_c_link_and_run_as_expected() {
    let folders: Vec<PathBuf> =
        entries(&testdata().join("mixed")).into_iter().filter(|it| it.is_dir()).collect();
    assert!(folders.len() >= 12, "cases are missing");
    let mut differing = String::new();
    for folder in folders {
        let source = folder.join("program.c");
        let mut variants = vec![fs::read(folder.join("program.o")).ok()];
        if source.is_file() {
            assert!(variants[0].is_some(), "{} was not compiled", source.display());
            variants.extend(clang_object(&source, &folder).map(Some));
        }
        for variant in variants {
            for version in VERSIONS {
                let said = verdict(&objects(&folder, variant.clone(), version), version);
                let path = folder.join("expected");
                let expected = fs::read_to_string(&path).unwrap_or_default();
                if said == expected {
                    continue;
                }
                if std::env::var_os("UPDATE").is_some() {
                    fs::write(&path, said).expect("it can be written");
                } else {
                    writeln!(differing, "{} for {version}:\n{said}", folder.display()).unwrap();
                }
            }
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn objects_of_another_version_are_refused() {
    let folder = testdata().join("mixed/functions_that_share_their_end");
    for (of, program) in [(Version::V0, Version::V3), (Version::V3, Version::V0)] {
        let errors = link_all(&objects(&folder, None, of), program).unwrap_err();
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = ["a.s", "b.s"]
            .map(|name| format!("{name}: assembled for {of}, but linked for {program}"));
        assert_eq!(said, expected);
        let help = format!("assemble it with --arch {program}, or link with --arch {of}");
        assert!(errors.iter().all(|it| it.help.as_ref() == Some(&help)), "{errors:?}");
    }
}

/// Only needed members of an archive are linked. Others may be of another version.
#[test]
fn archive_members_may_be_assembled() {
    let folder = testdata().join("mixed/functions_that_share_their_end");
    for (version, other) in [(Version::V0, Version::V3), (Version::V3, Version::V0)] {
        let [(main, main_object), (part, part_object)] = &objects(&folder, None, version)[..]
        else {
            panic!("two sources")
        };
        let unused = object_of(&testdata().join("mixed/callbacks/apply.s"), other).elf;
        let mut archive = b"!<arch>\n".to_vec();
        for (name, data) in [(part, part_object), (&"unused.o".to_owned(), &unused)] {
            let (name, size) = (format!("{name}/"), data.len());
            let header = format!("{name:16}{:12}{:6}{:6}{:8}{size:<10}`\n", 0, 0, 0, 644);
            archive.extend(header.bytes());
            archive.extend(data);
            archive.resize(archive.len().next_multiple_of(2), b'\n');
        }
        let linked = linked(&[("lib.a", &archive), (main, main_object)], version);
        let names: Vec<_> = linked.functions.iter().filter_map(|it| it.object.as_deref()).collect();
        assert_eq!(names, ["a.s", "a.s", "a.s", "lib.a(b.s)"]);
        assert_eq!(run(&linked.elf, &[]).result, Ok(()));
    }
}

/// Every instruction of the assembly has its line, whatever was left out before it.
#[test]
fn source_lines_of_assembly_survive_linking() {
    let folder = testdata().join("mixed/functions_that_share_their_end");
    for version in VERSIONS {
        let linked = link_all(&objects(&folder, None, version), version).expect("it links");
        let map = SourceMap::load(linked.elf.clone());
        for it in &linked.functions {
            let file = it.object.clone().expect("all of it is assembly");
            let source = fs::read_to_string(folder.join(&file)).expect("it is text");
            let label = format!("{}:", it.name);
            let line = source.lines().position(|line| line == label).expect("it is a label");
            for slot in 0..it.slots {
                let found = map.line_at(it.pc + slot).expect("it has a line");
                assert!(found.file.ends_with(&file), "{found}");
                // No line between the label and the end of a function here is without an
                // instruction, but for labels.
                let text = source.lines().nth(found.line as usize - 1).expect("the line is there");
                assert!(text.starts_with("    "), "{version} {found}: {text}");
                assert!(found.line as usize > line, "{version} {found}");
            }
            let first = map.line_at(it.pc).expect("it has a line");
            assert_eq!(first.line as usize, line + 2, "{version} {}", it.name);
        }
    }
}

/// What depends on the address of its data, which the linker puts elsewhere.
const BY_ADDRESS: &[&str] = &["addresses_wrap_around.s", "v3.s"];

/// A source assembled to a program runs like the same source assembled to an object and
/// linked, and has the same instructions, unless the linker left out some.
#[test]
fn assembled_program_equals_linked_object() {
    let (mut compared, mut identical) = (0, 0);
    let folders = ["exec", "asm/good", "asm/dialects"].map(|it| testdata().join("..").join(it));
    let mut paths: Vec<PathBuf> = folders.iter().flat_map(|it| entries(it)).collect();
    paths.extend(entries(&testdata().join("../../examples")));
    let is_open = |path: &PathBuf| !BY_ADDRESS.contains(&&*name(path));
    for path in paths.into_iter().filter(|path| is_source(path)).filter(is_open) {
        let source = fs::read_to_string(&path).expect("it is text");
        for version in VERSIONS {
            let options = options(&path, version);
            let Some(program) = assemble(&source, &options).assembly else { continue };
            let Some(object) = assemble_object(&source, &options).assembly else { continue };
            let straight = program.to_elf();
            let inputs = [Input { name: "a.o", bytes: &object.elf }];
            let Ok(linked) = link(&inputs, &Options { version, ..Options::default() }) else {
                continue;
            };
            let case = format!("{} {version}", path.display());
            let texts = [&straight, &linked.elf].map(|elf| loads(elf));
            let [Some(one), Some(other)] = &texts else {
                assert!(texts[1].is_some(), "{case}: the linked object does not load");
                continue;
            };
            let has_moved = one != other;
            if one.len() == other.len() {
                same(version, one, other, &case);
                identical += 1;
            }
            let [one, other] = [&straight, &linked.elf].map(|elf| run_apart(elf));
            // Some fail on purpose, and log the address.
            if !has_moved || one.result.is_ok() {
                assert_eq!(one.result.is_ok(), other.result.is_ok(), "{case}");
                assert_eq!((one.data, one.logs), (other.data, other.logs), "{case}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 100 && identical >= 100, "{compared} compared, {identical} identical");
}

/// Compares instructions except for the addresses of data, which differ.
fn same(version: Version, one: &[u8], other: &[u8], case: &str) {
    let pairs = instructions(version, one).zip(instructions(version, other));
    for ((pc, a), (_, b)) in pairs {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let is_address = matches!(a.op.kind(), Kind::LoadImm64);
        let imm = if is_address { a.imm } else { b.imm };
        assert_eq!(a, selkie_isa::Insn { imm, ..b }, "{case}: slot {pc}");
    }
}
