//! `selkie input`.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use selkie_client::instruction_file::InstructionFile;
use selkie_svm::{
    Abi, Environment,
    input::explain::{Explanation, Field, Value, explain},
    instruction_input,
};
use serde_json::json;

use crate::{
    args::InputArgs,
    files,
    program::read,
    ui::{Advise as _, BAD, DIM, NOTE, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &InputArgs) -> Result<Status> {
    let is_json = args.file.extension().is_some_and(|it| it == "json");
    let bytes = if is_json {
        let abi = args.abi.map_or(Abi::Aligned, Into::into);
        let InstructionFile { instruction, accounts } = InstructionFile::read(&args.file)?;
        instruction_input(&instruction, &accounts, &Environment::default(), abi)
            .map(|input| input.bytes)
            .map_err(|error| anyhow!("cannot serialize this instruction: {error}"))
            .advise("an instruction has at most 255 accounts")?
    } else {
        read(&args.file)?
    };
    if let Some(path) = &args.output {
        files::write(path, &bytes)?;
    }
    let explanation = explain(&bytes, args.abi.map(Into::into));
    if ui.json {
        ui.object(&as_json(&explanation, &bytes))?;
    } else {
        show(ui, &explanation, &bytes)?;
    }
    Ok(Status::of(explanation.error.is_none()))
}

fn contents<'a>(field: &Field, bytes: &'a [u8]) -> &'a [u8] {
    bytes.get(field.offset..).and_then(|tail| tail.get(..field.len)).unwrap_or_default()
}

/// Returns the first 32 bytes of data as hexadecimal.
fn preview(data: &[u8]) -> String {
    const SHOWN: usize = 32;
    let start = data.get(..SHOWN).unwrap_or(data);
    let more = if data.len() > start.len() { "…" } else { "" };
    format!("{}{more}", hex::encode(start))
}

fn abi_name(abi: Abi) -> &'static str {
    match abi {
        Abi::Aligned => "aligned",
        Abi::Unaligned => "unaligned",
    }
}

fn show(ui: &mut Ui, explanation: &Explanation, bytes: &[u8]) -> Result<()> {
    let abi = abi_name(explanation.abi);
    writeln!(ui.out, "{DIM}{abi} layout{DIM:#}")?;
    writeln!(ui.out, "{DIM}{:>10}  {:>13}  {:>6}{DIM:#}", "offset", "address", "bytes")?;
    let width = explanation.fields.iter().map(|field| field.path.len()).max().unwrap_or(0);
    for field in &explanation.fields {
        let value = match field.value {
            Value::Bytes => preview(contents(field, bytes)),
            value => value.to_string(),
        };
        let note = if field.note.is_empty() { String::new() } else { format!("  {}", field.note) };
        writeln!(
            ui.out,
            "{:>#10x}  {DIM}{:#x}{DIM:#}  {:>6}  {STRONG}{:width$}{STRONG:#}  {value}{DIM}{note}{DIM:#}",
            field.offset, field.vaddr, field.len, field.path,
        )?;
    }
    if let Some(error) = &explanation.error {
        writeln!(ui.out, "{BAD}error{BAD:#}{STRONG}: {error}{STRONG:#}")?;
        let other = match explanation.abi {
            Abi::Aligned => Abi::Unaligned,
            Abi::Unaligned => Abi::Aligned,
        };
        writeln!(ui.out, "{NOTE}help{NOTE:#}: try `--abi {}`", abi_name(other))?;
    }
    Ok(())
}

fn as_json(explanation: &Explanation, bytes: &[u8]) -> serde_json::Value {
    let fields = explanation.fields.iter().map(|field| {
        let value = match field.value {
            Value::Flag(byte) | Value::Marker(byte) => json!(byte),
            Value::Number(number) => json!(number),
            Value::Bytes => json!(hex::encode(contents(field, bytes))),
            Value::Pubkey(_) | Value::Padding { .. } => json!(field.value.to_string()),
        };
        json!({
            "offset": field.offset,
            "vaddr": field.vaddr,
            "len": field.len,
            "path": field.path,
            "value": value,
            "note": field.note,
        })
    });
    json!({
        "abi": abi_name(explanation.abi),
        "fields": fields.collect::<Vec<_>>(),
        "error": explanation.error.as_ref().map(ToString::to_string),
    })
}
