//! C programs compiled by every compiler, with results compared to the host. A missing compiler is
//! reported and its tests are ignored, since its objects are committed. With
//! `SELKIE_REQUIRE_TOOLCHAINS` set, the tests of the one that `cargo xtask toolchains` installs run
//! and fail.

#[path = "../link/compilers.rs"]
mod compilers;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../link/machine.rs"]
mod machine;

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use libtest_mimic::{Arguments, Trial};

use compilers::{COMPILERS, is_there, scratch};
use machine::{VERSIONS, linked, run};

/// The programs, with the first processor that they can be compiled for.
const PROGRAMS: [(&str, u32); 4] = [("integers", 1), ("signed", 4), ("atomics", 3), ("program", 1)];

/// The compiler that is always installed where compilers are required.
const REQUIRED: &str = "clang-19";

fn main() -> ExitCode {
    let required = env::var_os("SELKIE_REQUIRE_TOOLCHAINS").is_some();
    let host = ["gcc", "cc"].into_iter().find(|it| is_there(it));
    let mut trials = Vec::new();
    for &(compiler, first, last) in COMPILERS {
        let missing = match (is_there(compiler), host) {
            _ if required && compiler == REQUIRED => None,
            (true, Some(_)) => None,
            (true, None) => Some("neither gcc nor cc".to_owned()),
            (false, _) => Some(format!("no {compiler}")),
        };
        for (name, oldest) in PROGRAMS.into_iter().filter(|&(_, oldest)| oldest <= last) {
            let check = move || {
                check(name, compiler, host.unwrap_or("cc"), first.max(oldest), last);
                Ok(())
            };
            let trial = Trial::test(format!("{name}_by_{compiler}"), check);
            let trial = trial.with_ignored_flag(missing.is_some());
            trials.push(trial.with_kind(missing.clone().unwrap_or_default()));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn testdata() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/link"))
}

/// What the program computes on the host.
fn expected(name: &str, host: &str, compiler: &str) -> Vec<u8> {
    let source = testdata().join(format!("{name}.c"));
    let program = scratch(&format!("{name}.{compiler}.host"));
    let made = Command::new(host)
        .args(["-O1", "-fwrapv", "-w", "-DHOST", "-o"])
        .args([&program, &source])
        .output()
        .expect("the host has a compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let output = Command::new(&program).output().expect("it was just made").stdout;
    let text = String::from_utf8(output).expect("it prints numbers");
    let sums = text.lines().map(|line| u64::from_str_radix(line, 16).expect("a number"));
    sums.flat_map(u64::to_le_bytes).collect()
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

/// Compiles a program for each of these processors, and compares.
fn check(name: &str, compiler: &str, host: &str, oldest: u32, last: u32) {
    let expected = expected(name, host, compiler);
    let mut count = 0;
    for cpu in oldest..=last {
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
                count += 1;
            }
        }
    }
    assert!(count > 0, "{compiler} compiles {name} for no processor");
}
