//! Parses instructions of the command line and of JSON files.

use anyhow::{Context as _, Result, bail};
use selkie::{AccountMeta, Instruction, Keypair};
use selkie_client::{data, instruction_file::Data};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    args::send::{InstructionArgs, split_flags},
    names::Names,
    ui::Advise as _,
};

/// Instructions, and the keys of their signers as far as known.
#[derive(Default)]
pub(super) struct Instructions {
    pub(super) list: Vec<Instruction>,
    pub(super) keys: Vec<Keypair>,
}

/// An instruction in a file. The field names of agave's ledger tool are accepted too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstructionFile {
    #[serde(alias = "program_id", alias = "programId")]
    program: String,
    #[serde(default)]
    accounts: Vec<AccountEntry>,
    #[serde(default, alias = "instruction_data")]
    data: Data,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AccountEntry {
    Text(String),
    Fields(AccountFields),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountFields {
    #[serde(alias = "pubkey")]
    key: String,
    #[serde(default, alias = "is_signer")]
    is_signer: bool,
    #[serde(default, alias = "is_writable")]
    is_writable: bool,
}

impl Instructions {
    /// Parses the instructions of a command line.
    pub(super) fn typed(names: &Names, typed: &[InstructionArgs]) -> Result<Self> {
        let mut instructions = Self::default();
        for InstructionArgs { program, accounts, data } in typed {
            let program_id = names.address(program).context("--program")?;
            let metas = accounts.iter().map(|text| instructions.meta(names, text));
            let accounts = metas.collect::<Result<Vec<_>>>()?;
            let data = data::parse(&data.join(","), &|key| names.address(key))?;
            instructions.list.push(Instruction { program_id, accounts, data });
        }
        Ok(instructions)
    }

    /// Parses a JSON file: one instruction, a list, or a list under `instructions`.
    pub(super) fn json(names: &Names, bytes: &[u8], path: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_slice(bytes).with_context(|| format!("{path} is not JSON"))?;
        let list = match value {
            Value::Array(list) => list,
            Value::Object(mut fields) => match fields.remove("instructions") {
                Some(Value::Array(list)) => list,
                Some(_) => bail!("{path}: `instructions` is not a list"),
                None => vec![Value::Object(fields)],
            },
            _ => bail!("{path} does not hold instructions"),
        };
        let mut instructions = Self::default();
        for (index, value) in list.into_iter().enumerate() {
            let read = InstructionFile::deserialize(value).map_err(anyhow::Error::from);
            read.and_then(|file| instructions.add(names, file))
                .with_context(|| format!("{path}: instruction {index}"))
                .advise("`selkie send --help` shows the format")?;
        }
        Ok(instructions)
    }

    fn add(&mut self, names: &Names, file: InstructionFile) -> Result<()> {
        let program_id = names.address(&file.program).context("program")?;
        let mut accounts = Vec::with_capacity(file.accounts.len());
        for entry in file.accounts {
            accounts.push(match entry {
                AccountEntry::Text(text) => self.meta(names, &text)?,
                AccountEntry::Fields(AccountFields { key, is_signer, is_writable }) => {
                    self.named(names, &key, is_signer, is_writable)?
                }
            });
        }
        let resolve = |key: &str| names.address(key);
        let data = file.data.bytes(&resolve).context("data")?;
        self.list.push(Instruction { program_id, accounts, data });
        Ok(())
    }

    /// Parses an account with its flags: `vault:w`.
    fn meta(&mut self, names: &Names, text: &str) -> Result<AccountMeta> {
        let (key, flags) = split_flags(text);
        self.named(names, key, flags.contains('s'), flags.contains('w'))
    }

    fn named(
        &mut self,
        names: &Names,
        text: &str,
        is_signer: bool,
        is_writable: bool,
    ) -> Result<AccountMeta> {
        let pubkey = names.address(text).context("--account")?;
        if is_signer {
            self.keys.extend(names.key(text)?);
        }
        Ok(AccountMeta { pubkey, is_signer, is_writable })
    }
}
