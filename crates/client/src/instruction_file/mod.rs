//! Instructions with their accounts from files: what `selkie run` gives a program.
//!
//! Such a file has no environment, and the program is another file. With both it becomes a `Case`, by
//! `Svm::record_instructions`.

use std::path::Path;

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use selkie_svm::{Account, AccountMeta, Instruction, Pubkey};
use serde::{Deserialize, de::IgnoredAny};

pub use self::bytes::Data;
use crate::{data::parse_key, read::read};

mod bytes;

/// The default program ID.
const PROGRAM_ID: [u8; 32] = *b"selkie run: no program id given.";

/// An instruction and the accounts that exist before it.
#[derive(Clone, Debug)]
pub struct InstructionFile {
    /// The instruction.
    pub instruction: Instruction,
    /// The accounts before it.
    pub accounts: Vec<(Pubkey, Account)>,
}

impl Default for InstructionFile {
    /// No accounts, no data.
    fn default() -> Self {
        let program_id = Pubkey::new_from_array(PROGRAM_ID);
        Self {
            instruction: Instruction { program_id, accounts: Vec::new(), data: Vec::new() },
            accounts: Vec::new(),
        }
    }
}

/// An instruction in the JSON format of agave's ledger tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstructionJson {
    program_id: Option<String>,
    #[serde(default)]
    accounts: Vec<AccountEntry>,
    #[serde(default, alias = "data")]
    instruction_data: Data,
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
    data: Data,
    #[serde(default)]
    rent_epoch: u64,
}

/// The format of `solana account --output json`.
#[derive(Deserialize)]
struct AccountJson {
    pubkey: String,
    account: StoredAccount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAccount {
    lamports: u64,
    #[serde(default)]
    data: Data,
    owner: String,
    #[serde(default)]
    executable: bool,
    #[serde(default)]
    rent_epoch: u64,
}

impl InstructionFile {
    /// Reads a file with an instruction, or with an account, which becomes the only one.
    ///
    /// # Errors
    /// If it cannot be read, or holds neither: with the place in it.
    pub fn read(path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Probe {
            account: Option<IgnoredAny>,
        }
        let mut file = Self::default();
        let json = read_json(path)?;
        let is_account =
            serde_json::from_slice::<Probe>(&json).is_ok_and(|it| it.account.is_some());
        let read = match is_account {
            true => file.add_stored(&json, false, true),
            false => file.add_instruction(&json),
        };
        read.with_context(|| path.display().to_string())
            .advise("`selkie run --help` shows the forms that are understood")?;
        Ok(file)
    }

    /// Adds an account from a file; the suffix `:s` makes it a signer, `:r` read-only.
    ///
    /// # Errors
    /// If it cannot be read, or holds no account.
    pub fn add_account_file(&mut self, argument: &str) -> Result<()> {
        let (path, flags) = match argument.rsplit_once(':') {
            Some((path, flags)) if flags.chars().all(|it| "srw".contains(it)) => (path, flags),
            _ => (argument, ""),
        };
        let json = read_json(Path::new(path))?;
        self.add_stored(&json, flags.contains('s'), !flags.contains('r'))
            .with_context(|| path.to_owned())
            .advise("write such a file with `solana account KEY --output json`")
    }

    fn add_instruction(&mut self, json: &[u8]) -> Result<()> {
        let file: InstructionJson = serde_json::from_slice(json).or_failure()?;
        if let Some(program_id) = &file.program_id {
            self.instruction.program_id = parse_key(program_id)?;
        }
        self.instruction.data =
            file.instruction_data.bytes(&parse_key).context("instruction_data")?;
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
        // An entry with only a key refers to a sysvar, a program, or an account of an earlier
        // entry.
        if entry.owner.is_none() && entry.lamports.is_none() && entry.data == Data::None {
            return Ok(());
        }
        let owner = entry.owner.as_deref().map(parse_key).transpose().context("owner")?;
        let account = Account {
            lamports: entry.lamports.unwrap_or_default(),
            data: entry.data.bytes(&parse_key).context("data")?,
            owner: owner.unwrap_or_default(),
            executable: entry.executable,
            rent_epoch: entry.rent_epoch,
        };
        self.accounts.push((key, account));
        Ok(())
    }

    fn add_stored(&mut self, json: &[u8], is_signer: bool, is_writable: bool) -> Result<()> {
        let file: AccountJson = serde_json::from_slice(json).or_failure()?;
        let key = parse_key(&file.pubkey)?;
        let account = Account {
            lamports: file.account.lamports,
            data: file.account.data.bytes(&parse_key).context("data")?,
            owner: parse_key(&file.account.owner).context("owner")?,
            executable: file.account.executable,
            rent_epoch: file.account.rent_epoch,
        };
        self.instruction.accounts.push(AccountMeta { pubkey: key, is_signer, is_writable });
        self.accounts.push((key, account));
        Ok(())
    }
}

/// Reads a file that holds a JSON object.
fn read_json(path: &Path) -> Result<Vec<u8>> {
    let bytes = read(path)?;
    serde_json::from_slice::<IgnoredAny>(&bytes)
        .with_context(|| format!("{} is not JSON", path.display()))?;
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::new(format!("{} does not hold a JSON object", path.display())))
            .advise("`selkie run --help` shows the forms that are understood");
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_with_only_a_key_adds_no_account() {
        let key = "SysvarC1ock11111111111111111111111111111111";
        let mut read = InstructionFile::default();
        let file = json!({ "accounts": [{ "key": key }, { "key": key, "lamports": 5 }] });
        read.add_instruction(file.to_string().as_bytes()).expect("the file is an instruction");
        assert_eq!(read.instruction.accounts.len(), 2);
        assert_eq!(read.accounts.len(), 1);
    }
}
