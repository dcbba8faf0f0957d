//! `selkie link`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum, ValueHint};
use selkie_isa::Version;
use selkie_link::{Icf, Input, LinkError, Linked, Options, Statics, link};
use serde_json::{Value, json};

use crate::{
    args::AssemblerArgs,
    files,
    program::{assemble_object, is_source, read, show_diagnostics},
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

/// Link objects and archives from clang, zig, rustc or `selkie build -c` into a program
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  clang -target bpf -mcpu=v2 -O2 -g -c counter.c -o counter.o
  selkie link counter.o -o counter.so             for sBPF v3
  selkie link counter.o -o counter.so --arch v0 --strip
  selkie link *.o libhelpers.a -o program.so --map program.map
  selkie link main.o fast.s -o program.so         assembles sources first

With rustc: set \"linker\" and \"linker-flavor\": \"bpf\" in the target's JSON, and either install the linker
as `selkie-link` or add \"pre-link-args\": {\"bpf\": [\"link\"]}. The arguments that rustc passes to a BPF
linker are accepted.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct LinkArgs {
    /// Objects, assembly sources and archives; archive members are linked only if needed
    #[arg(required = true, value_name = "OBJECT", value_hint = ValueHint::FilePath)]
    objects: Vec<PathBuf>,

    /// The output file
    #[arg(short, long, value_name = "FILE", default_value = "program.so")]
    #[arg(value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// The sBPF version to link for: v0 or v3
    #[arg(short, long, value_name = "VERSION", default_value = "v3")]
    #[arg(value_parser = crate::args::parse_version, visible_alias = "sbpf-version")]
    arch: Version,

    /// The entry function
    #[arg(short, long, value_name = "NAME", default_value = selkie_isa::symbol::ENTRYPOINT)]
    entry: String,

    /// Omit symbols, debug information and everything else that only tools read
    #[arg(long)]
    strip: bool,

    /// Fold equal functions into one: all, or only those whose address does not matter
    #[arg(long, value_name = "WHICH", default_value = "safe")]
    icf: Folding,

    /// Write a link map: addresses, and the object each symbol came from
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    map: Option<PathBuf>,

    /// List all functions with their size and stack use
    #[arg(long)]
    functions: bool,

    /// Reject writable global variables instead of placing them in the heap
    #[arg(long)]
    no_statics: bool,

    /// Also search this folder for libraries and objects
    #[arg(short = 'L', value_name = "DIR", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,

    /// Link libNAME.a or libNAME.rlib from those folders
    #[arg(short = 'l', value_name = "NAME")]
    libraries: Vec<String>,

    // Arguments that rustc passes to BPF linkers. They are ignored: a program exports its entry
    // only, and code generation is finished before linking.
    #[arg(long, hide = true, value_name = "FILE")]
    export_symbols: Option<PathBuf>,
    #[arg(long, hide = true)]
    cpu: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    cpu_features: Option<String>,
    #[arg(short = 'O', hide = true)]
    optimize: Option<String>,
    #[arg(long, hide = true)]
    debug: bool,
}

/// Which equal functions are folded into one.
#[derive(Clone, Copy, ValueEnum, Debug)]
enum Folding {
    None,
    Safe,
    All,
}

impl From<Folding> for Icf {
    fn from(folding: Folding) -> Self {
        match folding {
            Folding::None => Self::None,
            Folding::Safe => Self::Safe,
            Folding::All => Self::All,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, args: &LinkArgs) -> Result<Status> {
    let mut paths = args.objects.iter().map(|it| find(it, args)).collect::<Vec<_>>();
    for library in &args.libraries {
        paths.push(find_library(library, args)?);
    }
    let mut files = Vec::with_capacity(paths.len());
    for path in &paths {
        match is_source(path) {
            false => files.push(read(path)?),
            true => match assemble(ui, path, args)? {
                Some(bytes) => files.push(bytes),
                None => return Ok(Status::Failure),
            },
        }
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let inputs: Vec<Input<'_>> =
        names.iter().zip(&files).map(|(name, bytes)| Input { name, bytes }).collect();
    let options = Options {
        version: args.arch,
        entry: args.entry.clone(),
        strip: args.strip,
        statics: if args.no_statics { Statics::Refuse } else { Statics::Heap },
        icf: args.icf.into(),
    };
    match link(&inputs, &options) {
        Ok(linked) => accept(ui, args, &linked),
        Err(errors) => refuse(ui, &errors),
    }
}

/// Assembles a source; `None` if it has errors, which were shown.
fn assemble(ui: &mut Ui, path: &Path, args: &LinkArgs) -> Result<Option<Vec<u8>>> {
    let assembler = AssemblerArgs { arch: args.arch, include: Vec::new(), defines: Vec::new() };
    let output = assemble_object(path, &assembler, false)?;
    Ok(show_diagnostics(ui, &output)?.map(|object| object.elf.clone()))
}

/// Returns the path itself if it exists, otherwise its path in a folder of `-L` if it exists there.
fn find(path: &Path, args: &LinkArgs) -> PathBuf {
    let folders = args.folders.iter().filter(|_| !path.exists());
    let found = folders.map(|folder| folder.join(path)).find(|it| it.exists());
    found.unwrap_or_else(|| path.to_owned())
}

fn find_library(name: &str, args: &LinkArgs) -> Result<PathBuf> {
    let names = [format!("lib{name}.a"), format!("lib{name}.rlib")];
    let candidates = args.folders.iter().flat_map(|folder| names.iter().map(|it| folder.join(it)));
    candidates
        .into_iter()
        .find(|it| it.exists())
        .ok_or_else(|| anyhow!("library `{name}` not found"))
        .advise(format!("add the folder of {} or {} with -L", names[0], names[1]))
}

fn accept(ui: &mut Ui, args: &LinkArgs, linked: &Linked) -> Result<Status> {
    files::write(&args.output, &linked.elf)?;
    let debug = args.output.with_extension("so.debug");
    if let Some(bytes) = &linked.debug_elf {
        files::write(&debug, bytes)?;
    }
    if let Some(map) = &args.map {
        files::write(map, linked.map().as_bytes())?;
    }
    if ui.json {
        ui.object(&report(args, linked))?;
        return Ok(Status::Success);
    }
    writeln!(
        ui.out,
        "{GOOD}linked{GOOD:#} {STRONG}{}{STRONG:#}  {DIM}{}, {}, {} slots, {} bytes of data, {} \
         bytes{DIM:#}",
        args.output.display(),
        linked.version,
        count(linked.functions.len(), "function"),
        linked.slots(),
        linked.rodata_bytes,
        linked.elf.len(),
    )?;
    if linked.heap_bytes > 0 {
        let bytes = linked.heap_bytes;
        writeln!(
            ui.out,
            "   {DIM}writable globals use the first {bytes} bytes of the heap{DIM:#}"
        )?;
    }
    if linked.debug_elf.is_some() {
        writeln!(ui.out, "   {DIM}debug information: {}{DIM:#}", debug.display())?;
    }
    if args.functions {
        writeln!(ui.out, "{DIM}  slots  stack  function{DIM:#}")?;
        for it in &linked.functions {
            writeln!(ui.out, "{:>7}  {:>5}  {}", it.slots, it.stack, it.name)?;
        }
    }
    Ok(Status::Success)
}

fn report(args: &LinkArgs, linked: &Linked) -> Value {
    let functions = linked.functions.iter().map(|it| {
        json!({
            "name": it.name, "object": it.object, "pc": it.pc, "address": it.addr,
            "slots": it.slots, "slots_added": it.slots_added, "stack": it.stack,
        })
    });
    let data = linked.data.iter().map(|it| {
        json!({
            "name": it.name, "object": it.object, "address": it.addr, "bytes": it.size,
            "writable": it.is_writable,
        })
    });
    json!({
        "success": true,
        "program": args.output.display().to_string(),
        "version": linked.version.to_string(),
        "bytes": linked.elf.len(),
        "slots": linked.slots(),
        "read_only_bytes": linked.rodata_bytes,
        "heap_bytes": linked.heap_bytes,
        "functions": functions.collect::<Vec<_>>(),
        "data": data.collect::<Vec<_>>(),
    })
}

fn refuse(ui: &mut Ui, errors: &[LinkError]) -> Result<Status> {
    if ui.json {
        let error = format!("{}, no program", count(errors.len(), "error"));
        ui.object(&json!({ "error": error, "errors": errors_json(errors) }))?;
    } else {
        show_errors(ui, errors)?;
    }
    Ok(Status::Failure)
}

/// Returns link errors as JSON.
pub(crate) fn errors_json(errors: &[LinkError]) -> Vec<Value> {
    let error = |it: &LinkError| {
        json!({
            "message": it.message, "object": it.object, "section": it.section,
            "symbol": it.symbol, "offset": it.offset, "source": it.source, "kept_by": it.kept_by, "help": it.help,
        })
    };
    errors.iter().map(error).collect()
}

/// Shows link errors with their locations and help.
pub(crate) fn show_errors(ui: &mut Ui, errors: &[LinkError]) -> Result<()> {
    for it in errors {
        ui.aside(&format!("{BAD}error{BAD:#}{STRONG}: {}{STRONG:#}\n", it.message))?;
        if let Some(location) = it.location() {
            ui.aside(&format!(" --> {location}\n"))?;
        }
        if let Some(note) = it.note() {
            ui.aside(&format!("{NOTE}note{NOTE:#}: {note}\n"))?;
        }
        if let Some(help) = &it.help {
            ui.aside(&format!("{NOTE}help{NOTE:#}: {help}\n"))?;
        }
    }
    Ok(ui.aside(&format!("{}, no program\n", count(errors.len(), "error")))?)
}
