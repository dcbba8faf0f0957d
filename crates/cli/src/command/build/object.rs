//! Builds objects of single sources, for `selkie link`.

use std::{io::Write as _, path::Path};

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::{BuildArgs, project::compile_source, source::output_path};
use crate::{
    files,
    program::{assemble_object, diagnostics_json, is_source, show_diagnostics},
    render::count,
    ui::{Advise as _, DIM, GOOD, STRONG, Ui},
};

pub(super) fn build(ui: &mut Ui, source: &Path, args: &BuildArgs) -> Result<Value> {
    let mut report = json!({
        "source": source.display().to_string(),
        "object": Value::Null,
    });
    let (bytes, description) = if is_source(source) {
        let output = assemble_object(source, &args.assembler, args.strip)?;
        report["diagnostics"] = json!(diagnostics_json(&output));
        let object =
            if ui.json { output.assembly.as_ref() } else { show_diagnostics(ui, &output)? };
        let Some(object) = object else { return Ok(report) };
        report["version"] = json!(object.version.to_string());
        let slots = count(object.slots as usize, "slot");
        (object.elf.clone(), format!("{}, {slots}", object.version))
    } else if selkie_build::project::is_c(source) {
        match compile_source(ui, source, args)? {
            Ok(bytes) => (bytes, "eBPF".to_owned()),
            Err(errors) => {
                report["errors"] = errors;
                return Ok(report);
            }
        }
    } else {
        return Err(anyhow!("{} is not a source file", source.display())).advise(
            "-c compiles sources, which end in .s, .c, .cc or .cpp; leave it out to build folders",
        );
    };
    let path = output_path(source, args, "o")?;
    files::write(&path, &bytes)?;
    report["object"] = json!(path.display().to_string());
    report["bytes"] = json!(bytes.len());
    if !ui.json {
        writeln!(
            ui.out,
            "{GOOD}built{GOOD:#} {STRONG}{}{STRONG:#}  {DIM}{description}, {} bytes{DIM:#}",
            path.display(),
            bytes.len(),
        )?;
    }
    Ok(report)
}
