//! `cargo xtask wild`: builds programs of other authors as their packages carry them.
//!
//! Programs are rows of `xtask/wild.tsv`: packages of crates.io; folders of `testdata/wild`,
//! whose version is `-`, where `FOLDER/PACKAGE` names a member of a workspace; and folders of repositories at
//! a commit, as `OWNER/NAME/FOLDER`. Each is copied or cloned, built for V3,
//! built again as after a change, linked for V0, and run if the row says how. Beside it the same
//! instruction runs on the official binary, if a package has it: the row names package, version and
//! path. The results are the table of `docs/rust-programs.md`, where rows that are not measured
//! again stay as they are.
//!
//! `--with SELKIE` measures with that command instead of a release build, for work on the chore or
//! the linker: the seconds of the table stay as they are, too. `--checkouts FOLDER` before it names a
//! folder with the repositories, which are cloned from GitHub otherwise.
//!
//! `--run` tests those of `testdata/wild`.

mod lifecycles;
mod rows;

use std::{collections::BTreeMap, fs, path::Path, process::Command, time::SystemTime};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{checkouts, output, repository, say};
use rows::{Row, rows};

const DOCUMENT: &str = "docs/rust-programs.md";
/// The lines of the document between which the table is.
const BEGIN: &str = "<!-- `cargo xtask wild` writes this table. -->\n";
const END: &str = "<!-- end of the table -->\n";

/// The columns of a result after the name and what it is, as text: bytes for V3 and V0, compute
/// units, those of the official binary, seconds of the first build and of another one, failure.
type Measured = [String; 7];

/// The columns with seconds.
const SECONDS: [usize; 2] = [4, 5];

/// Runs the chore for all programs, or for those that are named, or only writes the table.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let rows = rows(&fs::read_to_string(repository().join("xtask/wild.tsv"))?)?;
    let folder = repository().join("target/wild");
    if let [flag, rest @ ..] = arguments
        && flag == "--run"
    {
        return lifecycles::run(&rows, &folder, rest);
    }
    let document = repository().join(DOCUMENT);
    let mut results = read_table(&fs::read_to_string(&document)?);
    if arguments != ["--table"] {
        let (checkouts, arguments) = checkouts::option(arguments);
        let (given, named) = match arguments {
            [flag, path, named @ ..] if flag == "--with" => (Some(path), named),
            named => (None, named),
        };
        let is_named = |it: &&Row| named.is_empty() || named.iter().any(|name| it.is_named(name));
        let chosen: Vec<&Row> = rows.iter().filter(is_named).collect();
        ensure!(
            !chosen.is_empty(),
            "usage: cargo xtask wild [--table | --run | [--checkouts FOLDER] [--with SELKIE] \
             PACKAGE[@VERSION]...], of xtask/wild.tsv"
        );
        match given {
            Some(path) => copy_selkie(Path::new(path), &folder)?,
            None => provide_selkie(&folder)?,
        }
        let mut missing = 0;
        for row in chosen {
            let line = match measure(row, &folder, checkouts.as_deref()) {
                Ok(mut measured) => {
                    if given.is_some() {
                        let former = results.get(&row.name());
                        for column in SECONDS {
                            measured[column] =
                                former.map(|it| it[column].clone()).unwrap_or_default();
                        }
                    }
                    let line = measured.join(", ");
                    results.insert(row.name(), measured);
                    write_table(&document, &rows, &results)?;
                    line
                }
                Err(error) => {
                    missing += 1;
                    format!("not measured: {error:#}")
                }
            };
            say(&format!("{}: {line}", row.name()));
        }
        ensure!(missing == 0, "{missing} programs were not measured");
    }
    write_table(&document, &rows, &results)
}

fn write_table(document: &Path, rows: &[Row], results: &Results) -> Result<()> {
    let text = fs::read_to_string(document)?;
    fs::write(document, with_table(&text, &table(rows, results))?)?;
    Ok(())
}

/// Builds the command, and copies it, so that the repository may be changed in the meantime.
fn provide_selkie(folder: &Path) -> Result<()> {
    let arguments = ["build", "--quiet", "--release", "--package", "selkie-cli"];
    output(Command::new("cargo").args(arguments))?;
    copy_selkie(&repository().join("target/release/selkie"), folder)
}

fn copy_selkie(selkie: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    // A former one may be running.
    let _ = fs::remove_file(folder.join("selkie"));
    let copied = fs::copy(selkie, folder.join("selkie"));
    copied.with_context(|| format!("cannot copy {}", selkie.display()))?;
    Ok(())
}

/// Builds a program for each version, and runs it.
fn measure(row: &Row, folder: &Path, checkouts: Option<&Path>) -> Result<Measured> {
    let source = row.source(folder, checkouts)?;
    forget_others(&source, folder)?;
    let (built, first) = timed(|| build(row, &source, "v3", folder))?;
    let error = |it: &Value| it["error"].as_str().map(str::to_owned);
    if let Some(error) = error(&built) {
        return Ok(["", "", "", "", &first, "", &error].map(str::to_owned));
    }
    touch_libraries(&source)?;
    let (_, again) = timed(|| build(row, &source, "v3", folder))?;
    let called = called(row, &built);
    let older = build(row, &source, "v0", folder)?;
    let bytes = |it: &Value| it["bytes"].as_u64().map(|it| it.to_string()).unwrap_or_default();
    let failed = called.as_ref().err().map(|it| format!("{it:#}").replace(['\t', '\n'], " "));
    let older_error = error(&older).map(|it| format!("V0: {it}"));
    let note = [failed, older_error].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let [units, official] = called.unwrap_or_default();
    Ok([bytes(&built), bytes(&older), units, official, first, again, note])
}

/// Runs the row's call, if it has one: returns the compute units of what was built, and those of the
/// official binary.
fn called(row: &Row, built: &Value) -> Result<[String; 2]> {
    let Some(call) = &row.call else { return Ok(<_>::default()) };
    let program = built["program"].as_str().context("the report names no program")?;
    let ours = units(Path::new(program), call)?;
    let official = row.official.as_ref();
    let official = official.map(|it| units(&it.file()?, call).context("the official binary"));
    Ok([ours, official.transpose()?.unwrap_or_default()])
}

/// Runs a build. Also returns the seconds that processors worked for it.
fn timed(build: impl FnOnce() -> Result<Value>) -> Result<(Value, String)> {
    let begun = processor_ticks()?;
    let built = build()?;
    Ok((built, ((processor_ticks()? - begun) / TICKS_PER_SECOND).to_string()))
}

/// The unit of times in `/proc`: Linux has the same one for all programs.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the processor time of all processes that this one started and that have ended, which
/// does not depend on what else the machine does.
fn processor_ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat").context("times need Linux")?;
    // The name of the program, in parentheses, may contain spaces; `cutime` and `cstime` are the
    // 14th and 15th of the fields behind it.
    let (_, fields) = stat.rsplit_once(')').context("the process has no name")?;
    fields.split_whitespace().skip(13).take(2).map(|it| Ok(it.parse::<u64>()?)).sum()
}

/// Makes the roots of libraries look changed, so that cargo compiles the program again.
fn touch_libraries(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            touch_libraries(&path)?;
        } else if path.ends_with("lib.rs") {
            fs::File::options().append(true).open(&path)?.set_modified(now())?;
        }
    }
    Ok(())
}

/// Removes the library that another version of a package may have left under the same name: cargo
/// would take it for this one's.
fn forget_others(source: &Path, folder: &Path) -> Result<()> {
    let Ok(manifest) = fs::read_to_string(source.join("Cargo.toml")) else { return Ok(()) };
    let name = |line: &str| Some(line.strip_prefix("name = \"")?.strip_suffix('"')?.to_owned());
    let names = manifest.lines().filter_map(name).map(|it| it.replace('-', "_"));
    let built = folder.join("cargo/sbpf-selkie-solana/release/deps");
    for name in names {
        let library = built.join(format!("lib{name}.so"));
        // Says of which source the library is.
        let origin = folder.join("origins").join(&name);
        let source = source.as_os_str().as_encoded_bytes();
        if library.exists() && fs::read(&origin).ok().as_deref() != Some(source) {
            fs::remove_file(library)?;
        }
        fs::create_dir_all(folder.join("origins"))?;
        fs::write(origin, source)?;
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "cargo compares the times of files")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Runs `selkie build` and returns what it reports of the program, or an `error`.
fn build(row: &Row, source: &Path, arch: &str, folder: &Path) -> Result<Value> {
    let mut command = selkie();
    command.args(["--json", "build", "--force", "--arch", arch]).arg(source);
    command.args(row.member().map(|it| ["--package", it]).into_iter().flatten());
    if !row.features.is_empty() {
        command.args(["--", "--features", &row.features]);
    }
    command.env("CARGO_TARGET_DIR", folder.join("cargo"));
    let output = command.output().context("cannot start selkie")?;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let program = report["programs"][0].clone();
    if let Some(path) = program["program"].as_str() {
        // Programs of other versions have the same name.
        let name = format!("{}.{arch}.so", row.file_stem());
        fs::copy(repository().join(path), folder.join("sources").join(name))?;
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let errors = said.lines().map(plain).filter(|it| it.starts_with("error"));
    let message = |it: &Value| it.as_str().map(str::to_owned);
    // A process that was killed says nothing, and is no result.
    let reason = message(&program["errors"][0]["message"])
        .or_else(|| errors.into_iter().next())
        .or_else(|| message(&report["error"]))
        .with_context(|| format!("selkie build: {}: {said}", output.status))?;
    let is_of_machine = MACHINE_FAILURES.iter().any(|it| reason.contains(it));
    ensure!(!is_of_machine, "{reason}");
    Ok(serde_json::json!({ "error": reason.replace(['\t', '\n'], " ") }))
}

/// Words of errors that say nothing of the program: a full disk, no memory, no network.
const MACHINE_FAILURES: &[&str] =
    &["No space left on device", "signal: 9", "Cannot allocate memory", "failed to download"];

/// Removes escape sequences for colours.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |it| it.1))
}

/// Runs a program on both engines, and returns the compute units that it uses on each.
fn units(program: &Path, call: &str) -> Result<String> {
    let run = |engine: &str| -> Result<Value> {
        let mut command = selkie();
        command.args(["--json", "run", "--engine", engine]).arg(program).args(call.split(' '));
        let output = command.output().context("cannot start selkie")?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(report["success"] == true, "fails: {}", report["error"]);
        Ok(report)
    };
    let (interpreted, compiled) = (run("interpreter")?, run("jit")?);
    let is_same = |name: &&str| interpreted[name] == compiled[name];
    let differs = ["logs", "r0", "compute_units", "error"].iter().find(|it| !is_same(it));
    ensure!(differs.is_none(), "the engines disagree: {}", differs.unwrap_or(&""));
    Ok(interpreted["compute_units"].to_string())
}

fn selkie() -> Command {
    let mut command = Command::new(repository().join("target/wild/selkie"));
    command.current_dir(repository());
    command
}

/// What was measured of a program, by its name in the table.
type Results = BTreeMap<String, Measured>;

/// Reads the results from the table in the document.
fn read_table(document: &str) -> Results {
    let table = document.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    // A blank line and the two lines of the heading come first.
    let lines = table.map_or("", |(table, _)| table).lines().skip(3);
    let read = |line: &str| {
        let line = line.strip_prefix("| ")?.strip_suffix('|')?.replace("\\|", "\t");
        let columns: Vec<String> = line.split('|').map(|it| it.trim().replace('\t', "|")).collect();
        let [name, _, v3, v0, units, official, first, again, failure, ..] = columns.as_slice()
        else {
            return None;
        };
        let [units, official] = [units, official].map(|it| it.split(' ').next().unwrap_or(""));
        let measured = [v3, v0, units, official, first, again, failure];
        Some((name.clone(), measured.map(|it| it.to_string())))
    };
    lines.filter_map(read).collect()
}

/// Makes the table of the programs that were measured, in the order of the rows.
fn table(rows: &[Row], results: &Results) -> String {
    let heading = "| program | what it is | bytes, V3 | bytes, V0 | compute units | official units | first build, s | rebuild, s | failure |\n\
                   |---|---|---|---|---|---|---|---|---|\n";
    let lines = rows.iter().filter_map(|row| {
        let name = row.name();
        let measured = results.get(&name)?;
        let call = row.call.as_deref().unwrap_or_default();
        let [v3, v0, units, official, first, again, failure] = measured;
        let with = |units: &str, what: &str| match units {
            "" => String::new(),
            units => format!("{units} (`{what}`)"),
        };
        let binary = row.official.as_ref().and_then(|it| it.path.file_name());
        let binary = binary.map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let (units, official) = (with(units, call), with(official, &binary));
        let failure = failure.replace('|', "\\|");
        let kind = &row.kind;
        Some(format!(
            "| {name} | {kind} | {v3} | {v0} | {units} | {official} | {first} | {again} | {failure} |\n"
        ))
    });
    heading.to_owned() + &lines.collect::<String>()
}

/// Replaces the table in the document.
fn with_table(document: &str, table: &str) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).context("the document has no table")?;
    let (_, after) = rest.split_once(END).context("the table of the document has no end")?;
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_rows_and_read_again() {
        let rows = rows(
            "heading\nb\t1.0.0\tSPL\t--data u8:1\tsvm 0.1.0 elf/b.so\t\na\t-\tAnchor\t\t\t\nc\t2.0.0\t\t\t\t\n",
        );
        let rows = rows.expect("the rows are well-formed");
        let failed = ["", "", "", "", "7", "", "error: a | b"].map(str::to_owned);
        let built = ["10", "12", "30", "40", "5", "2", ""].map(str::to_owned);
        let results = Results::from([
            ("`testdata/wild/a`".to_owned(), failed),
            ("b 1.0.0".to_owned(), built),
        ]);
        let table = table(&rows, &results);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| b 1.0.0 | SPL | 10 | 12 | 30 (`--data u8:1`) | 40 (`b.so`) | 5 | 2 |  |",
                "| `testdata/wild/a` | Anchor |  |  |  |  | 7 |  | error: a \\| b |",
            ]
        );
        let document = format!("text\n{BEGIN}old\n{END}more\n");
        let made = with_table(&document, &table).expect("it has a table");
        assert_eq!(made, format!("text\n{BEGIN}\n{table}\n{END}more\n"));
        assert_eq!(read_table(&made), results);
    }

    #[test]
    fn colours_are_removed() {
        assert_eq!(plain("\u{1b}[1m\u{1b}[91merror\u{1b}[0m: no"), "error: no");
    }
}
