//! Interface descriptions (IDLs) of programs, read into the rows that well-known programs have.
//!
//! | module | whose descriptions |
//! |---|---|
//! | `anchor` | Anchor's, of both forms: with discriminators, and the older one without |
//! | `codama` | Codama's |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod anchor;
mod codama;

use core::fmt;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use solana_pubkey::Pubkey;

use selkie_layout::{
    account::Layout,
    instruction::Instruction,
    kind::{Field, Kind, Name, Ref, Show},
    role::Role,
};

/// How deep types and groups of accounts may nest.
const DEPTH_MAX: usize = 16;
/// The most instructions of a description, and accounts of one of them.
const INSTRUCTIONS_MAX: usize = 256;
const ACCOUNTS_MAX: usize = 255;

/// A description of a program's interface.
#[derive(Clone, Debug)]
pub struct Idl {
    /// The program's address, if the description has it.
    pub address: Option<Pubkey>,
    /// The instructions, with what is known of where their accounts are.
    pub instructions: Vec<(Instruction, Vec<Place>)>,
    /// The kinds of accounts.
    pub accounts: Vec<Layout>,
    /// The errors.
    pub errors: Vec<ErrorRow>,
}

/// An error of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorRow {
    /// Its number.
    pub code: u32,
    /// Its name.
    pub name: String,
    /// What it says, if it says more than the name.
    pub message: Option<String>,
}

/// Where an account of an instruction is, besides what its role says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// Whether it may be left out; then the program's own address stands for it.
    pub is_optional: bool,
    /// The seeds of a program derived address, and the program, if it is another one.
    pub pda: Option<(Vec<Seed>, Option<Pubkey>)>,
}

/// A seed of a program derived address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seed {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The address of the account of this name.
    Account(String),
    /// The bytes of the argument of this name.
    Argument(String),
}

/// A description that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdlError(String);

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an interface description: {}", self.0)
    }
}

impl core::error::Error for IdlError {}

impl Idl {
    /// Parses the text of a description that has instructions.
    ///
    /// # Errors
    /// As [`Idl::read`], and if it has no instructions.
    pub fn parse(text: &str) -> Result<Self, IdlError> {
        let idl = Self::read(text)?;
        if idl.instructions.is_empty() {
            return Err(IdlError("it has no instructions".to_owned()));
        }
        Ok(idl)
    }

    /// Reads the text of a description, which may have errors or accounts alone.
    ///
    /// # Errors
    /// If it is not JSON, has too many instructions, or one without a name.
    pub fn read(text: &str) -> Result<Self, IdlError> {
        let json: Value = serde_json::from_str(text).map_err(|it| IdlError(it.to_string()))?;
        Self::of_json(&json)
    }

    /// Reads a description, which may have errors or accounts alone.
    ///
    /// # Errors
    /// As [`Idl::read`].
    pub fn of_json(json: &Value) -> Result<Self, IdlError> {
        match json.get("program").filter(|_| json.get("kind") == Some(&"rootNode".into())) {
            Some(program) => codama::program(program),
            None => anchor::program(json),
        }
    }

    /// Returns the instruction that has these data, if the description has one.
    #[must_use]
    pub fn instruction(&self, data: &[u8]) -> Option<&Instruction> {
        let rows = self.instructions.iter().map(|(row, _)| row);
        rows.filter(|row| !row.tag.is_empty()).find(|row| data.starts_with(&row.tag))
    }

    /// Returns the kind of an account by its data, if the description has it.
    #[must_use]
    pub fn account(&self, data: &[u8]) -> Option<&Layout> {
        self.accounts.iter().find(|it| !it.tag.is_empty() && data.starts_with(&it.tag))
    }

    /// Returns the error with a code.
    #[must_use]
    pub fn error(&self, code: u32) -> Option<&ErrorRow> {
        self.errors.iter().find(|it| it.code == code)
    }
}

/// The types that a program defines: their descriptions, and the kinds of those that were read.
struct Types<'a> {
    /// How a kind is read from a description.
    read: fn(&mut Types<'a>, &'a Value, usize) -> Kind,
    described: BTreeMap<&'a str, &'a Value>,
    kinds: BTreeMap<&'a str, Kind>,
    /// Those that are being read.
    open: BTreeSet<&'a str>,
}

impl<'a> Types<'a> {
    /// Returns the kind of the type of a name.
    fn named(&mut self, name: &str, depth: usize) -> Kind {
        let Some((&name, &value)) = self.described.get_key_value(name) else {
            return Kind::Unknown;
        };
        if let Some(kind) = self.kinds.get(name) {
            return kind.clone();
        }
        if !self.open.insert(name) || depth > DEPTH_MAX {
            return Kind::Unknown;
        }
        let kind = (self.read)(self, value, depth.saturating_add(1));
        self.open.remove(name);
        self.kinds.insert(name, kind.clone());
        kind
    }

    /// Returns the kind of a type within another one.
    fn inner(&mut self, value: &'a Value, depth: usize) -> Ref<Kind> {
        let kind = if depth > DEPTH_MAX {
            Kind::Unknown
        } else {
            (self.read)(self, value, depth.saturating_add(1))
        };
        Ref::Shared(Arc::new(kind))
    }
}

fn field(name: String, kind: Kind) -> Field {
    Field { name: Cow::Owned(name), kind, show: Show::Plain }
}

/// Returns the elements of a list, of which there are none without it.
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn key(value: &Value, name: &str) -> Option<Pubkey> {
    text(value, name)?.parse().ok()
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}

/// Reads instructions, whose number is limited.
fn instructions<'a>(
    values: &'a [Value],
    mut read: impl FnMut(&'a Value) -> Result<(Instruction, Vec<Place>), IdlError>,
) -> Result<Vec<(Instruction, Vec<Place>)>, IdlError> {
    if values.len() > INSTRUCTIONS_MAX {
        return Err(IdlError(format!("it has {} instructions", values.len())));
    }
    let read = |(index, value)| {
        read(value).map_err(|IdlError(why)| IdlError(format!("instructions[{index}]: {why}")))
    };
    values.iter().enumerate().map(read).collect()
}

/// Makes the row of an instruction.
fn row(
    name: &str,
    tag: Vec<u8>,
    accounts: Vec<(Role, Place)>,
    fields: Vec<Field>,
) -> Result<(Instruction, Vec<Place>), IdlError> {
    if accounts.len() > ACCOUNTS_MAX {
        return Err(IdlError(format!("`{name}` has {} accounts", accounts.len())));
    }
    let (roles, places): (Vec<Role>, Vec<Place>) = accounts.into_iter().unzip();
    let row = Instruction {
        tag: Ref::Shared(tag.into()),
        name: Name::Owned(name.to_owned()),
        roles: Ref::Shared(roles.into()),
        accounts_min: 0,
        fields: Ref::Shared(fields.into()),
    };
    Ok((row, places))
}

/// Returns the kind of a number by its name: `u8` to `u128`, `i8` to `i128`.
fn number(name: &str) -> Option<Kind> {
    let kind = match name.split_at_checked(1)?.0 {
        "u" => Kind::Unsigned,
        "i" => Kind::Signed,
        _ => return None,
    };
    let bits: usize = name.get(1..)?.parse().ok()?;
    [8, 16, 32, 64, 128].contains(&bits).then(|| kind(bits / 8))
}

/// Reads the errors of a list.
fn errors(values: &[Value], message: &str) -> Vec<ErrorRow> {
    let error = |it: &Value| {
        let code = u32::try_from(it.get("code")?.as_u64()?).ok()?;
        let message = text(it, message).map(str::to_owned);
        Some(ErrorRow { code, name: text(it, "name")?.to_owned(), message })
    };
    values.iter().filter_map(error).collect()
}

/// Returns the first eight bytes of a hash, by which Anchor tells instructions and accounts.
fn discriminator(preimage: &str) -> Vec<u8> {
    Sha256::digest(preimage.as_bytes()).iter().take(8).copied().collect()
}

#[cfg(test)]
mod tests;
