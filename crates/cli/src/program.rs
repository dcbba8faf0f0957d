//! Opens the programs of the command line; sources are assembled first.

use std::{io, path::Path};

use anyhow::{Context as _, Result, anyhow};
use selkie_asm::{DiskFiles, Severity};
use selkie_elf::NotSbpf;
use selkie_inspect::{DebugFile, Graph, NamedProgram, SourceMap, debug_file, demangle};
use selkie_isa::Version;
use selkie_isa::input;
use selkie_svm::{FeatureSet, Purpose, elf_environment};
use serde_json::json;

pub(crate) use selkie_client::read;

pub(crate) use crate::files::is_source;
use crate::{
    args::AssemblerArgs,
    render::count,
    ui::{Advise as _, Ui},
};

/// A program: an ELF file, or an assembled source.
pub(crate) struct ProgramFile {
    /// The bytes of the ELF file.
    pub(crate) elf: Vec<u8>,
    /// The same program with symbols and line numbers: of the `.so.debug` beside it, or where programs
    /// are built.
    debug: Option<DebugFile>,
}

/// A failure whose errors were already shown.
pub(crate) struct Refused;

impl ProgramFile {
    /// Reads a program, or assembles a source and shows its diagnostics. Returns `Refused` if there
    /// are errors among them.
    pub(crate) fn open(
        ui: &mut Ui,
        path: &Path,
        assembler: &AssemblerArgs,
    ) -> Result<Result<Self, Refused>> {
        if is_source(path) {
            let assembled = assemble(path, assembler, true, false)?;
            return Ok(match show_diagnostics(ui, &assembled)? {
                Some(assembly) => Ok(Self { elf: assembly.to_elf(), debug: None }),
                None => Err(Refused),
            });
        }
        let elf = read(path)?;
        let debug = debug_file(path, &elf);
        Ok(Ok(Self { elf, debug }))
    }

    /// Returns the ELF file with symbols and line numbers, if there is one, else the program itself.
    pub(crate) fn with_debug_info(&self) -> &[u8] {
        self.debug.as_ref().map_or(&self.elf, |it| &it.bytes)
    }

    /// Returns the path of the file with debug information, if that is not the program itself.
    pub(crate) fn debug_path(&self) -> Option<&Path> {
        self.debug.as_ref().map(|it| it.path.as_path())
    }

    /// Returns the map from code to functions and source lines.
    pub(crate) fn source_map(&self) -> SourceMap {
        SourceMap::load(self.with_debug_info())
    }
}

/// Reads standard input to its end.
pub(crate) fn read_stdin() -> Result<Vec<u8>> {
    input::stream(io::stdin().lock()).context("cannot read standard input")
}

/// Assembles a source file to a program.
pub(crate) fn assemble(
    path: &Path,
    args: &AssemblerArgs,
    debug_info: bool,
    strip: bool,
) -> Result<selkie_asm::Output> {
    let (source, options) = source(path, args, debug_info, strip)?;
    Ok(selkie_asm::assemble(&source, &options))
}

/// Assembles a source file to a relocatable object.
pub(crate) fn assemble_object(
    path: &Path,
    args: &AssemblerArgs,
    strip: bool,
) -> Result<selkie_asm::Output<selkie_asm::Object>> {
    let (source, options) = source(path, args, true, strip)?;
    Ok(selkie_asm::assemble_object(&source, &options))
}

/// Reads a source file and makes the options to assemble it.
fn source(
    path: &Path,
    args: &AssemblerArgs,
    debug_info: bool,
    strip: bool,
) -> Result<(String, selkie_asm::Options)> {
    let bytes = read(path)?;
    let source = String::from_utf8(bytes)
        .with_context(|| format!("{} is not text", path.display()))
        .advise("sources are UTF-8; the name of an ELF file ends in .so")?;
    let options = selkie_asm::Options {
        version: args.arch,
        name: path.display().to_string(),
        debug_info,
        strip,
        defines: args.defines.clone(),
        include_paths: args.include.clone(),
        files: std::sync::Arc::new(DiskFiles),
    };
    Ok((source, options))
}

/// Shows the assembler's diagnostics, and returns its program or object unless there are errors.
pub(crate) fn show_diagnostics<'a, T>(
    ui: &mut Ui,
    output: &'a selkie_asm::Output<T>,
) -> Result<Option<&'a T>> {
    if ui.json {
        if output.assembly.is_none() {
            let error = format!("{}, no program", count(output.error_count(), "error"));
            ui.object(&json!({ "error": error, "diagnostics": diagnostics_json(output) }))?;
        }
    } else {
        ui.aside(&output.render(true))?;
        let errors = output.error_count();
        if errors > 0 {
            ui.aside(&format!("{}, no program\n", count(errors, "error")))?;
        }
    }
    Ok(output.assembly.as_ref())
}

/// Returns the assembler's diagnostics as JSON.
pub(crate) fn diagnostics_json<T>(output: &selkie_asm::Output<T>) -> Vec<serde_json::Value> {
    let location = |span| {
        let location = output.sources.locate(span);
        json!({
            "file": location.file,
            "line": location.line,
            "column": location.column,
        })
    };
    output
        .diagnostics
        .iter()
        .map(|it| {
            let severity = match it.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let related = it
                .labels
                .iter()
                .map(|label| json!({ "location": location(label.span), "message": label.text }));
            json!({
                "severity": severity,
                "message": it.message,
                "label": it.label,
                "location": location(it.span),
                "related": related.collect::<Vec<_>>(),
                "notes": it.notes,
                "help": it.help,
            })
        })
        .collect()
}

/// The help for a file that is not a program.
pub(crate) const PROGRAMS_ARE_BUILT: &str =
    "build programs with `selkie build`; those of Rust projects are in target/deploy";

const RAW_HELP: &str = "use --raw for a file of raw instructions";

/// Opens a program for inspection: an ELF file, loadable or not, or raw instructions of the version
/// `bare`.
pub(crate) fn open_to_inspect(file: &ProgramFile, bare: Option<Version>) -> Result<NamedProgram> {
    let elf = &file.elf;
    let environment = elf_environment(FeatureSet::all(), Purpose::Execution);
    match bare {
        Some(version) => Ok(NamedProgram::bare(version, elf, &environment.syscalls)),
        None => match NotSbpf::detect(elf) {
            Some(reason) => Err(anyhow!("{reason}")).advise(RAW_HELP),
            None => NamedProgram::open_any(elf, &environment)
                .map(|it| it.with_names_of(file.with_debug_info()))
                .context("no instructions found in this file")
                .advise(RAW_HELP),
        },
    }
}

/// Opens a program to show its code, and warns if the loader would reject it. Of a source with errors these
/// are shown, and `Refused` is returned.
pub(crate) fn open_to_show(
    ui: &mut Ui,
    path: &Path,
    raw: bool,
    assembler: &AssemblerArgs,
) -> Result<Result<NamedProgram, Refused>> {
    let Ok(file) = ProgramFile::open(ui, path, assembler)? else { return Ok(Err(Refused)) };
    let program = open_to_inspect(&file, raw.then_some(assembler.arch))
        .with_context(|| path.display().to_string())?;
    if let Some(refusal) = program.refusal() {
        ui.warning(&format!("the loader rejects this file: {refusal}"))?;
    }
    Ok(Ok(program))
}

/// Returns the first slot of a function given by name, mangled or not, or by number.
pub(crate) fn find_function(graph: &Graph, name: &str) -> Result<u32> {
    let advice = || {
        let names = graph.functions.values().take(12).map(|it| demangle(it));
        format!("its functions are: {}", names.collect::<Vec<_>>().join(", "))
    };
    let function = graph.function(name);
    function.ok_or_else(|| anyhow!("the program has no function `{name}`")).advise(advice())
}
