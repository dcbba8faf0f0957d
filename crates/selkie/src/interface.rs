//! The description of a program's interface that Anchor and `selkie build --idl` write: the names of its
//! errors, of its instructions and of their accounts.
//!
//! Files are looked for in `target/idl`: that beside the `target/deploy` of a program's file, and those
//! of the current folder and of three above it, which is where tests of a package run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::{input, plain};
use serde_json::Value;
use solana_pubkey::Pubkey;

/// The most bytes of a description that is read, and the files of a folder that are looked at.
const FILE_BYTES_MAX: u64 = 4 << 20;
const FILES_MAX: usize = 256;
/// How deep the accounts of an instruction may be grouped.
const DEPTH_MAX: usize = 8;

/// The folders in which descriptions are, from the folder in which a test runs.
const FOLDERS: &[&str] =
    &["target/idl", "../target/idl", "../../target/idl", "../../../target/idl"];

/// The description of a program's interface.
pub(crate) struct Interface {
    /// The file.
    pub(crate) path: PathBuf,
    json: Value,
}

/// An account that an instruction takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedAccount {
    pub(crate) name: String,
    pub(crate) is_signer: bool,
}

impl Interface {
    /// Finds the description of a program: by the name of its file, or else by its address.
    pub(crate) fn find(program: &Pubkey, file: Option<&Path>) -> Option<Self> {
        let named = file.and_then(|file| {
            let target = file.parent()?.parent()?;
            Self::read(&target.join("idl").join(file.file_stem()?).with_extension("json"))
        });
        named.or_else(|| {
            let mut all = FOLDERS.iter().flat_map(|folder| files(Path::new(folder)));
            all.find_map(|path| Self::read(&path).filter(|it| it.address() == Some(*program)))
        })
    }

    fn read(path: &Path) -> Option<Self> {
        let json = serde_json::from_str(&input::text(path, FILE_BYTES_MAX).ok()?).ok()?;
        Some(Self { path: path.to_owned(), json })
    }

    fn address(&self) -> Option<Pubkey> {
        let address = self.json.get("address").or_else(|| self.json.pointer("/metadata/address"));
        address?.as_str()?.parse().ok()
    }

    /// Returns the name of the error with a code, and what the program says about it.
    pub(crate) fn error(&self, code: u32) -> Option<(String, Option<String>)> {
        let errors = self.json.get("errors")?.as_array()?;
        let is_it = |it: &&Value| it.get("code").and_then(Value::as_u64) == Some(code.into());
        let error = errors.iter().find(is_it)?;
        Some((text(error, "name")?, text(error, "msg")))
    }

    /// Returns the name of the instruction that has these data, and the accounts that it takes. `None` if
    /// the description has none, or is of the older form, which has no discriminators.
    pub(crate) fn instruction(&self, data: &[u8]) -> Option<(String, Vec<NamedAccount>)> {
        let all = self.json.get("instructions")?.as_array()?;
        let instruction = all.iter().find(|it| {
            let bytes = it.get("discriminator").and_then(Value::as_array);
            let bytes = bytes.into_iter().flatten().map(|it| u8::try_from(it.as_u64()?).ok());
            let bytes = bytes.collect::<Option<Vec<u8>>>().unwrap_or_default();
            !bytes.is_empty() && data.starts_with(&bytes)
        })?;
        let mut accounts = Vec::new();
        add_accounts(instruction, &mut accounts, 0);
        Some((text(instruction, "name")?, accounts))
    }
}

/// Lists the files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|it| it.extension().is_some_and(|it| it == "json")).take(FILES_MAX).collect();
    paths.sort_unstable();
    paths
}

/// Adds the accounts of an instruction or of a group of accounts.
fn add_accounts(parent: &Value, accounts: &mut Vec<NamedAccount>, depth: usize) {
    let list = parent.get("accounts").and_then(Value::as_array);
    for account in list.into_iter().flatten() {
        if account.get("accounts").is_some() && depth < DEPTH_MAX {
            add_accounts(account, accounts, depth.saturating_add(1));
        } else if let Some(name) = text(account, "name") {
            let is_signer = account.get("signer").and_then(Value::as_bool).unwrap_or(false);
            accounts.push(NamedAccount { name, is_signer });
        }
    }
}

/// Returns a field of text as one line.
fn text(value: &Value, field: &str) -> Option<String> {
    Some(plain::line(value.get(field)?.as_str()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn descriptions_name_errors_instructions_and_accounts() {
        let json = json!({
            "address": "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS",
            "instructions": [{
                "name": "open",
                "discriminator": [1, 2],
                "accounts": [
                    { "name": "vault", "writable": true },
                    { "name": "people", "accounts": [{ "name": "owner", "signer": true }] },
                ],
            }],
            "errors": [{ "code": 6000, "name": "Full", "msg": "the vault is full" }, { "code": 6001 }],
        });
        let found = Interface { path: PathBuf::new(), json };
        assert!(found.address().is_some());
        let expected = ("Full".to_owned(), Some("the vault is full".to_owned()));
        assert_eq!(found.error(6000), Some(expected));
        assert_eq!((found.error(6001), found.error(6002)), (None, None));
        let (name, accounts) = found.instruction(&[1, 2, 3]).expect("the data are of `open`");
        assert_eq!((name.as_str(), accounts.len()), ("open", 2));
        assert_eq!((accounts[1].name.as_str(), accounts[1].is_signer), ("owner", true));
        assert!(!accounts[0].is_signer);
        assert_eq!(found.instruction(&[1]), None);
    }
}
