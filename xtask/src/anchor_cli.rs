//! `cargo xtask clients anchor_cli`: Anchor's command, built from its published source, with `selkie` behind the
//! names that it calls.
//!
//! Projects are those that `anchor init` makes, tested as Anchor's documents say: with LiteSVM, with Mollusk, and
//! by JavaScript against what `surfpool` and `solana-test-validator` are in `PATH`. Nothing of Solana's is
//! installed. Anchor's command is kept in `target/anchor-cli`.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use anyhow::{Context as _, Result, ensure};

use crate::{output, published::Published, repository, say, toolchains::succeeds};

const ANCHOR: Published = Published {
    package: "anchor-cli",
    version: "1.2.2",
    command: "anchor",
    help: "on Debian, `apt install libudev-dev pkg-config libssl-dev`",
};
/// The Rust that the projects of `anchor init` pin.
const RUST: &str = "1.89.0";
/// What the projects ask for, and what npm has.
const CORE: [&str; 2] = ["\"^1.2.2\"", "\"1.2.0\""];

/// Runs the chore with a build of `selkie`.
pub(crate) fn run(selkie: &Path) -> Result<()> {
    let folder = repository().join("target/anchor-cli");
    ANCHOR.install(&folder)?;
    let toolchain =
        ["toolchain", "install", RUST, "--profile", "minimal", "-c", "rustfmt", "-c", "clippy"];
    ensure!(succeeds(Command::new("rustup").args(toolchain)), "Rust {RUST} cannot be installed");
    let desk = Desk::new(selkie, &folder)?;
    desk.litesvm()?;
    desk.mollusk()?;
    desk.javascript()?;
    Ok(fs::remove_dir_all(desk.work)?)
}

/// Where commands run: with Anchor's command and ours in `PATH`, and a home of their own.
struct Desk<'a> {
    selkie: &'a Path,
    work: PathBuf,
    path: OsString,
    /// Where the compilers are, which are found by the real home.
    rust: [(&'static str, PathBuf); 2],
}

impl<'a> Desk<'a> {
    fn new(selkie: &'a Path, folder: &Path) -> Result<Self> {
        // `anchor init` refuses folders within a Cargo project.
        let work = env::temp_dir().join(format!("selkie-anchor-{}", process::id()));
        let names = folder.join("names");
        // It is not there in the first run.
        let _ = fs::remove_dir_all(&names);
        let wallet = work.join(".config/solana");
        fs::create_dir_all(&wallet)?;
        output(Command::new(selkie).args(["keygen", "new"]).arg(wallet.join("id.json")))?;
        output(Command::new(selkie).arg("link-names").arg(&names))?;
        let old = env::var_os("PATH").unwrap_or_default();
        let path =
            env::join_paths([names, folder.join("bin")].into_iter().chain(env::split_paths(&old)))?;
        let home = PathBuf::from(env::var_os("HOME").context("there is no HOME")?);
        let of = |name, folder| (name, env::var_os(name).map_or(home.join(folder), Into::into));
        Ok(Self {
            selkie,
            work,
            path,
            rust: [of("CARGO_HOME", ".cargo"), of("RUSTUP_HOME", ".rustup")],
        })
    }

    /// Runs a command in a folder, and returns what it prints.
    fn run(&self, folder: &str, line: &str) -> Result<String> {
        say(&format!("{folder}: {line}"));
        let mut words = line.split_whitespace();
        let program = words.next().context("a command has a name")?;
        let program = if program == "selkie" { self.selkie } else { Path::new(program) };
        // Found in the `PATH` that the command has.
        let mut command = Command::new("env");
        command.arg(program).args(words).current_dir(self.work.join(folder));
        command.env("PATH", &self.path).env("HOME", &self.work).envs(self.rust.iter().cloned());
        // Within `cargo xtask` it names that of the repository.
        command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        let output = output(&mut command)?;
        Ok(String::from_utf8([output.stdout, output.stderr].concat())?)
    }

    /// Runs a command that prints a text.
    fn expect(&self, folder: &str, line: &str, text: &str) -> Result<()> {
        let printed = self.run(folder, line)?;
        ensure!(printed.contains(text), "`{line}` prints no `{text}`, but\n{printed}");
        Ok(())
    }

    /// The default template, whose test is one for LiteSVM 0.15.
    fn litesvm(&self) -> Result<()> {
        self.run("", "anchor init counter --no-install --no-git --package-manager npm")?;
        self.run("counter", "selkie switch --write")?;
        self.run("counter", "anchor build")?;
        self.expect("counter", "anchor test", "test test_initialize ... ok")?;
        self.expect("counter", "anchor coverage", "found 1 program(s) in traces")
    }

    /// The template for Mollusk 0.10, whose script is `cargo test-sbf`. It has no lock file.
    fn mollusk(&self) -> Result<()> {
        self.run("", "anchor init called --test-template mollusk --no-install --no-git --package-manager npm")?;
        self.run("called", "selkie switch --write")?;
        self.expect("called", "anchor test", "test test_initialize ... ok")
    }

    /// The template for Mocha, on each validator.
    fn javascript(&self) -> Result<()> {
        self.run("", "anchor init served --javascript --test-template mocha --no-install --no-git --package-manager npm")?;
        let manifest = self.work.join("served/package.json");
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, text.replace(CORE[0], CORE[1]))?;
        self.run("served", "npm install --no-audit --no-fund")?;
        self.run("served", "anchor build")?;
        for validator in ["surfpool", "legacy"] {
            self.expect(
                "served",
                &format!("anchor test --skip-build --validator {validator}"),
                "1 passing",
            )?;
        }
        Ok(())
    }
}
