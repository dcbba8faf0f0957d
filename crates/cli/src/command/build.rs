//! `selkie build`.

mod object;
mod project;
mod report;
mod sizes;
mod source;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, Parser, ValueHint};
use serde_json::{Value, json};

use crate::{
    args::{AssemblerArgs, feature::FeatureArgs},
    render::count,
    ui::{Advise as _, Status, Ui},
};

/// Build programs from assembly, C or Rust
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie build                         builds the current folder to target/deploy/NAME.so
  selkie build programs/counter        builds the project in another folder
  selkie build --arch v0               for sBPF v0
  selkie build --toolchain clang-22    with this compiler instead of the best one found
  selkie build --toolchain official    with cargo build-sbf, where it is installed
  selkie build --idl                   also writes target/idl/NAME.json, of an Anchor program
  selkie build --sizes                 shows what makes the program large
  selkie build -- --features devnet    passes arguments to cargo
  selkie build hello.s                 builds one source to hello.so beside it
  selkie build hello.c -o out.so
  selkie build -c fast.s               assembles to fast.o, an object for `selkie link`

A project is a Cargo package with a library, or a folder with sources: src/*.s, and *.c, *.cc or *.cpp. C requires
clang 22 or zig, or an older clang down to 16; Rust requires a toolchain with LLVM 23 and the standard library's source.
If a tool is missing, the error says how to install it.

NAME.so.debug, with symbols and line numbers for tools, and the key of the program's address are written
beside target/deploy/NAME.so. An unchanged project is not recompiled.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct BuildArgs {
    /// Project folders, or sources: .s, .c, .cc, .cpp [default: the current folder]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,

    /// The output file, for a single program
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with = "out_dir")]
    output: Option<PathBuf>,

    /// The output folder [default: target/deploy; for a source, its folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out_dir: Option<PathBuf>,

    /// Compile the sources to objects for `selkie link`, NAME.o, without linking
    #[arg(short = 'c', long = "object")]
    object: bool,

    #[command(flatten)]
    assembler: AssemblerArgs,

    /// Include symbols and line numbers in the program itself
    #[arg(short = 'g', long)]
    debug: bool,

    /// Omit symbols and everything else that only tools read; the default for projects without -g
    #[arg(long, conflicts_with = "debug")]
    strip: bool,

    /// Give the program a table of section names, which some tools expect; `cargo build-sbf` does
    #[arg(long)]
    section_names: bool,

    /// The compiler: clang-22, zig, 1.99.0, nightly or a path; `official` runs `cargo build-sbf`
    #[arg(short, long, value_name = "NAME")]
    toolchain: Option<String>,

    /// Build only this package of a workspace
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// Reject writable global variables instead of placing them in the heap
    #[arg(long)]
    no_statics: bool,

    #[command(flatten)]
    features: FeatureArgs,

    /// Also write the IDL of an Anchor program, to target/idl/NAME.json
    #[arg(long, conflicts_with = "output")]
    idl: bool,

    /// Show which crates and functions take how many bytes, and what keeps them in the program
    #[arg(long)]
    sizes: bool,

    /// List all functions, not only the largest
    #[arg(long)]
    functions: bool,

    /// Build even if nothing changed
    #[arg(short, long)]
    force: bool,

    /// Print the commands being run
    #[arg(short, long)]
    verbose: bool,

    /// Arguments for what compiles: cargo, or clang for programs in C, as in `-- -O1`
    #[arg(last = true, id = "everything after --", value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

impl BuildArgs {
    /// Gives a program names of sections if they were asked for and it has none.
    fn with_section_names(&self, elf: Vec<u8>) -> Vec<u8> {
        let named = self.section_names.then(|| selkie_elf::with_section_names(&elf)).flatten();
        named.unwrap_or(elf)
    }
}

/// The arguments as a command of their own.
#[derive(Parser, Debug)]
struct Alone {
    #[command(flatten)]
    args: BuildArgs,
}

/// Builds what is stale of a folder's programs, before their tests. A program that another tool has built
/// is left as it is, and so is a folder without programs. Returns whether all were built.
pub(crate) fn for_tests(ui: &mut Ui, folder: &Path) -> Result<bool> {
    let args = Alone::try_parse_from(["build"])?.args;
    let built = project::build_for_tests(ui, folder, args)?;
    Ok(built.iter().all(|it| it["program"].is_string()))
}

/// Builds by the arguments of a command line, and returns what `--json` shows of each program.
pub(crate) fn by_arguments(ui: &mut Ui, arguments: &[String]) -> Result<Vec<Value>> {
    let words = std::iter::once("build").chain(arguments.iter().map(String::as_str));
    build(ui, &Alone::try_parse_from(words)?.args)
}

pub(crate) fn run(ui: &mut Ui, args: &BuildArgs) -> Result<Status> {
    let built = build(ui, args)?;
    let (list, one) = if args.object { ("objects", "object") } else { ("programs", "program") };
    let success = built.iter().all(|it| it[one].is_string());
    if ui.json {
        let failed = built.iter().filter(|it| !it[one].is_string()).count();
        let mut report = json!({ "success": success, list: built });
        if failed > 0 {
            report["error"] = json!(format!("{} not built", count(failed, one)));
        }
        ui.object(&report)?;
    }
    Ok(Status::of(success))
}

/// Builds each of the paths.
fn build(ui: &mut Ui, args: &BuildArgs) -> Result<Vec<Value>> {
    if args.output.is_some() && args.paths.len() > 1 {
        return Err(anyhow!("--output names one file, but several sources are given"))
            .advise("use --out-dir");
    }
    let here = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() { here.as_slice() } else { &args.paths };
    let mut built = Vec::new();
    for path in paths {
        if args.object {
            built.push(object::build(ui, path, args)?);
        } else if path.is_dir() {
            built.extend(project::build_folder(ui, path, args)?);
        } else if selkie_build::project::is_c(path) {
            built.push(project::build_source(ui, path, args)?);
        } else {
            built.push(source::build(ui, path, args)?);
        }
    }
    Ok(built)
}
