//! The programs in `testdata/exec`: assembled, loaded, verified, and run by `run`, by `observe` and
//! as machine code, which must agree on everything observable.
//!
//! The header of a program states settings and expectations: see [`header`]. `UPDATE=1 cargo test
//! -p selkie-vm --test exec` writes the actual results into the headers: review the differences.

mod header;
mod machine;

use std::{
    fmt::Write,
    fs, iter,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, Executable};
use selkie_isa::Version;
use selkie_vm::{Program, verify};

use crate::{
    header::{Case, Expectation, Header},
    machine::{Compiled, Run, run_all_ways},
};

/// The number of smaller budgets with which runs are compared too, unless
/// `SELKIE_SMALLER_BUDGETS` has another one, for emulators.
const SMALLER_BUDGETS: usize = 24;

fn smaller_budgets() -> usize {
    let text = std::env::var("SELKIE_SMALLER_BUDGETS");
    text.map_or(SMALLER_BUDGETS, |text| text.parse().expect("it is a number"))
}

#[test]
fn programs_match_their_headers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/exec");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the test data is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
    paths.sort();
    assert!(paths.len() >= 60, "there are only {} programs", paths.len());

    if cfg!(target_family = "wasm") {
        // There are no threads.
        let failures = check_all(&mut paths.iter());
        return assert!(failures.is_empty(), "\n{failures}");
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // Some programs take much longer than others.
    let taken = AtomicUsize::new(0);
    let next = || paths.get(taken.fetch_add(1, Ordering::Relaxed));
    let check_some = || check_all(&mut iter::from_fn(next));
    let failures: String = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(check_some)).collect();
        running.into_iter().map(|it| it.join().expect("a check does not panic")).collect()
    });
    assert!(failures.is_empty(), "\n{failures}");
}

/// Returns the failures of programs.
fn check_all(paths: &mut dyn Iterator<Item = &PathBuf>) -> String {
    let mut failures = String::new();
    for path in paths {
        if let Err(failure) = check(path) {
            let name = path.file_name().expect("it is a file").display();
            let _ = writeln!(failures, "testdata/exec/{name}:\n{failure}");
        }
    }
    failures
}

/// Runs every case of a program.
fn check(path: &Path) -> Result<(), String> {
    let source = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut header = Header::parse(&source)?;
    let mut failures = String::new();
    for case in &mut header.cases {
        for version in case.versions.clone() {
            let actual = case_lines(&source, case, version)
                .map_err(|failure| format!("  {version}, line {}: {failure}", case.line))?;
            for (expected, actual) in case.expectations.iter().zip(&actual) {
                if expected.text() != actual.text() {
                    let (expected, actual) = (expected.text(), actual.text());
                    let at = format!("{version}, line {}", case.line);
                    let _ = writeln!(failures, "  {at}: expected `{expected}`, got `{actual}`");
                }
            }
            case.updated = actual;
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(path, header.rewrite(&source)).map_err(|error| error.to_string());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Returns the expectations of a case with the actual results.
fn case_lines(source: &str, case: &Case, version: Version) -> Result<Vec<Expectation>, String> {
    let (elf, executable) = load(source, version)?;
    let verdict = verify(&executable);
    let expects_refusal = case.expectations.iter().any(|it| it.key == "verify");
    if let Err(error) = &verdict
        && !case.setup.unverified
        && !expects_refusal
    {
        return Err(format!("the verifier refuses the program: {error}"));
    }
    let run = if verdict.is_ok() || case.setup.unverified {
        let program = Compiled::new(Program::new(executable), &elf, case)?;
        let run = run_all_ways(&program, case, case.setup.budget)?;
        for budget in (0..run.consumed).rev().take(smaller_budgets()) {
            run_all_ways(&program, case, budget)?;
        }
        Some(run)
    } else {
        None
    };
    let missing = [Expectation::new(if run.is_some() { "r0" } else { "verify" }, "")];
    let expectations = if case.expectations.is_empty() { &missing[..] } else { &case.expectations };
    expectations
        .iter()
        .map(|expected| match (expected.key.as_str(), &run) {
            ("verify", _) => Ok(Expectation::new("verify", &header::verdict(&verdict))),
            (_, Some(run)) => actual(expected, run),
            (key, None) => Err(format!("`{key}` is expected of a program that is refused")),
        })
        .collect()
}

/// Returns the actual result for an expectation.
fn actual(expected: &Expectation, run: &Run) -> Result<Expectation, String> {
    let value = match expected.key.as_str() {
        "r0" | "trap" => {
            let Run { pc, consumed, .. } = run;
            return Ok(match &run.result {
                Ok(r0) => {
                    Expectation::new("r0", &format!("{}, cu {consumed}", header::number(*r0)))
                }
                Err(trap) => Expectation::new("trap", &format!("{trap}, pc {pc}, cu {consumed}")),
            });
        }
        "pc" => run.pc.to_string(),
        "steps" => run.steps.to_string(),
        "depth" => run.depth.to_string(),
        "returns to" => format!("{:?}", run.return_pcs),
        "registers" => header::registers(&expected.value, &run.registers)?,
        "memory" => {
            let (vaddr, len) = header::span(&expected.value)?;
            header::memory(vaddr, &run.bytes(vaddr, len)?)
        }
        key => return Err(format!("nothing is known of `{key}`")),
    };
    Ok(Expectation::new(&expected.key, &value))
}

fn load(source: &str, version: Version) -> Result<(Vec<u8>, Executable), String> {
    let output = assemble(source, &Options { version, ..Options::default() });
    let assembly = output.assembly.as_ref().ok_or_else(|| output.render(false))?;
    let environment = Environment { syscalls: machine::syscalls(), ..Environment::default() };
    let elf = assembly.to_elf();
    let executable = selkie_elf::load(&elf, &environment).map_err(|error| error.to_string())?;
    Ok((elf, executable))
}
