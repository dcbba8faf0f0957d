//! The instruction and the accounts that a page gives, in the form of `selkie run --input`.

use selkie::{Account, AccountMeta, Instruction, Pubkey, runtime::ComputeBudget};
use selkie_isa::failure::{Context as _, Failure, OrFailure as _};
use serde_json::Value;

use crate::program::bytes;

/// The address of a program that has none: that of `selkie run`.
const PROGRAM_ID: [u8; 32] = *b"selkie run: no program id given.";
/// The compute units of an instruction, and the bytes of the heap, unless others are given.
const UNITS: u64 = 200_000;
const HEAP_BYTES: u32 = 32 << 10;
/// As many units as a transaction may have.
const UNITS_MAX: u64 = 1_400_000;
/// The longest name of a program.
const NAME_CHARS_MAX: usize = 64;

/// An instruction with the accounts before it.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) instruction: Instruction,
    pub(crate) accounts: Vec<(Pubkey, Account)>,
    pub(crate) budget: ComputeBudget,
}

impl Input {
    /// Reads `{program_id, accounts, instruction_data, limit, name}`. Data is in base64; a number may be text,
    /// since pages have no exact ones of 64 bits.
    pub(crate) fn read(params: &Value) -> Result<Self, Failure> {
        let program_id = match &params["program_id"] {
            Value::Null => Pubkey::new_from_array(PROGRAM_ID),
            given => key(given).context("program_id")?,
        };
        let mut instruction = Instruction {
            program_id,
            accounts: Vec::new(),
            data: data(&params["instruction_data"])?,
        };
        let mut accounts = Vec::new();
        let entries = params["accounts"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            let place = || format!("accounts[{index}]");
            let meta = meta(entry).with_context(place)?;
            accounts.extend(account(entry).with_context(place)?.map(|it| (meta.pubkey, it)));
            instruction.accounts.push(meta);
        }
        let limit = number(&params["limit"]).context("limit")?.unwrap_or(UNITS).min(UNITS_MAX);
        let name = params["name"].as_str().unwrap_or("program");
        Ok(Self {
            name: name.chars().take(NAME_CHARS_MAX).collect(),
            instruction,
            accounts,
            budget: ComputeBudget { compute_unit_limit: limit, heap_bytes: HEAP_BYTES },
        })
    }
}

fn meta(entry: &Value) -> Result<AccountMeta, Failure> {
    let flag = |name: &str| entry[name].as_bool().unwrap_or(false);
    let pubkey = key(&entry["key"]).context("key")?;
    Ok(AccountMeta { pubkey, is_signer: flag("is_signer"), is_writable: flag("is_writable") })
}

/// Reads an account. An entry with only a key refers to a sysvar, a program, or an entry before.
fn account(entry: &Value) -> Result<Option<Account>, Failure> {
    if ["owner", "lamports", "data"].iter().all(|field| entry[field].is_null()) {
        return Ok(None);
    }
    let owner = match &entry["owner"] {
        Value::Null => Pubkey::default(),
        given => key(given).context("owner")?,
    };
    Ok(Some(Account {
        lamports: number(&entry["lamports"]).context("lamports")?.unwrap_or_default(),
        data: data(&entry["data"]).context("data")?,
        owner,
        executable: entry["executable"].as_bool().unwrap_or(false),
        rent_epoch: 0,
    }))
}

fn key(value: &Value) -> Result<Pubkey, Failure> {
    let text = value.as_str().ok_or("the address is not text")?;
    text.parse().map_err(|error| format!("`{text}` is not an address: {error}").into())
}

fn data(value: &Value) -> Result<Vec<u8>, Failure> {
    if value.is_null() { Ok(Vec::new()) } else { bytes(value) }
}

fn number(value: &Value) -> Result<Option<u64>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => text.parse().map(Some).or_failure(),
        other => other
            .as_u64()
            .map(Some)
            .ok_or_else(|| format!("{other} is no number of 64 bits").into()),
    }
}
