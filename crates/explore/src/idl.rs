//! Targets made of the description of a program's interface that Anchor writes.
//!
//! Both forms are understood: that of Anchor 0.30 and later, and the older one without
//! discriminators. Of accounts, the description says little more than names: a signer is one of two
//! users, unless an account of that name is also passed without signing; the addresses of other
//! accounts follow from their seeds or from their names.

use core::{cell::Cell, fmt};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use selkie::{AccountMeta, Instruction, Pubkey, Svm, address};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{args::Args, target::Target};

/// A description that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdlError(String);

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an interface description: {}", self.0)
    }
}

impl core::error::Error for IdlError {}

/// The users that sign, each with [`USER_LAMPORTS`].
const USERS: [&str; 2] = ["user 0", "user 1"];
const USER_LAMPORTS: u64 = 1_000_000_000_000;
/// How deep types may nest.
const DEPTH_MAX: usize = 16;
/// How many values the arguments of a call may have, since values may take no bytes.
const VALUES_MAX: u32 = 1 << 14;
/// The most elements of a list, and bytes of a text, that are made up.
const ELEMENTS_MAX: u8 = 8;
const TEXT_BYTES_MAX: usize = 32;
/// The most instructions of a description, and accounts of one of them.
const INSTRUCTIONS_MAX: usize = 256;
const ACCOUNTS_MAX: usize = 255;

/// An interface description: the instructions of a program, with their accounts and arguments.
#[derive(Clone, Debug)]
pub struct Idl {
    /// The program's address, if the description has it.
    pub address: Option<Pubkey>,
    instructions: Vec<Entry>,
    types: Arc<Types>,
    /// Names of accounts that some instruction takes without their signature.
    unsigned: BTreeSet<String>,
}

/// The types that a program defines, by name.
type Types = BTreeMap<String, Value>;

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    discriminator: Vec<u8>,
    accounts: Vec<AccountEntry>,
    /// Names and types of the arguments.
    args: Vec<(String, Value)>,
}

#[derive(Clone, Debug)]
struct AccountEntry {
    name: String,
    is_signer: bool,
    is_writable: bool,
    is_optional: bool,
    address: Option<Pubkey>,
    /// The seeds of a program derived address, and the program, if it is another one.
    pda: Option<(Vec<Seed>, Option<Pubkey>)>,
}

#[derive(Clone, Debug)]
enum Seed {
    Bytes(Vec<u8>),
    /// The address of the account of this name.
    Account(String),
    /// The bytes of the argument of this name.
    Argument(String),
}

impl Idl {
    /// Parses the text of a description.
    ///
    /// # Errors
    /// If it is not JSON, or describes no instructions.
    pub fn parse(text: &str) -> Result<Self, IdlError> {
        let idl: Value = serde_json::from_str(text).map_err(|it| IdlError(it.to_string()))?;
        let instructions = list(&idl, "instructions")?;
        if instructions.is_empty() || instructions.len() > INSTRUCTIONS_MAX {
            return Err(IdlError(format!("it has {} instructions", instructions.len())));
        }
        let entry = |(index, value)| {
            entry(value).map_err(|IdlError(why)| IdlError(format!("instructions[{index}]: {why}")))
        };
        let instructions: Vec<Entry> =
            instructions.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
        let mut types = Types::new();
        // Older descriptions list the types of accounts apart.
        for value in ["types", "accounts"].iter().filter_map(|name| idl.get(name)?.as_array()) {
            for value in value {
                if let (Some(name), Some(it)) = (text_of(value, "name"), value.get("type")) {
                    types.insert(name, it.clone());
                }
            }
        }
        let accounts = instructions.iter().flat_map(|it| &it.accounts);
        let unsigned = accounts.filter(|it| !it.is_signer).map(|it| it.name.clone()).collect();
        let address = text_of(&idl, "address")
            .or_else(|| text_of(idl.get("metadata")?, "address"))
            .and_then(|it| it.parse().ok());
        Ok(Self { address, instructions, types: Arc::new(types), unsigned })
    }

    /// Creates a target on copies of a chain that has the program at this address: an action for
    /// each instruction, with arguments of its types.
    #[must_use]
    pub fn target(&self, svm: &Svm, program: Pubkey) -> Target {
        let chain = svm.clone();
        let setup = move || {
            let mut svm = chain.clone();
            for user in USERS {
                // An account whose balance would overflow has enough.
                let _ = svm.airdrop(&address(user), USER_LAMPORTS);
            }
            svm
        };
        self.instructions.iter().fold(Target::new(setup), |target, entry| {
            let (entry, types) = (entry.clone(), Arc::clone(&self.types));
            let unsigned = self.unsigned.clone();
            let name = entry.name.clone();
            target.action(&name, move |session| {
                let call = Call {
                    entry: &entry,
                    types: &types,
                    unsigned: &unsigned,
                    program,
                    values_left: Cell::new(VALUES_MAX),
                };
                let instruction = call.instruction(&mut session.args);
                session.send(&[instruction]);
            })
        })
    }
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], IdlError> {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).ok_or_else(|| IdlError(format!("it has no list `{name}`")))
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn entry(value: &Value) -> Result<Entry, IdlError> {
    let name = text_of(value, "name").ok_or_else(|| IdlError("it has no `name`".to_owned()))?;
    let mut accounts = Vec::new();
    flatten(list(value, "accounts")?, &mut accounts, 0);
    if accounts.len() > ACCOUNTS_MAX {
        return Err(IdlError(format!("`{name}` has {} accounts", accounts.len())));
    }
    let args = list(value, "args")?.iter().filter_map(|arg| {
        Some((text_of(arg, "name")?, arg.get("type").cloned().unwrap_or(Value::Null)))
    });
    let discriminator = value.get("discriminator").and_then(bytes_of);
    let discriminator = discriminator.unwrap_or_else(|| {
        let digest = Sha256::digest(format!("global:{}", snake_case(&name)).as_bytes());
        digest.iter().take(8).copied().collect()
    });
    Ok(Entry { discriminator, accounts, args: args.collect(), name })
}

/// Lists the accounts of an instruction. Some are grouped.
fn flatten(values: &[Value], accounts: &mut Vec<AccountEntry>, depth: usize) {
    for value in values {
        match value.get("accounts").and_then(Value::as_array) {
            Some(group) if depth < DEPTH_MAX => flatten(group, accounts, depth.saturating_add(1)),
            _ => accounts.extend(account(value)),
        }
    }
}

fn account(value: &Value) -> Option<AccountEntry> {
    let flag = |names: [&str; 2]| names.iter().any(|it| value.get(it) == Some(&Value::Bool(true)));
    let key = |value: &Value, name: &str| text_of(value, name)?.parse::<Pubkey>().ok();
    let pda = value.get("pda").and_then(|pda| {
        let seeds = pda.get("seeds")?.as_array()?.iter().map(seed).collect::<Option<_>>()?;
        let program = pda.get("program").and_then(|it| bytes_of(it.get("value")?));
        Some((seeds, program.and_then(|it| Pubkey::try_from(it).ok())))
    });
    let name = text_of(value, "name")?;
    Some(AccountEntry {
        is_signer: flag(["signer", "isSigner"]),
        is_writable: flag(["writable", "isMut"]),
        is_optional: flag(["optional", "isOptional"]),
        address: key(value, "address").or_else(|| well_known(&name)),
        pda,
        name,
    })
}

/// Returns the address of an account that older descriptions only name.
fn well_known(name: &str) -> Option<Pubkey> {
    let known = match snake_case(name).as_str() {
        "system_program" => "11111111111111111111111111111111",
        "token_program" => "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        "associated_token_program" => "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
        "rent" => "SysvarRent111111111111111111111111111111111",
        "clock" => "SysvarC1ock11111111111111111111111111111111",
        _ => return None,
    };
    known.parse().ok()
}

fn seed(value: &Value) -> Option<Seed> {
    let path = || {
        let path = text_of(value, "path")?;
        // Fields of accounts and arguments cannot be followed.
        (!path.contains('.')).then_some(path)
    };
    match value.get("kind")?.as_str()? {
        "const" => Some(Seed::Bytes(bytes_of(value.get("value")?)?)),
        "account" => Some(Seed::Account(path()?)),
        "arg" => Some(Seed::Argument(path()?)),
        _ => None,
    }
}

/// Returns a list of bytes, or a text as bytes.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let byte = |it: &Value| it.as_u64().and_then(|it| u8::try_from(it).ok());
    value.as_array()?.iter().map(byte).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// A call of an instruction.
struct Call<'a> {
    entry: &'a Entry,
    types: &'a Types,
    unsigned: &'a BTreeSet<String>,
    program: Pubkey,
    /// How many more values the arguments may have.
    values_left: Cell<u32>,
}

impl Call<'_> {
    /// Makes the instruction: first the accounts, then the arguments.
    fn instruction(&self, args: &mut Args<'_>) -> Instruction {
        let Entry { discriminator, accounts, .. } = self.entry;
        let mut keys: Vec<Option<Pubkey>> =
            accounts.iter().map(|it| self.plain_key(it, args)).collect();
        let mut data = discriminator.clone();
        let mut arguments = BTreeMap::new();
        for (name, kind) in &self.entry.args {
            let start = data.len();
            self.encode(kind, args, &mut data, 0);
            let bytes = data.get(start..).unwrap_or_default().to_vec();
            arguments.insert(name.as_str(), bytes);
        }
        // An address may follow from that of another account.
        for _ in accounts {
            for (index, account) in accounts.iter().enumerate() {
                if keys.get(index).is_some_and(Option::is_none) {
                    let derived = self.derived_key(account, &keys, &arguments);
                    if let Some(key) = keys.get_mut(index) {
                        *key = derived;
                    }
                }
            }
        }
        let metas = accounts.iter().zip(keys).map(|(account, key)| {
            let pubkey = key.unwrap_or_else(|| address(&account.name));
            // The program stands for an account that is left out.
            let is_there = pubkey != self.program;
            let (is_signer, is_writable) = (account.is_signer, account.is_writable && is_there);
            AccountMeta { pubkey, is_signer: is_signer && is_there, is_writable }
        });
        Instruction { program_id: self.program, accounts: metas.collect(), data }
    }

    /// Returns the address of an account that does not depend on others; `None` for one that does.
    fn plain_key(&self, account: &AccountEntry, args: &mut Args<'_>) -> Option<Pubkey> {
        if account.is_optional && args.bool() {
            return Some(self.program);
        }
        if account.address.is_some() || account.pda.is_some() {
            return account.address;
        }
        Some(match account.is_signer && !self.unsigned.contains(&account.name) {
            true => address(args.pick::<&str>(&USERS)),
            false => address(&account.name),
        })
    }

    fn derived_key(
        &self,
        account: &AccountEntry,
        keys: &[Option<Pubkey>],
        arguments: &BTreeMap<&str, Vec<u8>>,
    ) -> Option<Pubkey> {
        let (seeds, program) = account.pda.as_ref()?;
        let key_of = |name: &str| {
            let index = self.entry.accounts.iter().position(|it| it.name == name)?;
            keys.get(index).copied().flatten()
        };
        let bytes = |seed: &Seed| match seed {
            Seed::Bytes(bytes) => Some(bytes.clone()),
            Seed::Account(name) => key_of(name).map(|key| key.to_bytes().to_vec()),
            Seed::Argument(name) => {
                let bytes = arguments.get(name.as_str())?;
                let is_text = self.entry.args.iter().any(|(it, kind)| {
                    it == name && matches!(kind.as_str(), Some("string" | "bytes"))
                });
                // The length of a text is not part of the seed.
                Some(if is_text { bytes.get(4..)?.to_vec() } else { bytes.clone() })
            }
        };
        let seeds: Vec<Vec<u8>> = seeds.iter().map(bytes).collect::<Option<_>>()?;
        let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
        let program = program.as_ref().unwrap_or(&self.program);
        Pubkey::try_find_program_address(&seeds, program).map(|(key, _)| key)
    }

    /// Appends a value of a type in Borsh's encoding.
    fn encode(&self, kind: &Value, args: &mut Args<'_>, data: &mut Vec<u8>, depth: usize) {
        let Some(left) = self.values_left.get().checked_sub(1) else { return };
        self.values_left.set(left);
        if depth > DEPTH_MAX || data.len() > crate::call_sequence::DATA_BYTES_MAX {
            return;
        }
        if let Some(name) = kind.as_str() {
            return self.encode_plain(name, args, data);
        }
        let deeper = depth.saturating_add(1);
        if let Some(element) = kind.get("vec") {
            let count = args.u8() % (ELEMENTS_MAX + 1);
            data.extend(u32::from(count).to_le_bytes());
            (0..count).for_each(|_| self.encode(element, args, data, deeper));
        } else if let Some(value) = kind.get("option") {
            let is_some = args.bool();
            data.push(is_some.into());
            if is_some {
                self.encode(value, args, data, deeper);
            }
        } else if let Some(value) = kind.get("coption") {
            let is_some = args.bool();
            data.extend(u32::from(is_some).to_le_bytes());
            self.encode(value, args, data, deeper);
        } else if let Some([element, count]) =
            kind.get("array").and_then(Value::as_array).map(Vec::as_slice)
        {
            let count = count.as_u64().unwrap_or(0).min(VALUES_MAX.into());
            let mut left = 0..count;
            while self.values_left.get() > 0 && left.next().is_some() {
                self.encode(element, args, data, deeper);
            }
        } else if let Some(defined) = kind.get("defined") {
            let name = defined.as_str().or_else(|| defined.get("name")?.as_str());
            if let Some(definition) = name.and_then(|name| self.types.get(name)) {
                self.encode_defined(definition, args, data, deeper);
            }
        }
    }

    fn encode_plain(&self, name: &str, args: &mut Args<'_>, data: &mut Vec<u8>) {
        match name {
            "bool" => data.push(args.bool().into()),
            "u8" | "i8" => data.push(args.u8()),
            "u16" | "i16" => data.extend(args.array::<2>()),
            "u32" | "i32" | "f32" => data.extend(args.array::<4>()),
            "u64" | "i64" | "f64" => data.extend(args.array::<8>()),
            "u128" | "i128" => data.extend(args.array::<16>()),
            "u256" | "i256" => data.extend(args.array::<32>()),
            "pubkey" | "publicKey" => {
                let names = self.entry.accounts.iter().map(|it| it.name.as_str());
                let names: Vec<&str> = USERS.into_iter().chain(names).collect();
                data.extend(address(args.pick::<&str>(&names)).to_bytes());
            }
            "string" => {
                let letters = args.bytes(TEXT_BYTES_MAX).iter().map(|byte| byte & 0x7f);
                let letters: Vec<u8> = letters.collect();
                data.extend(u32::try_from(letters.len()).unwrap_or(0).to_le_bytes());
                data.extend(letters);
            }
            "bytes" => {
                let bytes = args.bytes(TEXT_BYTES_MAX);
                data.extend(u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
                data.extend(bytes);
            }
            _ => {}
        }
    }

    fn encode_defined(&self, kind: &Value, args: &mut Args<'_>, data: &mut Vec<u8>, depth: usize) {
        let fields = |value: &Value| value.get("fields").and_then(Value::as_array).cloned();
        match kind.get("kind").and_then(Value::as_str) {
            Some("enum") => {
                let variants = kind.get("variants").and_then(Value::as_array);
                let count = variants.map_or(0, Vec::len).min(usize::from(u8::MAX));
                let number = usize::from(args.u8()).checked_rem(count).unwrap_or(0);
                data.push(u8::try_from(number).unwrap_or(0));
                let variant = variants.and_then(|it| it.get(number));
                self.encode_fields(variant.and_then(fields), args, data, depth);
            }
            Some("type") | Some("alias") => {
                let aliased = kind.get("alias").or_else(|| kind.get("value"));
                if let Some(aliased) = aliased {
                    self.encode(aliased, args, data, depth);
                }
            }
            _ => self.encode_fields(fields(kind), args, data, depth),
        }
    }

    /// Appends the fields of a struct or variant, which have names or only types.
    fn encode_fields(
        &self,
        fields: Option<Vec<Value>>,
        args: &mut Args<'_>,
        data: &mut Vec<u8>,
        depth: usize,
    ) {
        for field in fields.unwrap_or_default() {
            let kind = field.get("type").unwrap_or(&field);
            self.encode(kind, args, data, depth);
        }
    }
}
