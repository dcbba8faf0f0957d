//! What a program is run with: the instruction, its accounts and its data, from files in the
//! forms that people have.

use std::{path::Path, str::FromStr as _};

use anyhow::{Context as _, Result, anyhow, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_svm::{Account, AccountMeta, Instruction, Pubkey};
use serde::Deserialize;
use serde_json::Value;

use crate::{data, program::read, ui::Advise as _};

/// The address that a program runs under if nothing else is said.
const PROGRAM_ID: [u8; 32] = *b"selkie run: no program id given.";

/// An instruction and the accounts that are there before it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) instruction: Instruction,
    pub(crate) accounts: Vec<(Pubkey, Account)>,
}

impl Default for Scenario {
    /// No accounts, no data.
    fn default() -> Self {
        let program_id = Pubkey::new_from_array(PROGRAM_ID);
        Self {
            instruction: Instruction { program_id, accounts: Vec::new(), data: Vec::new() },
            accounts: Vec::new(),
        }
    }
}

/// The instruction JSON of agave's ledger tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstructionFile {
    program_id: Option<String>,
    #[serde(default)]
    accounts: Vec<AccountEntry>,
    #[serde(default, alias = "data")]
    instruction_data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountEntry {
    #[serde(alias = "pubkey")]
    key: String,
    owner: Option<String>,
    #[serde(default)]
    is_signer: bool,
    #[serde(default)]
    is_writable: bool,
    #[serde(default)]
    executable: bool,
    lamports: Option<u64>,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    rent_epoch: u64,
}

/// What `solana account --output json` writes.
#[derive(Deserialize)]
struct AccountFile {
    pubkey: String,
    account: StoredAccount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAccount {
    lamports: u64,
    #[serde(default)]
    data: Value,
    owner: String,
    #[serde(default)]
    executable: bool,
    #[serde(default)]
    rent_epoch: u64,
}

impl Scenario {
    /// Reads an instruction, or an account that becomes the only one.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut scenario = Self::default();
        let value = read_json(path)?;
        let read = if value.get("account").is_some() {
            scenario.add_stored(value, false, true)
        } else {
            scenario.add_instruction(value)
        };
        read.with_context(|| path.display().to_string())
            .advise("`selkie run --help` shows the forms that are understood")?;
        Ok(scenario)
    }

    /// Adds an account from a file, with `:s` for a signer or `:r` for read-only behind it.
    pub(crate) fn add_account_file(&mut self, argument: &str) -> Result<()> {
        let (path, flags) = match argument.rsplit_once(':') {
            Some((path, flags)) if flags.chars().all(|it| "srw".contains(it)) => (path, flags),
            _ => (argument, ""),
        };
        let value = read_json(Path::new(path))?;
        self.add_stored(value, flags.contains('s'), !flags.contains('r'))
            .with_context(|| path.to_owned())
            .advise("`solana account KEY --output json` writes such a file")
    }

    fn add_instruction(&mut self, value: Value) -> Result<()> {
        let file = InstructionFile::deserialize(value)?;
        if let Some(program_id) = &file.program_id {
            self.instruction.program_id = parse_key(program_id)?;
        }
        self.instruction.data = parse_data(&file.instruction_data).context("instruction_data")?;
        for (index, entry) in file.accounts.into_iter().enumerate() {
            self.add_entry(entry).with_context(|| format!("accounts[{index}]"))?;
        }
        Ok(())
    }

    fn add_entry(&mut self, entry: AccountEntry) -> Result<()> {
        let key = parse_key(&entry.key)?;
        let meta =
            AccountMeta { pubkey: key, is_signer: entry.is_signer, is_writable: entry.is_writable };
        self.instruction.accounts.push(meta);
        // An entry with a key alone stands for what a cluster has there: a sysvar, a program, or
        // an account that an earlier entry described.
        if entry.owner.is_none() && entry.lamports.is_none() && entry.data.is_null() {
            return Ok(());
        }
        let owner = entry.owner.as_deref().map(parse_key).transpose().context("owner")?;
        let account = Account {
            lamports: entry.lamports.unwrap_or_default(),
            data: parse_data(&entry.data).context("data")?,
            owner: owner.unwrap_or_default(),
            executable: entry.executable,
            rent_epoch: entry.rent_epoch,
        };
        self.accounts.push((key, account));
        Ok(())
    }

    fn add_stored(&mut self, value: Value, is_signer: bool, is_writable: bool) -> Result<()> {
        let file = AccountFile::deserialize(value)?;
        let key = parse_key(&file.pubkey)?;
        let account = Account {
            lamports: file.account.lamports,
            data: parse_data(&file.account.data).context("data")?,
            owner: parse_key(&file.account.owner).context("owner")?,
            executable: file.account.executable,
            rent_epoch: file.account.rent_epoch,
        };
        self.instruction.accounts.push(AccountMeta { pubkey: key, is_signer, is_writable });
        self.accounts.push((key, account));
        Ok(())
    }
}

/// Reads a file that holds a JSON object, as all that is read here does.
fn read_json(path: &Path) -> Result<Value> {
    let bytes = read(path)?;
    let value: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not JSON", path.display()))?;
    if !value.is_object() {
        return Err(anyhow!("{} holds no JSON object", path.display()))
            .advise("`selkie run --help` shows the forms that are understood");
    }
    Ok(value)
}

pub(crate) fn parse_key(text: &str) -> Result<Pubkey> {
    Pubkey::from_str(text)
        .map_err(|error| anyhow!("`{text}` is no address: {error}"))
        .advise("addresses are 32 bytes in base58")
}

/// Bytes as an array of numbers, as `["…", "base64"]`, or as a string of the data language.
fn parse_data(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => data::parse(text),
        Value::Array(items) => match &items[..] {
            [Value::String(text), Value::String(encoding)] => match encoding.as_str() {
                "base64" => Ok(BASE64_STANDARD.decode(text)?),
                "base58" => Ok(bs58::decode(text).into_vec()?),
                "hex" => Ok(hex::decode(text)?),
                other => Err(anyhow!("data in encoding `{other}` cannot be read"))
                    .advise("fetch the account with `--encoding base64`"),
            },
            _ => {
                let byte = |it: &Value| {
                    let number = it.as_u64().and_then(|it| u8::try_from(it).ok());
                    number.ok_or_else(|| anyhow!("{it} is no byte"))
                };
                items.iter().map(byte).collect()
            }
        },
        Value::Object(_) => Err(anyhow!("data was decoded to fields; its bytes are needed"))
            .advise("fetch the account with `--encoding base64`"),
        other => bail!("{other} is no data"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_read_in_every_form() {
        for form in [json!([1, 2]), json!(["AQI=", "base64"]), json!("0102"), json!("u8:1,u8:2")] {
            assert_eq!(parse_data(&form).expect("the form is known"), [1, 2], "{form}");
        }
        for form in [json!([256]), json!(["x", "zstd"]), json!({"parsed": 1}), json!(5)] {
            assert!(parse_data(&form).is_err(), "{form}");
        }
    }

    #[test]
    fn an_entry_with_a_key_alone_describes_no_account() {
        let key = "SysvarC1ock11111111111111111111111111111111";
        let mut scenario = Scenario::default();
        let file = json!({ "accounts": [{ "key": key }, { "key": key, "lamports": 5 }] });
        scenario.add_instruction(file).expect("the file is an instruction");
        assert_eq!(scenario.instruction.accounts.len(), 2);
        assert_eq!(scenario.accounts.len(), 1);
    }
}
