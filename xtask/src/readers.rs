//! `cargo xtask readers`: what Selkie writes for other tools, as those tools read it.
//!
//! Two transactions are profiled: a failed one of a Rust program with inlined functions, and one that
//! invokes another program. What a reader finds must be what Selkie's receipts say.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    gdb, output, repository, say,
    steps::{built, succeed},
    toolchains::provide,
};

/// Profiles in every format that has a reader here.
const PROFILES: [&str; 4] =
    ["units.speedscope.json", "units.cpuprofile", "units.pb", "units.folded"];

/// Runs the chore. With `--ci`, without what has to be installed as a package of the system.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_ci = match arguments {
        [] => false,
        [flag] if flag == "--ci" => true,
        _ => bail!("usage: cargo xtask readers [--ci]"),
    };
    let folder = install()?;
    let selkie = built("selkie")?;
    let recorded = Recorded::new(&selkie, &folder)?;
    if !is_ci {
        ensure!(provide("go", "golang-go"), "Go is not installed");
        ensure!(provide("genhtml", "lcov"), "lcov is not installed");
        recorded.genhtml()?;
    }
    recorded.write_profiles()?;
    let node = |script: &str| {
        let mut node = Command::new("node");
        node.arg(script).arg(&recorded.folder).env("SELKIE", &selkie).current_dir(&folder);
        node
    };
    succeed(&mut node("profiles.mjs"))?;
    succeed(node("dap.mjs").arg(repository().join("examples/rust/payout/src/lib.rs")))
}

/// Copies the scripts to a folder below `target` and installs what they need there.
fn install() -> Result<PathBuf> {
    let folder = repository().join("target/readers");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(repository().join("tests/readers"))? {
        let path = entry?.path();
        fs::copy(&path, folder.join(path.file_name().context("a file has a name")?))?;
    }
    output(Command::new("npm").args(["install", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    Ok(folder)
}

/// Two recorded transactions.
struct Recorded<'a> {
    selkie: &'a Path,
    folder: PathBuf,
}

impl<'a> Recorded<'a> {
    fn new(selkie: &'a Path, readers: &Path) -> Result<Self> {
        let folder = readers.join("recorded");
        fs::create_dir_all(&folder)?;
        gdb::record(selkie, &folder)?;
        let mut pay = Command::new(selkie);
        pay.args(["run", "examples/pay/pay.s", "--input", "examples/pay/input.json"]);
        pay.arg("--save-replay").arg(folder.join("pay.replay")).current_dir(repository());
        output(&mut pay)?;
        Ok(Self { selkie, folder })
    }

    /// Returns what a command says of both transactions.
    fn say(&self, command: &str, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut selkie = Command::new(self.selkie);
        selkie.arg(command).args(["call.replay", "pay.replay"].map(|it| self.folder.join(it)));
        selkie.arg("--symbols").arg(&self.folder).args(arguments).current_dir(repository());
        Ok(output(&mut selkie)?.stdout)
    }

    /// Writes the profiles, and what Selkie says itself.
    fn write_profiles(&self) -> Result<()> {
        for name in PROFILES {
            self.say("profile", &["--libraries", "--output", &self.path(name)])?;
        }
        // Files for other tools have the functions of libraries.
        for (command, options) in
            [("profile", &["--json", "--libraries"][..]), ("trace", &["--json"])]
        {
            let json = self.say(command, options)?;
            fs::write(self.folder.join(format!("{command}.json")), json)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Compares the sums of genhtml, and the hits of one line, with Selkie's.
    fn genhtml(&self) -> Result<()> {
        let (file, pages) = (self.path("lcov.info"), self.folder.join("coverage"));
        self.say("coverage", &["--output", &file])?;
        let own: Value = serde_json::from_slice(&self.say("coverage", &["--json"])?)?;
        let mut genhtml = Command::new("genhtml");
        genhtml.args(["--branch-coverage", "--output-directory"]).arg(&pages).arg(&file);
        let printed = output(genhtml.current_dir(repository()))?.stdout;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        for what in ["lines", "functions", "branches"] {
            let number = |name: &str| own[what][name].as_u64().context("a number");
            let sum = format!("({} of {} {what})", number("hit")?, number("found")?);
            let line = printed.lines().find(|it| it.trim_start().starts_with(what));
            let line = line.with_context(|| format!("genhtml says nothing of {what}"))?.trim();
            ensure!(line.ends_with(&sum), "genhtml says `{line}`, and Selkie {sum}");
            say(&format!("genhtml       {line}"));
        }
        // The function that this line is in is called twice, and its source is in the page.
        let page = pages.join("rust/payout/src/lib.rs.gcov.html");
        let page = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let line = page.lines().find(|it| it.contains("let product = "));
        let line = line.context("the page has the source")?;
        ensure!(line.contains("          2 : "), "the line has another count: {line}");
        Ok(())
    }
}
