//! Instructions, sources, and the fields of the input.

use std::{borrow::Cow, path::Path};

use selkie::runtime::input::explain::{Field, Value as FieldValue, explain};
use selkie_inspect::is_source_file;
use selkie_isa::{
    failure::{Failure, OrFailure as _},
    input as files,
    layout::INPUT_START,
};
use selkie_replay::{Level, query};
use serde_json::{Value, json};

use super::{cut, index_or, number_or};
use crate::session::Session;

/// The instructions of an answer.
const INSTRUCTIONS_MAX: u64 = 500;
/// The lines of an answer.
const LINES_MAX: usize = 1_000;
/// The longest source file that is read.
const SOURCE_BYTES_MAX: u64 = 4 << 20;
/// The fields of an answer.
const FIELDS_MAX: usize = 500;
/// The longest input that is described.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Returns instructions of a program.
pub(super) fn instructions(session: &Session, params: &Value) -> Result<Value, Failure> {
    let program = index_or(params, "program", 0)?;
    let slots = session.slots(program);
    let from = u32::try_from(number_or(params, "from", 0)?).unwrap_or(u32::MAX).min(slots);
    let count = number_or(params, "count", INSTRUCTIONS_MAX)?.min(INSTRUCTIONS_MAX);
    let to = from.saturating_add(u32::try_from(count).unwrap_or(u32::MAX)).min(slots);
    let of = session.programs().get(program).ok_or("there is no such program")?;
    let texts = session.instructions(program, from..to);
    let lines = (from..to).zip(texts).map(|(pc, text)| {
        let location = of.info.location(pc);
        let line = location.map(|it| format!("{}:{}", of.info.own().short(&it.file), it.line));
        let function = of.file.functions.contains_key(&pc).then(|| cut(&of.function_at(pc)));
        json!({ "function": function, "line": line, "pc": pc, "text": cut(&text) })
    });
    Ok(json!({ "from": from, "instructions": lines.collect::<Vec<_>>(), "slots": slots }))
}

/// Returns lines of a source file that was given, or that debug information of a program names.
pub(super) fn source(session: &Session, params: &Value) -> Result<Value, Failure> {
    let file = params.get("file").and_then(Value::as_str).ok_or("`file` is not text")?;
    let from = index_or(params, "from", 1)?.max(1);
    let count = index_or(params, "count", LINES_MAX)?.min(LINES_MAX);
    let path = Path::new(file);
    let is_named = || {
        let recorded = session.paths().recorded(file);
        let built = session.programs().iter().filter(|it| it.file.is_built_here);
        built.into_iter().any(|it| it.info.files().any(|name| name == recorded))
    };
    let read = || {
        let is_read = is_source_file(path) && is_named();
        is_read.then(|| files::text(path, SOURCE_BYTES_MAX).ok())?
    };
    let text = session.given_source(file).map(Cow::Borrowed).or_else(|| read().map(Cow::Owned));
    let Some(text) = text else { return Ok(Value::Null) };
    let lines: Vec<String> = text.lines().skip(from - 1).take(count).map(cut).collect();
    Ok(json!({
        "from": from,
        "lines": lines,
        "total": text.lines().count(),
        "withCode": session.lines_of(file).range(..).filter(|it| {
            let at = **it as usize;
            at >= from && at < from.saturating_add(count)
        }).collect::<Vec<_>>(),
    }))
}

/// Returns the fields of the input of the program that runs.
pub(super) fn input(session: &Session, params: &Value) -> Result<Value, Failure> {
    let state = session.history().timeline().state_at(query::number(params, "step")?);
    let level = state.levels.last().ok_or("no program runs there").or_failure()?;
    let from = index_or(params, "from", 0)?;
    let bytes = input_bytes(level);
    let explanation = explain(&bytes, Some(level.layout.abi));
    let field = |it: &Field| {
        let value = match it.value {
            FieldValue::Bytes => None,
            value => Some(value.to_string()),
        };
        json!({
            "len": it.len,
            "note": it.note,
            "path": it.path,
            "value": value,
            "vaddr": format!("{:#x}", it.vaddr),
        })
    };
    let fields = explanation.fields.iter().skip(from).take(FIELDS_MAX);
    Ok(json!({
        "error": explanation.error.as_ref().map(ToString::to_string),
        "fields": fields.map(field).collect::<Vec<_>>(),
        "total": explanation.fields.len(),
    }))
}

/// Returns the input as one piece: regions of account data at their places, and zeros between them.
fn input_bytes(level: &Level) -> Vec<u8> {
    let mut bytes = Vec::new();
    for region in level.memory.regions.iter().filter(|it| it.vaddr >= INPUT_START) {
        let Ok(start) = usize::try_from(region.vaddr.saturating_sub(INPUT_START)) else { break };
        let end = start.saturating_add(region.bytes.len());
        if end as u64 > INPUT_BYTES_MAX || start < bytes.len() {
            break;
        }
        bytes.resize(start, 0);
        bytes.extend_from_slice(&region.bytes);
    }
    bytes
}
