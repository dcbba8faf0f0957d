//! `selkie build`.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::{
    args::BuildArgs,
    program::{assemble, findings, is_source, show_findings},
    render::count,
    ui::{Advise as _, DIM, GOOD, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &BuildArgs) -> Result<Status> {
    if args.output.is_some() && args.sources.len() > 1 {
        return Err(anyhow::anyhow!("--output names one file, but there are several sources"))
            .advise("use --out-dir");
    }
    let mut built = Vec::new();
    for source in &args.sources {
        built.push(build(ui, source, args)?);
    }
    let success = built.iter().all(|it| it["program"].is_string());
    if ui.json {
        ui.object(&json!({ "success": success, "programs": built }))?;
    }
    Ok(Status::of(success))
}

fn build(ui: &mut Ui, source: &Path, args: &BuildArgs) -> Result<Value> {
    if !is_source(source) {
        return Err(anyhow::anyhow!("{} is no assembler source", source.display()))
            .advise("sources end in .s");
    }
    let output = assemble(source, &args.assembler, args.debug, args.strip)?;
    let assembly = if ui.json { output.assembly.as_ref() } else { show_findings(ui, &output)? };
    let mut report = json!({
        "source": source.display().to_string(),
        "diagnostics": findings(&output),
        "program": Value::Null,
    });
    let Some(assembly) = assembly else { return Ok(report) };
    let path = output_path(source, args)?;
    let elf = assembly.to_elf();
    fs::write(&path, &elf).with_context(|| format!("cannot write {}", path.display()))?;
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

fn output_path(source: &Path, args: &BuildArgs) -> Result<PathBuf> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let beside = source.with_extension("so");
    let Some(folder) = &args.out_dir else { return Ok(beside) };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    match beside.file_name() {
        Some(name) => Ok(folder.join(name)),
        None => bail!("{} has no file name", source.display()),
    }
}
