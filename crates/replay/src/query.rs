//! Questions about a transaction as JSON, for programs that look into one without this crate: an
//! editor, a browser, a script.
//!
//! A request is `{"id": …, "method": NAME, "params": {…}}`, and its answer `{"id": …, "result": …}` or
//! `{"id": …, "error": TEXT}`. Addresses and other numbers of 64 bits are hexadecimal text in answers;
//! requests may have numbers in their place.

use selkie_isa::failure::{Failure, OrFailure as _};
use serde_json::{Value, json};

use crate::timeline::Timeline;

/// A method of the interface.
#[derive(Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its parameters and what it returns.
    pub about: &'static str,
    run: fn(&Timeline, &Value) -> Result<Value, Failure>,
}

/// The most bytes of memory that an answer has.
const MEMORY_BYTES_MAX: u64 = 1 << 20;
/// The most bytes whose last write is looked for.
const WATCHED_BYTES_MAX: u64 = 1 << 16;

/// The methods.
pub const METHODS: &[Method] = &[
    Method {
        name: "transaction",
        about: "{}: result, compute units, number of steps, and all invocations",
        run: |timeline, _| Ok(timeline.to_json()),
    },
    Method {
        name: "state",
        about: "{step}: registers, call frames, regions of memory, accounts and logs before a step",
        run: |timeline, params| Ok(timeline.state_at(number(params, "step")?).to_json()),
    },
    Method {
        name: "memory",
        about: "{step, vaddr, len, level}: bytes of the innermost program's memory, in hexadecimal, \
                up to the end of the region; `level` counts from the outermost program",
        run: memory,
    },
    Method {
        name: "account",
        about: "{step, index}: an account of `state`, in the format of `solana account`",
        run: account,
    },
    Method {
        name: "lastWrite",
        about: "{step, invocation, vaddr, len}: the last write before a step to any of these bytes; \
                bytes of accounts are followed to the invocation that wrote them; null if there is none",
        run: last_write,
    },
    Method {
        name: "find",
        about: "{pc, program, from, to, last}: the first step from `from` to `to` that executes an \
                instruction, or the last one; null if none does",
        run: find,
    },
];

/// Answers a request, whatever it is.
#[must_use]
pub fn answer(timeline: &Timeline, request: &str) -> Value {
    let request: Value = match serde_json::from_str(request) {
        Ok(request) => request,
        Err(error) => return json!({ "id": null, "error": format!("not JSON: {error}") }),
    };
    let id = request.get("id").cloned().unwrap_or_default();
    match answer_request(timeline, &request) {
        Ok(result) => json!({ "id": id, "result": result }),
        Err(error) => json!({ "id": id, "error": error.chain() }),
    }
}

fn answer_request(timeline: &Timeline, request: &Value) -> Result<Value, Failure> {
    let name = request.get("method").and_then(Value::as_str).ok_or("`method` is not text")?;
    run(timeline, name, request.get("params").unwrap_or(&Value::Null))
}

/// Answers a question by the name of its method.
///
/// # Errors
/// If there is no such method, or its parameters are not as they should be.
pub fn run(timeline: &Timeline, name: &str, params: &Value) -> Result<Value, Failure> {
    let method = METHODS.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = METHODS.iter().map(|it| it.name).collect();
        format!("there is no method `{name}`, only {}", names.join(", "))
    })?;
    (method.run)(timeline, params)
}

/// Returns a number of the parameters: of JSON, or hexadecimal text.
///
/// # Errors
/// If it is missing or something else.
pub fn number(params: &Value, name: &str) -> Result<u64, Failure> {
    let value = params.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    let digits = value.as_str().and_then(|it| it.strip_prefix("0x"));
    let number = match digits {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.as_u64(),
    };
    number
        .ok_or_else(|| format!("`{name}` is {value}, but should be a number or 0x and digits"))
        .or_failure()
}

fn index(params: &Value, name: &str) -> Result<usize, Failure> {
    usize::try_from(number(params, name)?)
        .map_err(|_| format!("`{name}` is too large"))
        .or_failure()
}

fn at_most(params: &Value, name: &str, max: u64) -> Result<u64, Failure> {
    let number = number(params, name)?;
    match number <= max {
        true => Ok(number),
        false => Err(format!("`{name}` is {number}, and {max} is the maximum").into()),
    }
}

fn memory(timeline: &Timeline, params: &Value) -> Result<Value, Failure> {
    let (vaddr, len) = (number(params, "vaddr")?, at_most(params, "len", MEMORY_BYTES_MAX)?);
    let state = timeline.state_at(number(params, "step")?);
    let level = match params.get("level") {
        None => state.levels.last(),
        Some(_) => state.levels.get(index(params, "level")?),
    };
    let level = level.ok_or("no program runs there")?;
    let bytes = level.memory.read(vaddr, usize::try_from(len).unwrap_or(usize::MAX));
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

fn account(timeline: &Timeline, params: &Value) -> Result<Value, Failure> {
    let state = timeline.state_at(number(params, "step")?);
    let index = index(params, "index")?;
    state
        .account_json(index)
        .ok_or_else(|| {
            format!("there is no account {index}: the transaction has {}", state.accounts.len())
        })
        .or_failure()
}

fn last_write(timeline: &Timeline, params: &Value) -> Result<Value, Failure> {
    let invocation = index(params, "invocation")?;
    let count = timeline.invocations().len();
    if invocation >= count {
        return Err(format!("there is no invocation {invocation}, only {count}").into());
    }
    let len = at_most(params, "len", WATCHED_BYTES_MAX)?;
    let (step, vaddr) = (number(params, "step")?, number(params, "vaddr")?);
    let write = timeline.last_write_anywhere(step, invocation, vaddr, len);
    Ok(write.map_or(Value::Null, |it| it.to_json()))
}

fn find(timeline: &Timeline, params: &Value) -> Result<Value, Failure> {
    let pc = index(params, "pc")?;
    let program = params.get("program").and_then(Value::as_str).ok_or("`program` is not text")?;
    let program = program.parse().map_err(|error| format!("`program`: {error}"))?;
    let from = params.get("from").map_or(Ok(0), |_| number(params, "from"))?;
    let to = params.get("to").map_or(Ok(u64::MAX), |_| number(params, "to"))?;
    let is_last = params.get("last").and_then(Value::as_bool).unwrap_or(false);
    let found = match is_last {
        true => timeline.find_last(from..to, |it| it.pc() == pc && it.program() == program),
        false => timeline.find(from..to, |it| it.pc() == pc && it.program() == program),
    };
    Ok(json!(found))
}
