//! Sources and ELF files to programs, with diagnostics.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_asm::{
    Assembly, Diagnostic, Options, Output, Severity, Sources, Span, assemble as translate,
};
use selkie_isa::{
    Version,
    failure::{Failure, OrFailure as _},
    layout::SLOT_BYTES,
};
use serde_json::{Value, json};

/// The name of the source in diagnostics and debug information.
pub(crate) const NAME: &str = "program.s";

/// A program that a page gives.
pub(crate) struct Program {
    /// Its file; `None` if the source has errors.
    pub(crate) elf: Option<Vec<u8>>,
    /// Its source, unless the file was given.
    pub(crate) source: Option<String>,
    diagnostics: Vec<Value>,
    facts: Value,
}

impl Program {
    /// Returns the diagnostics, and what the program consists of.
    pub(crate) fn as_json(&self) -> Value {
        json!({ "diagnostics": self.diagnostics, "program": self.facts })
    }
}

/// Opens a file that was given, or assembles a source.
pub(crate) fn open(params: &Value) -> Result<Program, Failure> {
    if params.get("source").is_some() {
        return assemble(params);
    }
    let elf = bytes(&params["elf"])?;
    let facts = json!({ "bytes": elf.len() });
    Ok(Program { elf: Some(elf), source: None, diagnostics: Vec::new(), facts })
}

/// Assembles a source with debug information.
pub(crate) fn assemble(params: &Value) -> Result<Program, Failure> {
    let source = params["source"].as_str().ok_or("the source is not text")?;
    let version = params["version"].as_str().unwrap_or("v3").parse::<Version>().or_failure()?;
    let options =
        Options { version, name: NAME.to_owned(), debug_info: true, ..Options::default() };
    let Output { assembly, diagnostics, sources } = translate(source, &options);
    let diagnostics = diagnostics.iter().map(|it| diagnostic(it, &sources)).collect();
    let facts = assembly.as_ref().map_or(Value::Null, facts);
    let elf = assembly.map(|it| it.to_elf());
    Ok(Program { elf, source: Some(source.to_owned()), diagnostics, facts })
}

/// Returns the file of a source without errors in base64.
pub(crate) fn file(params: &Value) -> Result<Value, Failure> {
    let elf = assemble(params)?.elf.ok_or("the source has errors")?;
    Ok(BASE64_STANDARD.encode(elf).into())
}

/// Decodes bytes in base64.
pub(crate) fn bytes(value: &Value) -> Result<Vec<u8>, Failure> {
    BASE64_STANDARD.decode(value.as_str().ok_or("the file is not text in base64")?).or_failure()
}

fn facts(assembly: &Assembly) -> Value {
    json!({
        "bytes": Assembly { strip: true, ..assembly.clone() }.to_elf().len(),
        "rodata": assembly.rodata.len(),
        "slots": assembly.text.len() / SLOT_BYTES,
        "version": assembly.version.to_string(),
    })
}

fn diagnostic(it: &Diagnostic, sources: &Sources) -> Value {
    let mut shown = place(it.span, sources);
    let others = it.labels.iter().map(|label| {
        let mut other = place(label.span, sources);
        other["text"] = label.text.as_str().into();
        other
    });
    shown["fix"] = it.fix.as_ref().map_or(Value::Null, |fix| {
        let mut shown = place(fix.span, sources);
        shown["text"] = fix.text.as_str().into();
        shown
    });
    shown["help"] = json!(it.help);
    shown["isError"] = (it.severity == Severity::Error).into();
    shown["label"] = it.label.as_str().into();
    shown["message"] = it.message.as_str().into();
    shown["notes"] = json!(it.notes);
    shown["others"] = json!(others.collect::<Vec<_>>());
    shown
}

/// A span as a line and column from 1, and as a range of UTF-16 units of the text, as a page counts.
fn place(span: Span, sources: &Sources) -> Value {
    let location = sources.locate(span);
    let (_, text) = sources.file(span);
    let range = sources.range(span);
    let units = |end: usize| text.get(..end).unwrap_or(text).encode_utf16().count();
    json!({
        "column": location.column,
        "end": units(range.end),
        "line": location.line,
        "start": units(range.start),
    })
}
