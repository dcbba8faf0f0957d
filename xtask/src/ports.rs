//! `cargo xtask ports`: checks the code for other processors and systems, runs tests for wasm32 under
//! Node.js, and tests for Arm64 in an emulator: the virtual machine's tests and vectors.
//!
//! With `--full` it runs all conformance vectors there, the runtime's tests, and random programs beside
//! anza's interpreter, compares a million encodings with LLVM's and the listings of docs/jit.md with what
//! the command prints, and checks all libraries for Macs with Intel's processors; without, only the crate
//! that knows processors.
//!
//! With `--speed` it only compares the interpreter's speed on wasm32 with that on this machine.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Result, bail, ensure};

use crate::{
    output, print, repository, say,
    steps::{cargo_command, skip, step, succeed},
    toolchains::{install_package, succeeds},
};

/// The crates that browsers may use.
const FOR_BROWSERS: &[&str] = &[
    "selkie-isa",
    "selkie-elf",
    "selkie-asm",
    "selkie-vm",
    "selkie-svm",
    "selkie",
    "selkie-inspect",
    "selkie-wasm",
];

/// Those that use almost all libraries. The command and the server need a C compiler for their target.
const LIBRARIES: &[&str] = &["selkie", "selkie-conform", "selkie-node", "selkie-client"];

/// What differs between this and the other Mac is in `selkie-vm`.
const INTEL_MAC: &str = "x86_64-apple-darwin";

/// Targets, and the packages that must compile for them.
const PORTS: &[(&str, &[&str])] = &[
    ("wasm32-unknown-unknown", FOR_BROWSERS),
    ("aarch64-apple-darwin", LIBRARIES),
    (INTEL_MAC, LIBRARIES),
    ("x86_64-pc-windows-msvc", LIBRARIES),
];

/// The target whose tests are run.
pub(crate) const EMULATED: &str = "aarch64-unknown-linux-gnu";

/// The linker for this target.
pub(crate) const LINKER: &str = "aarch64-linux-gnu-gcc";

/// Where the emulator finds libraries for this target.
pub(crate) const ROOT: &str = "/usr/aarch64-linux-gnu";

/// What running them needs: files of Debian packages, and these packages.
const EMULATION: &[(&str, &str)] = &[("/usr/bin/qemu-aarch64", "qemu-user")];

/// What linking them needs. The compiler's package only recommends the C library that its linker needs.
const LINKAGE: &[(&str, &str)] = &[
    ("/usr/bin/aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("/usr/aarch64-linux-gnu/lib/crti.o", "libc6-dev-arm64-cross"),
];

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_full = match arguments {
        [] => false,
        [option] if option == "--full" => true,
        [option] if option == "--speed" => return speed(),
        _ => bail!("usage: cargo xtask ports [--full | --speed]"),
    };
    for &(target, packages) in PORTS {
        let packages = if target == INTEL_MAC && !is_full { &["selkie-vm"] } else { packages };
        step(&format!("code for {target}"), || match has_target(target) {
            true => check(target, packages),
            false => skip("its standard library cannot be installed"),
        })?;
    }
    step("tests on wasm32", || {
        match has_target(WASI) && succeeds(Command::new("node").arg("-v")) {
            true => test_on_wasm(),
            false => skip("the target's standard library or Node.js cannot be installed"),
        }
    })?;
    step("tests on Arm64", || match is_emulated() {
        true => test(is_full),
        false => skip("the emulator or the linker cannot be installed"),
    })
}

fn check(target: &str, packages: &[&str]) -> Result<()> {
    let mut command = cargo_command();
    command.args(["check", "--quiet", "--locked", "--target", target]);
    succeed(command.args(packages.iter().flat_map(|it| ["--package", it])))
}

/// The target of WebAssembly whose programs read files.
const WASI: &str = "wasm32-wasip1";

/// Runs the tests of the virtual machine, and those of the runtime that need neither threads nor
/// machine code.
fn test_on_wasm() -> Result<()> {
    let runtime = ["--lib", "--test", "instruction", "--test", "programs", "--test", "syscalls"];
    for (package, tests) in [("selkie-vm", &["--tests"][..]), ("selkie-svm", &runtime)] {
        let mut command = on_wasm("test");
        command.args(["--quiet", "--locked", "--package", package]);
        succeed(command.args(tests))?;
    }
    Ok(())
}

/// A command of cargo whose programs run on wasm32.
fn on_wasm(command: &str) -> Command {
    let mut cargo = cargo_command();
    cargo.args([command, "--target", WASI]);
    let runner = repository().join("xtask/ports/wasi.mjs");
    let runner = format!("node --no-warnings {}", runner.display());
    cargo.env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner).env("WASI_ROOT", repository());
    cargo
}

/// Prints what an instruction takes in the interpreter on wasm32 and on this machine, the fastest of
/// some turns, and the ratio.
fn speed() -> Result<()> {
    const TURNS: usize = 5;
    ensure!(has_target(WASI), "the target's standard library cannot be installed");
    let arguments = ["--quiet", "--locked", "--release", "--package", "selkie-vm"];
    let mut here = cargo_command();
    here.arg("run");
    let mut commands = [here, on_wasm("run")];
    for command in &mut commands {
        command.args(arguments).args(["--example", "interpreter_speed"]);
    }
    let mut fastest = BTreeMap::<String, [u64; 2]>::new();
    for _ in 0..TURNS {
        for (side, command) in commands.iter_mut().enumerate() {
            let text = String::from_utf8(output(command)?.stdout)?;
            for (name, picoseconds) in text.lines().filter_map(|it| it.split_once('\t')) {
                let least = &mut fastest.entry(name.to_owned()).or_insert([u64::MAX; 2])[side];
                *least = picoseconds.parse::<u64>()?.min(*least);
            }
        }
    }
    for (name, sides) in fastest {
        let [here, wasm] = sides.map(|it| it as f64 / 1000.0);
        print(&format!("{name:12} {here:6.2} ns {wasm:6.2} ns on wasm32, {:.2}", wasm / here));
    }
    Ok(())
}

/// With how many smaller budgets each program of `testdata/exec` runs again.
const SMALLER_BUDGETS: &str = "4";

/// The vectors of programs, which are enough for every CI.
const VECTORS: &[&str] = &["testdata/vectors/mainnet/suite_exec.jsonl.zst"];

/// All vectors; the second folder is beside the repository and may be missing.
const ALL_VECTORS: &[&str] = &["testdata/vectors", "../shared/vectors/fix"];

/// Random programs that are run beside anza's interpreter: each is executed about one and a half
/// times.
const ORACLE_PROGRAMS: &str = "140000";

fn test(is_full: bool) -> Result<()> {
    let mut tests = emulated("test", repository());
    tests.args(["--quiet", "--locked", "--package", "selkie-vm"]);
    match is_full {
        true => tests.args(["--package", "selkie-svm"]),
        false => tests.env("SELKIE_SMALLER_BUDGETS", SMALLER_BUDGETS),
    };
    succeed(&mut tests)?;
    let mut vectors = emulated("run", repository());
    vectors.args([
        "--quiet",
        "--locked",
        "--package",
        "selkie-conform",
        "--example",
        "judge",
        "--",
    ]);
    vectors.arg("testdata/elfs");
    let paths = if is_full { ALL_VECTORS } else { VECTORS };
    vectors.args(paths.iter().filter(|it| repository().join(it).exists()));
    succeed(&mut vectors)?;
    if !is_full {
        return Ok(());
    }
    encodings()?;
    let mut listings = emulated("test", repository());
    listings.args(["--quiet", "--locked", "--package", "selkie-cli", "--test", "documents"]);
    succeed(listings.args(["--", "listings"]))?;
    let mut oracle = emulated("run", &repository().join("oracle"));
    oracle.args(["--profile", "oracle", "--locked", "--ignore-rust-version", "--"]);
    // A process that is emulated cannot start another one.
    oracle.env("SELKIE_ORACLE_NOTES", repository().join("target/oracle-notes"));
    succeed(oracle.args(["exec", "--count", ORACLE_PROGRAMS]))
}

/// What comparing encodings needs.
const LLVM: &[(&str, &str)] = &[("/usr/bin/llvm-mc", "llvm"), ("/usr/bin/llvm-objcopy", "llvm")];

/// The fewest instructions whose encodings are compared.
const ENCODINGS_MIN: usize = 1_000_000;

/// Compares the encodings of all instructions of the Arm64 back end, with all registers, with those of
/// LLVM's assembler. Those of branches depend on where they stand, and are left out.
fn encodings() -> Result<()> {
    ensure!(are_installed(LLVM), "llvm-mc and llvm-objcopy are needed");
    let folder = repository().join("target/encodings");
    fs::create_dir_all(&folder)?;
    let listed = folder.join("listed.txt");
    let mut tests = emulated("test", repository());
    tests.args(["--quiet", "--locked", "--package", "selkie-vm", "--lib", "disassembler"]);
    tests.env("SELKIE_ENCODINGS", &listed).env("CARGO_TARGET_DIR", folder.join("cargo"));
    succeed(&mut tests)?;
    let listed = fs::read_to_string(listed)?;
    let mut source = String::new();
    let mut expected = Vec::new();
    for (texts, code) in listed.lines().filter_map(|line| line.split_once('\t')) {
        let words = code.as_bytes().chunks(8);
        for (text, word) in texts.split("; ").zip(words) {
            let is_branch = ["b", "cb", "ret", "udf"].iter().any(|it| text.starts_with(it));
            if !is_branch {
                source.push_str(text);
                source.push('\n');
                expected.push((text, String::from_utf8_lossy(word).into_owned()));
            }
        }
    }
    let (assembly, object, binary) =
        (folder.join("all.s"), folder.join("all.o"), folder.join("all.bin"));
    fs::write(&assembly, source)?;
    let mut assembler = Command::new("llvm-mc");
    assembler.args(["--triple=aarch64", "--filetype=obj", "-o"]).arg(&object).arg(&assembly);
    succeed(&mut assembler)?;
    let mut extract = Command::new("llvm-objcopy");
    succeed(extract.args(["-O", "binary", "-j", ".text"]).arg(&object).arg(&binary))?;
    let found = fs::read(binary)?;
    ensure!(found.len() == 4 * expected.len(), "the assembler wrote {} bytes", found.len());
    for ((text, ours), theirs) in expected.iter().zip(found.chunks(4)) {
        let theirs: String = theirs.iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(*ours == theirs, "`{text}` is {ours} here, and {theirs} for LLVM");
    }
    say(&format!("{} encodings are those of LLVM", expected.len()));
    ensure!(expected.len() >= ENCODINGS_MIN, "{ENCODINGS_MIN} are expected");
    Ok(())
}

/// Cargo in a folder, for [`EMULATED`].
fn emulated(command: &str, folder: &Path) -> Command {
    let mut cargo = cargo_command();
    cargo.args([command, "--target", EMULATED]).current_dir(folder);
    let key = EMULATED.to_uppercase().replace('-', "_");
    cargo.env(format!("CARGO_TARGET_{key}_LINKER"), LINKER);
    cargo.env(format!("CARGO_TARGET_{key}_RUNNER"), format!("qemu-aarch64 -L {ROOT}"));
    cargo
}

/// Installs a target's standard library, unless it is there.
pub(crate) fn has_target(target: &str) -> bool {
    succeeds(Command::new("rustup").args(["--quiet", "target", "add", target]))
}

/// Whether programs for [`EMULATED`] can be built and run here.
pub(crate) fn is_emulated() -> bool {
    is_linkable() && are_installed(EMULATION)
}

/// Whether programs for [`EMULATED`] can be built here.
pub(crate) fn is_linkable() -> bool {
    has_target(EMULATED) && are_installed(LINKAGE)
}

fn are_installed(files: &[(&str, &str)]) -> bool {
    let has = |(file, package): &(&str, &str)| Path::new(file).exists() || install_package(package);
    files.iter().all(has)
}
