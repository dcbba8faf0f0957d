//! Builds a program of one assembly source.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::BuildArgs;
use crate::{
    files,
    program::{assemble, diagnostics_json, is_source, show_diagnostics},
    render::count,
    ui::{Advise as _, DIM, GOOD, STRONG, Ui},
};

pub(super) fn build(ui: &mut Ui, source: &Path, args: &BuildArgs) -> Result<Value> {
    if !is_source(source) {
        return Err(anyhow::anyhow!("{} is neither a folder nor a source file", source.display()))
            .advise(
                "sources end in .s, .c, .cc or .cpp; to build a Rust project, name its folder",
            );
    }
    let output = assemble(source, &args.assembler, args.debug, args.strip)?;
    let assembly = if ui.json { output.assembly.as_ref() } else { show_diagnostics(ui, &output)? };
    let mut report = json!({
        "source": source.display().to_string(),
        "diagnostics": diagnostics_json(&output),
        "program": Value::Null,
    });
    let Some(assembly) = assembly else { return Ok(report) };
    let path = output_path(source, args, "so")?;
    let elf = args.with_section_names(assembly.to_elf());
    files::write(&path, &elf)?;
    let instructions = selkie_isa::insn::instructions(assembly.version, &assembly.text).count();
    report["program"] = json!(path.display().to_string());
    report["version"] = json!(assembly.version.to_string());
    report["bytes"] = json!(elf.len());
    report["instructions"] = json!(instructions);
    if !ui.json {
        writeln!(
            ui.out,
            "{GOOD}built{GOOD:#} {STRONG}{}{STRONG:#}  {DIM}{}, {}, {} \
             bytes{DIM:#}",
            path.display(),
            assembly.version,
            count(instructions, "instruction"),
            elf.len(),
        )?;
    }
    Ok(report)
}

/// Returns the output path of one source: as the arguments say, or beside the source.
pub(super) fn output_path(source: &Path, args: &BuildArgs, extension: &str) -> Result<PathBuf> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let beside = source.with_extension(extension);
    let Some(folder) = &args.out_dir else { return Ok(beside) };
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    match beside.file_name() {
        Some(name) => Ok(folder.join(name)),
        None => bail!("{} has no file name", source.display()),
    }
}
