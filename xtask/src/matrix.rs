//! `cargo xtask matrix`: the user's own line, for programs of many kinds that fail in every way.
//!
//! The programs of `testdata/matrix` fail as the first byte of their data says. The line in which they do
//! so ends in a comment with the way's name. Each is built, and called by `selkie run`, and by the tests of
//! `testdata/matrix/host.rs` under `selkie test`. What `run` prints, what the receipt in the test's output
//! says, what `selkie test` reports and the line at which `selkie debug` opens must be that line.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{
    repository, say,
    steps::{built, cargo_command},
};

/// A kind of program.
struct Kind {
    name: &'static str,
    /// The source, in `testdata/matrix`.
    source: &'static str,
    made: Made,
}

/// How a program is made of its source.
enum Made {
    /// By `selkie build FILE` with these arguments.
    File(&'static [&'static str]),
    /// By `selkie build` in a project with these dependencies. The second text is what `SYSTEM` stands for
    /// in the source.
    Project(&'static str, &'static str),
}

const KINDS: &[Kind] = &[
    Kind { name: "assembly", source: "program.s", made: Made::File(&["--debug"]) },
    Kind { name: "clang-19", source: "program.c", made: Made::File(&["--toolchain", "clang-19"]) },
    Kind { name: "clang-22", source: "program.c", made: Made::File(&["--toolchain", "clang-22"]) },
    Kind { name: "zig", source: "program.c", made: Made::File(&["--toolchain", "zig"]) },
    Kind {
        name: "pinocchio",
        source: "pinocchio/lib.rs",
        made: Made::Project("pinocchio = \"0.11\"\npinocchio-system = \"0.6\"\n", ""),
    },
    Kind {
        name: "solana-program",
        source: "solana-program/lib.rs",
        made: Made::Project("solana-program = \"2.3\"\n", ""),
    },
    Kind {
        name: "anchor-0.32",
        source: "anchor/lib.rs",
        made: Made::Project(
            "anchor-lang = \"0.32\"\n",
            "ctx.accounts.system_program.to_account_info()",
        ),
    },
    Kind {
        name: "anchor-1.2",
        source: "anchor/lib.rs",
        made: Made::Project("anchor-lang = \"1.2\"\n", "ctx.accounts.system_program.key()"),
    },
];

/// The ways to fail, with the first byte of the data; the comment in the source, and the test of the host,
/// have the same name. A failed check is of a call that succeeds.
const WAYS: &[(&str, u8)] =
    &[("trap", 1), ("cpi", 2), ("error", 3), ("panic", 4), ("constraint", 5), ("ok", 0)];

/// The address of the programs.
const PROGRAM: &str = "8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff";

/// Runs the chore, for the kinds whose names begin as the arguments say, or for all.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_chosen = |kind: &&Kind| {
        arguments.is_empty() || arguments.iter().any(|it| kind.name.starts_with(it.as_str()))
    };
    let kinds: Vec<&Kind> = KINDS.iter().filter(is_chosen).collect();
    ensure!(!kinds.is_empty(), "no kind has one of these names");
    let selkie = built("selkie")?;
    write_host()?;
    let mut wrong = Vec::new();
    for kind in kinds {
        say(kind.name);
        let place = kind.build(&selkie).with_context(|| kind.name.to_owned())?;
        for line in place.check(&selkie)? {
            say(&format!("  {line}"));
            wrong.push(format!("{}: {line}", kind.name));
        }
    }
    ensure!(wrong.is_empty(), "{} places are wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The project whose tests call the programs.
fn host() -> PathBuf {
    repository().join("target/matrix/host")
}

fn write_host() -> Result<()> {
    let (host, data) = (host(), repository().join("testdata/matrix"));
    let library = repository().join("crates/selkie");
    let manifest = format!(
        "[package]\nname = \"matrix-host\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nselkie = {{ path = {:?} }}\n\n[workspace]\n",
        library.display().to_string()
    );
    for folder in ["src", "tests"] {
        fs::create_dir_all(host.join(folder))?;
    }
    fs::write(host.join("Cargo.toml"), manifest)?;
    fs::write(host.join("src/lib.rs"), "")?;
    fs::copy(data.join("host.rs"), host.join("tests/matrix.rs"))?;
    fs::copy(repository().join("Cargo.lock"), host.join("Cargo.lock"))?;
    Ok(())
}

/// A program that was built.
struct Place {
    folder: PathBuf,
    program: PathBuf,
    /// The text of the source, and the name of its file as places show it.
    source: String,
    file: &'static str,
}

impl Kind {
    /// Copies the source to a folder of its own and builds it there.
    fn build(&self, selkie: &Path) -> Result<Place> {
        let from = repository().join("testdata/matrix").join(self.source);
        let source = fs::read_to_string(&from).with_context(|| from.display().to_string())?;
        let folder = repository().join("target/matrix").join(self.name);
        match self.made {
            Made::File(arguments) => {
                fs::create_dir_all(&folder)?;
                fs::write(folder.join(self.source), &source)?;
                let mut build = Command::new(selkie);
                build.current_dir(&folder).args(["build", self.source]).args(arguments);
                succeed(&mut build)?;
                let program = folder.join("program.so");
                Ok(Place { folder, program, source, file: self.source })
            }
            Made::Project(dependencies, system) => {
                let source = source.replace("SYSTEM,", &format!("{system},"));
                fs::create_dir_all(folder.join("src"))?;
                fs::write(folder.join("src/lib.rs"), &source)?;
                fs::write(folder.join("Cargo.toml"), manifest(dependencies))?;
                // Shared, so that the standard library is compiled once.
                let target = repository().join("target/matrix/target");
                let mut build = Command::new(selkie);
                build.current_dir(&folder).arg("build").env("CARGO_TARGET_DIR", &target);
                succeed(&mut build)?;
                for name in ["matrix.so", "matrix.so.debug"] {
                    fs::copy(target.join("deploy").join(name), folder.join(name))?;
                }
                let program = folder.join("matrix.so");
                Ok(Place { folder, program, source, file: "src/lib.rs" })
            }
        }
    }
}

fn manifest(dependencies: &str) -> String {
    let features =
        ["no-entrypoint", "cpi", "idl-build", "anchor-debug", "custom-heap", "custom-panic"];
    let features = features.map(|it| format!("{it} = []\n")).concat();
    format!(
        "[package]\nname = \"matrix\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [lib]\ncrate-type = [\"cdylib\", \"lib\"]\n\n[features]\n{features}\n\
         [dependencies]\n{dependencies}\n[profile.release]\noverflow-checks = true\n\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\n\n[workspace]\n"
    )
}

impl Place {
    /// Returns the lines in which the program fails in a way; none if it never does. Optimised code keeps one
    /// of the lines with a condition and what it decides.
    fn lines(&self, way: &str) -> Vec<usize> {
        let ends = ["// ", "/* ", "; "].map(|begin| format!("{begin}{way}"));
        let is_it = |line: &str| {
            let line = line.trim_end().trim_end_matches("*/").trim_end();
            ends.iter().any(|it| line.ends_with(it.as_str()))
        };
        (1..).zip(self.source.lines()).filter(|(_, line)| is_it(line)).map(|(it, _)| it).collect()
    }

    /// Returns what is wrong, a line each.
    fn check(&self, selkie: &Path) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let (tests, receipts) = (self.test(selkie)?, self.receipts()?);
        for (way, first) in WAYS {
            let lines = self.lines(way);
            let expected: Vec<String> =
                lines.iter().map(|line| format!("{}:{line}", self.file)).collect();
            if expected.is_empty() {
                continue;
            }
            let mut is = |what: &str, found: Option<String>| {
                let found = found.unwrap_or_else(|| "nothing".to_owned()).replace("./", "");
                let is_it = |it: &String| found == *it || found.ends_with(&format!("/{it}"));
                if !expected.iter().any(is_it) {
                    wrong.push(format!(
                        "{way}: {what} names {found}, not {}",
                        expected.join(" or ")
                    ));
                }
            };
            let test = tests.iter().find(|it| it["name"] == **way);
            let Some(test) = test else { bail!("the test {way} did not fail") };
            if *way != "ok" {
                is("`selkie run`", self.run(selkie, *first)?);
                let start = format!("---- {way} stdout ----");
                let receipt = receipts.split_once(&start).map(|(_, rest)| rest);
                let receipt = receipt.and_then(|it| it.split("\n---- ").next());
                is("the receipt", receipt.and_then(shown_place));
            }
            let place = &test["transaction"]["place"];
            let reported = place["file"].as_str().zip(place["line"].as_u64());
            if *way != "ok" {
                is("`selkie test`", reported.map(|(file, line)| format!("{file}:{line}")));
            }
            let command = test["transaction"]["debug"].as_str().unwrap_or_default();
            is("the debugger", self.debug(selkie, command)?);
        }
        Ok(wrong)
    }

    /// Returns the place that `selkie run` shows.
    fn run(&self, selkie: &Path, first: u8) -> Result<Option<String>> {
        let data = "\"data\": [0, 0, 0, 0, 0, 0, 0, 0], \"lamports\": 1000000";
        let input = format!(
            "{{\"program_id\": \"{PROGRAM}\", \"instruction_data\": [{first}], \"accounts\": [\
             {{\"key\": \"11111111111111111111111111111115\", \"owner\": \"{PROGRAM}\", \
             \"is_writable\": true, {data}}},\
             {{\"key\": \"11111111111111111111111111111116\", \"is_writable\": true, \
             \"lamports\": 1000000000}},\
             {{\"key\": \"11111111111111111111111111111111\"}}]}}"
        );
        fs::write(self.folder.join("input.json"), input)?;
        let mut command = Command::new(selkie);
        command.current_dir(&self.folder).arg("run").arg(&self.program);
        let output = command.args(["--input", "input.json", "--color", "never"]).output()?;
        Ok(shown_place(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Runs the tests of the host, and returns what `selkie test` reports of those that fail.
    fn test(&self, selkie: &Path) -> Result<Vec<Value>> {
        let mut command = Command::new(selkie);
        command.current_dir(host()).args(["test", "--no-build", "--json"]);
        let output = self.in_host(&mut command).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let report = text.lines().last().and_then(|it| serde_json::from_str::<Value>(it).ok());
        let report =
            report.with_context(|| format!("`selkie test` prints no report: {output:?}"))?;
        Ok(report["failures"].as_array().cloned().unwrap_or_default())
    }

    /// Returns what the tests of the host print, with a receipt for each that fails.
    fn receipts(&self) -> Result<String> {
        let mut command = cargo_command();
        command.current_dir(host()).args(["test", "--quiet", "--no-fail-fast"]);
        let output = self.in_host(&mut command).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn in_host<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("MATRIX_PROGRAM", &self.program);
        command.env("CARGO_TARGET_DIR", repository().join("target/projects"))
    }

    /// Returns the place at which the debugger opens.
    fn debug(&self, selkie: &Path, command: &str) -> Result<Option<String>> {
        let arguments = command.strip_prefix("selkie ").context("no command debugs it")?;
        let mut debug = Command::new(selkie);
        debug.current_dir(host());
        let output =
            self.in_host(&mut debug).args(arguments.split(' ')).args(["-x", "bt"]).output()?;
        Ok(frame_place(&output))
    }
}

/// Returns file and line of the first place in a text: `--> FILE:LINE:COLUMN in FUNCTION`.
fn shown_place(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("--> ")?;
    let place = rest.lines().next()?.split([' ', ',']).next()?;
    file_and_line(place)
}

/// Returns file and line of `FILE:LINE` or `FILE:LINE:COLUMN`.
fn file_and_line(place: &str) -> Option<String> {
    let mut parts = place.split(':');
    Some(format!("{}:{}", parts.next()?, parts.next()?))
}

/// Returns file and line of the frame that a backtrace marks: `>#0   NAME at FILE:LINE:COLUMN`.
fn frame_place(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, place) = text.lines().find(|it| it.starts_with(">#"))?.rsplit_once(" at ")?;
    file_and_line(place.trim_start_matches("./"))
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    Ok(())
}
