//! `selkie new`.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueHint};
use serde_json::json;

use crate::ui::{Advise as _, DIM, GOOD, STRONG, Status, Ui};

/// Begin a project: a program that builds, runs, and has a test
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie new counter              in assembly
  selkie new counter --c          in C
  selkie new counter --rust       in Rust, with pinocchio
  cd counter && selkie build && cargo test

The program counts in an account; input.json has what `selkie run` gives it.")]
pub(crate) struct NewArgs {
    /// The folder to make; its last part is the program's name
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,

    /// In assembly, unless something else is said
    #[arg(long, group = "language")]
    asm: bool,

    /// In C
    #[arg(long, group = "language")]
    c: bool,

    /// In Rust
    #[arg(long, group = "language")]
    rust: bool,

    /// The folder of the library `selkie`, for tests [default: that of this Selkie's source]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    library: Option<PathBuf>,
}

/// What a project in one language is made of.
struct Template {
    language: &'static str,
    /// Where the program is, with `NAME` for its name, and what is in it.
    source: (&'static str, &'static str),
    manifest: &'static str,
    /// What runs it without building a project.
    run: &'static str,
}

const ASSEMBLY: Template = Template {
    language: "assembly",
    source: ("src/NAME.s", include_str!("../../../../examples/counter/counter.s")),
    manifest: include_str!("new/tests.toml.txt"),
    run: "src/NAME.s",
};

const C: Template = Template {
    language: "C",
    source: ("src/NAME.c", include_str!("../../../../examples/c/counter.c")),
    manifest: include_str!("new/tests.toml.txt"),
    run: "target/deploy/NAME.so",
};

const RUST: Template = Template {
    language: "Rust",
    source: ("src/lib.rs", include_str!("../../../../examples/rust/counter/src/lib.rs")),
    manifest: include_str!("new/rust.toml.txt"),
    run: "target/deploy/LIB.so",
};

const INPUT: &str = include_str!("../../../../examples/counter/input.json");
const TEST: &str = include_str!("new/test.rs.txt");
const README: &str = include_str!("new/README.md.txt");

pub(crate) fn run(ui: &mut Ui, args: &NewArgs) -> Result<Status> {
    let template = match (args.c, args.rust) {
        (true, _) => C,
        (_, true) => RUST,
        _ => ASSEMBLY,
    };
    let name = name(&args.folder)?;
    if args.folder.exists() {
        let message = format!("{} is there already", args.folder.display());
        return Err(anyhow!(message)).advise("name a folder that is not there");
    }
    // As cargo calls libraries.
    let program = if args.rust { name.replace('-', "_") } else { name.to_owned() };
    let fill = |text: &str| {
        text.replace("NAME", name)
            .replace("LIB", &program)
            .replace("LANGUAGE", template.language)
            .replace("DEPENDENCY", &dependency(args))
            .replace("selkie build examples/c/counter.c -o counter.so", "selkie build")
            .replace("selkie run counter.so", &format!("selkie run target/deploy/{program}.so"))
            .replace("examples/counter/counter.s", &format!("src/{name}.s"))
            .replace("examples/counter/input.json", "input.json")
    };
    let readme = README.replace("PROGRAM", template.run);
    let files = [
        (template.source.0, template.source.1),
        ("Cargo.toml", template.manifest),
        ("tests/program.rs", TEST),
        ("input.json", INPUT),
        ("README.md", &readme),
        (".gitignore", "target\n"),
    ];
    let mut written = Vec::new();
    for (path, text) in files {
        let path = args.folder.join(fill(path));
        write(&path, &fill(text))?;
        written.push(path.display().to_string());
    }
    if ui.json {
        ui.object(&json!({ "name": name, "language": template.language, "files": written }))?;
        return Ok(Status::Success);
    }
    let folder = args.folder.display();
    writeln!(
        ui.out,
        "{GOOD}began{GOOD:#} {STRONG}{folder}{STRONG:#}  {DIM}a counter in {}{DIM:#}",
        template.language
    )?;
    writeln!(ui.out, "   {DIM}next: cd {folder} && selkie build && cargo test{DIM:#}")?;
    Ok(Status::Success)
}

/// The name of the program: one that a crate may have.
fn name(folder: &Path) -> Result<&str> {
    let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(anyhow!("`{name}` cannot be the name of a program"))
        .advise("names begin with a letter and are made of letters, digits, - and _")
}

/// How the manifest names the library that tests use.
fn dependency(args: &NewArgs) -> String {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("selkie");
    let library = args.library.clone().or_else(|| beside.is_dir().then_some(beside));
    match library.and_then(|it| it.canonicalize().ok()) {
        Some(folder) => format!("{{ path = {:?} }}", folder.display().to_string()),
        None => format!("{:?}", env!("CARGO_PKG_VERSION")),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
