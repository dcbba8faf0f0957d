//! Names by the descriptions of programs' interfaces, for the explorer.

use selkie_isa::plain;
use selkie_layout::{
    instruction::Instruction,
    kind::{Entry, Value as Read},
    place::{Place, places},
    program,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use solana_account::ReadableAccount;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    error::RpcError,
    interfaces::BUILT_IN,
    methods::call::Call,
    params::{Params, parse_key},
};

/// The most questions of one request.
const QUESTIONS_MAX: usize = 1000;
/// The most characters of instruction data in base58: to decode it takes as long as the square of its length.
const DATA_CHARS_MAX: usize = 16 * 1024;

/// What is asked about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Question {
    /// The data of an instruction, in base58, and the number of its accounts.
    Instruction { program: String, data: String, accounts: usize },
    /// An account, by its address.
    Account(String),
    /// A custom error.
    Error { program: String, code: u32 },
}

/// Keeps the interface description of a program, or forgets it.
pub(super) fn set_idl(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let json: Option<Value> = params.optional(1)?;
    call.interfaces.set(program, json.as_ref())?;
    Ok(interface(call, &program))
}

/// Returns a program's instructions, accounts and errors; null if there is no description of it.
pub(super) fn get_idl(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    Ok(interface(call, &params.key(0)?))
}

/// Answers each question with names, or null.
pub(super) fn describe(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let questions: Vec<Question> = params.required(0)?;
    if questions.len() > QUESTIONS_MAX {
        let text = format!("{} questions, and {QUESTIONS_MAX} are the maximum", questions.len());
        return Err(RpcError::invalid_params(text));
    }
    questions.into_iter().map(|it| answer(call, it)).collect()
}

fn answer(call: &Call<'_>, question: Question) -> Result<Value, RpcError> {
    let found = match question {
        Question::Instruction { program, data, accounts } => {
            let program = parse_key(&program)?;
            if data.len() > DATA_CHARS_MAX {
                return Ok(Value::Null);
            }
            let data = bs58::decode(data).into_vec();
            let data = data.map_err(|error| RpcError::invalid_params(format!("data: {error}")))?;
            let row = call.interfaces.instruction(call, &program, &data);
            row.and_then(|row| instruction(&row, &data, accounts))
        }
        Question::Account(address) => account(call, &parse_key(&address)?),
        Question::Error { program, code } => {
            let row = call.interfaces.error(call, &parse_key(&program)?, code);
            row.map(|it| json!({ "message": it.message.as_deref().map(plain::line), "name": name(&it.name) }))
        }
    };
    Ok(found.unwrap_or_default())
}

fn instruction(row: &Instruction, data: &[u8], accounts: usize) -> Option<Value> {
    let names = (0..accounts.min(256)).map(|index| row.role(index).map(|it| name(&it.name)));
    Some(json!({
        "accounts": names.collect::<Vec<_>>(),
        "info": object(&row.read(data).ok()?),
        "name": name(&row.name),
    }))
}

fn account(call: &Call<'_>, key: &Pubkey) -> Option<Value> {
    let account = call.node.view(CommitmentLevel::Processed).account(key)?;
    let data = account.data();
    let (layout, origin) = call.interfaces.account(call, account.owner(), data)?;
    let fields = places(&layout, data).ok()?;
    Some(json!({
        "fields": fields.iter().map(place).collect::<Vec<_>>(),
        "info": object(&layout.read(data).ok()?),
        "name": name(&layout.name),
        "origin": origin,
    }))
}

fn place(it: &Place<'_>) -> Value {
    json!({
        "bytes": it.range.len(),
        "isEditable": it.kind.is_parsed(),
        "offset": it.range.start,
        "path": name(&it.path),
        "value": it.value.to_string(),
    })
}

/// Returns the rows of a program.
fn interface(call: &Call<'_>, program: &Pubkey) -> Value {
    if let Some(known) = program::find(program) {
        let rows = known.instructions.iter().flat_map(|table| table.iter());
        let instructions: Vec<Value> = rows.map(row).collect();
        return json!({ "accounts": [], "errors": [], "instructions": instructions, "origin": BUILT_IN });
    }
    let Some(interface) = call.interfaces.find(call, program) else { return Value::Null };
    let idl = &interface.idl;
    let error = |it: &selkie_idl::ErrorRow| json!({ "code": it.code, "message": it.message.as_deref().map(plain::line), "name": name(&it.name) });
    json!({
        "accounts": idl.accounts.iter().map(|it| name(&it.name)).collect::<Vec<_>>(),
        "errors": idl.errors.iter().map(error).collect::<Vec<_>>(),
        "instructions": idl.instructions.iter().map(|(it, _)| row(it)).collect::<Vec<_>>(),
        "origin": name(&interface.origin),
    })
}

fn row(it: &Instruction) -> Value {
    let role = |it: &selkie_layout::role::Role| json!({ "name": name(&it.name), "signer": it.is_signer, "writable": it.is_writable });
    json!({
        "accounts": it.roles.iter().map(role).collect::<Vec<_>>(),
        "arguments": it.fields.iter().map(|it| name(&it.name)).collect::<Vec<_>>(),
        "name": name(&it.name),
    })
}

/// Returns a name in one line: descriptions are others' text.
fn name(text: &str) -> String {
    plain::line(text).into_owned()
}

pub(super) fn object(entries: &[Entry<'_>]) -> Value {
    let shown = entries.iter().map(|it| (name(&it.field.name), value(&it.value)));
    Value::Object(shown.collect::<Map<_, _>>())
}

/// Returns a value as JSON: with bytes in hexadecimal, numbers beyond 64 bits as text, and a variant with fields as
/// an object.
fn value(it: &Read<'_>) -> Value {
    match it {
        Read::None => Value::Null,
        Read::Bool(it) => json!(it),
        Read::Unsigned(it) => {
            u64::try_from(*it).map_or_else(|_| json!(it.to_string()), |it| json!(it))
        }
        Read::Signed(it) => {
            i64::try_from(*it).map_or_else(|_| json!(it.to_string()), |it| json!(it))
        }
        Read::Float(it) => json!(it),
        Read::Text(it) => json!(it),
        Read::Variant(it, fields) if fields.is_empty() => json!(name(it)),
        Read::Variant(it, fields) => Value::Object(Map::from_iter([(name(it), object(fields))])),
        Read::List(values) => values.iter().map(value).collect(),
        Read::Struct(entries) => object(entries),
        Read::Key(_) | Read::Bytes(_) => json!(it.to_string()),
    }
}
