//! `selkie new`.

use std::{io::Write as _, path::PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum, ValueHint};
use selkie_build::template::{self, NewProject};
use serde_json::json;

use crate::ui::{DIM, GOOD, STRONG, Status, Ui};

/// Create a project: a program that builds and runs, with a test
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie new counter              in assembly
  selkie new counter --lang c     in C; same as --c
  selkie new counter --lang rust  in Rust with pinocchio; same as --rust
  cd counter && selkie build && cargo test

The program increments a counter in an account; input.json is an instruction for `selkie run`.

The tests use the library `selkie`: that of the clone in which this command was built, if it is still there.
--library says where else it is:
  --library ../selkie              the folder of a clone; a relative one is written relative to the project
  --library https://HOST/selkie    the Git repository at an address, here or as ssh://, git@HOST: or file://
  --library crates.io              a release, once there is one")]
pub(crate) struct NewArgs {
    /// The folder to create; its last component is the program's name
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,

    /// The language [default: asm]
    #[arg(long, value_enum, value_name = "LANGUAGE", group = "language")]
    lang: Option<Language>,

    /// Use assembly
    #[arg(long, group = "language")]
    asm: bool,

    /// Use C
    #[arg(long, group = "language")]
    c: bool,

    /// Use Rust
    #[arg(long, group = "language")]
    rust: bool,

    /// Where tests find the library `selkie`: the folder of a clone, the address of a Git repository, or
    /// `crates.io` [default: the clone in which this command was built]
    #[arg(long, value_name = "DIR|URL", value_hint = ValueHint::DirPath)]
    library: Option<String>,
}

/// A programming language.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    Asm,
    C,
    Rust,
}

impl NewArgs {
    fn language(&self) -> template::Language {
        match (self.lang, self.c, self.rust) {
            (Some(Language::C), ..) | (None, true, _) => template::Language::C,
            (Some(Language::Rust), ..) | (None, _, true) => template::Language::Rust,
            (Some(Language::Asm), ..) | (None, ..) => template::Language::Assembly,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, args: &NewArgs) -> Result<Status> {
    let project = NewProject::new(&args.folder, args.language(), args.library.as_deref())?;
    let files = project.write()?;
    if ui.json {
        let language = project.language();
        ui.object(&json!({ "name": project.name(), "language": language, "files": files }))?;
    } else {
        show(ui, &project, args)?;
    }
    Ok(Status::Success)
}

/// Shows what was created and what to do next.
fn show(ui: &mut Ui, project: &NewProject<'_>, args: &NewArgs) -> Result<()> {
    let (folder, language) = (args.folder.display(), project.language());
    writeln!(
        ui.out,
        "{GOOD}created{GOOD:#} {STRONG}{folder}{STRONG:#}  {DIM}a counter in {language}{DIM:#}",
    )?;
    writeln!(ui.out, "   {DIM}next: cd {folder} && selkie build && cargo test{DIM:#}")?;
    if args.library.is_none() {
        let dependency = project.dependency();
        writeln!(
            ui.out,
            "   {DIM}the tests use selkie = {dependency}; --library names another{DIM:#}"
        )?;
    }
    Ok(())
}
