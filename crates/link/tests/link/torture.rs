//! C programs on the machine and on the host. Where a compiler is missing, its part is left out:
//! what it would have made is among the committed objects.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    machine::{VERSIONS, linked, run},
    testdata,
};

/// Compilers, with the first and last processor that they know.
const COMPILERS: &[(&str, u32, u32)] = &[
    ("clang-14", 1, 3),
    ("clang-16", 1, 3),
    ("clang-19", 1, 4),
    ("clang-22", 1, 4),
    ("clang", 1, 3),
];

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture");
    fs::create_dir_all(&folder).expect("cargo made the folder above");
    folder.join(name)
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|it| it.status.success())
}

/// What the program computes on the host.
fn expected(name: &str) -> Option<Vec<u8>> {
    let compiler = ["gcc", "cc"].into_iter().find(|it| is_there(it))?;
    let (source, program) =
        (testdata().join(format!("{name}.c")), scratch(&format!("{name}.host")));
    let made = Command::new(compiler)
        .args(["-O1", "-fwrapv", "-w", "-DHOST", "-o"])
        .args([&program, &source])
        .output()
        .expect("it said its version");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let output = Command::new(&program).output().expect("it was just made").stdout;
    let text = String::from_utf8(output).expect("it prints numbers");
    let sums = text.lines().map(|line| u64::from_str_radix(line, 16).expect("a number"));
    Some(sums.flat_map(u64::to_le_bytes).collect())
}

/// Compiles for eBPF; `None` if the compiler cannot.
fn compile(compiler: &str, cpu: u32, level: &str, name: &str) -> Option<Vec<u8>> {
    let object = scratch(&format!("{name}.{compiler}.v{cpu}.{level}.o"));
    let mut command = Command::new(compiler);
    command.args(["-target", "bpf", &format!("-mcpu=v{cpu}"), &format!("-{level}")]);
    command.args(["-ffreestanding", "-fwrapv", "-w", "-g", "-c", "-o"]);
    command.arg(&object).arg(testdata().join(format!("{name}.c")));
    if !matches!(compiler, "clang-14" | "clang-16") {
        command.args(["-mllvm", "-bpf-stack-size=4096"]);
    }
    let made = command.output().expect("it said its version");
    if !made.status.success() {
        return None;
    }
    fs::read(object).ok()
}

/// Compiles a source of its own folder for eBPF, if there is a compiler.
pub(crate) fn clang_object(source: &Path, folder: &Path) -> Option<Vec<u8>> {
    let (compiler, ..) = COMPILERS.iter().rfind(|it| it.2 == 4 && is_there(it.0))?;
    let name = folder.file_name().expect("it has one").to_string_lossy().into_owned();
    let object = scratch(&format!("{name}.mixed.o"));
    let mut command = Command::new(compiler);
    command.args(["-target", "bpf", "-mcpu=v4", "-O1", "-ffreestanding", "-w", "-c", "-o"]);
    let made = command.arg(&object).arg(source).output().expect("it said its version");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::read(object).ok()
}

/// Compiles a program by every compiler, for each processor from `oldest` on, and compares.
#[track_caller]
fn check(name: &str, oldest: u32) {
    let Some(expected) = expected(name) else { return };
    for &(compiler, first, last) in COMPILERS.iter().filter(|it| is_there(it.0)) {
        for cpu in first.max(oldest)..=last {
            // What is not there at the second level is not there at all, nearly.
            let levels: &[&str] = if cpu == last { &["O2", "O1", "Os"] } else { &["O2"] };
            for level in levels {
                let Some(object) = compile(compiler, cpu, level, name) else { continue };
                for version in VERSIONS {
                    let case = format!("{name} {compiler} v{cpu} {level} for {version}");
                    let linked = linked(&[(name, &object)], version);
                    let run = run(&linked.elf, &[]);
                    assert_eq!(run.result, Ok(()), "{case}");
                    assert_eq!(run.data, expected, "{case}");
                }
            }
        }
    }
}

#[test]
fn integers() {
    check("integers", 1);
}

#[test]
fn signed_division() {
    check("signed", 4);
}

#[test]
fn atomics() {
    check("atomics", 3);
}

#[test]
fn programs() {
    check("program", 1);
}
