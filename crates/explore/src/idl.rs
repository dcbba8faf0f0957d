//! Targets made of the description of a program's interface that Anchor or Codama writes.
//!
//! Of accounts, the description says little more than names: a signer is one of two users, unless an
//! account of that name is also passed without signing; the addresses of other accounts follow from
//! their seeds or from their names.

use core::cell::Cell;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use selkie_idl::IdlError;

use selkie::{AccountMeta, Instruction, Pubkey, Svm, address};
use selkie_idl::{Place, Seed};
use selkie_layout::{
    instruction,
    kind::{Field, Kind, Lens, Tag},
    role::Role,
};

use crate::{args::Args, target::Target};

/// The users that sign, each with [`USER_LAMPORTS`].
const USERS: [&str; 2] = ["user 0", "user 1"];
const USER_LAMPORTS: u64 = 1_000_000_000_000;
/// How deep values may nest.
const DEPTH_MAX: usize = 16;
/// How many values the arguments of a call may have, since values may take no bytes.
const VALUES_MAX: u32 = 1 << 14;
/// The most elements of a list, and bytes of a text, that are made up.
const ELEMENTS_MAX: u8 = 8;
const TEXT_BYTES_MAX: usize = 32;

/// An interface description: the instructions of a program, with their accounts and arguments.
#[derive(Clone, Debug)]
pub struct Idl {
    /// The program's address, if the description has it.
    pub address: Option<Pubkey>,
    instructions: Arc<[(instruction::Instruction, Vec<Place>)]>,
    /// Names of accounts that some instruction takes without their signature.
    unsigned: Arc<BTreeSet<String>>,
}

impl Idl {
    /// Parses the text of a description.
    ///
    /// # Errors
    /// If it is not JSON, or describes no instructions.
    pub fn parse(text: &str) -> Result<Self, IdlError> {
        let selkie_idl::Idl { address, instructions, .. } = selkie_idl::Idl::parse(text)?;
        let roles = instructions.iter().flat_map(|(row, _)| row.roles.iter());
        let unsigned = roles.filter(|it| !it.is_signer).map(|it| it.name.to_string()).collect();
        Ok(Self { address, instructions: instructions.into(), unsigned: Arc::new(unsigned) })
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
        self.instructions.iter().fold(Target::new(setup), |target, (row, places)| {
            let (row, places) = (row.clone(), places.clone());
            let unsigned = Arc::clone(&self.unsigned);
            let name = row.name.to_string();
            target.action(&name, move |session| {
                let call = Call {
                    row: &row,
                    places: &places,
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

/// A call of an instruction.
struct Call<'a> {
    row: &'a instruction::Instruction,
    places: &'a [Place],
    unsigned: &'a BTreeSet<String>,
    program: Pubkey,
    /// How many more values the arguments may have.
    values_left: Cell<u32>,
}

impl Call<'_> {
    fn accounts(&self) -> impl Iterator<Item = (&Role, &Place)> {
        self.row.roles.iter().zip(self.places)
    }

    /// Makes the instruction: first the accounts, then the arguments.
    fn instruction(&self, args: &mut Args<'_>) -> Instruction {
        let mut keys: Vec<Option<Pubkey>> =
            self.accounts().map(|(role, place)| self.plain_key(role, place, args)).collect();
        let mut data = self.row.tag.to_vec();
        let mut arguments = BTreeMap::new();
        for Field { name, kind, .. } in self.row.fields.iter() {
            let start = data.len();
            self.encode(kind, args, &mut data, 0);
            let bytes = data.get(start..).unwrap_or_default().to_vec();
            arguments.insert(&**name, bytes);
        }
        // An address may follow from that of another account.
        for _ in self.places {
            for (index, place) in self.places.iter().enumerate() {
                if keys.get(index).is_some_and(Option::is_none) {
                    let derived = self.derived_key(place, &keys, &arguments);
                    if let Some(key) = keys.get_mut(index) {
                        *key = derived;
                    }
                }
            }
        }
        let metas = self.row.roles.iter().zip(keys).map(|(role, key)| {
            let pubkey = key.unwrap_or_else(|| address(&role.name));
            // The program stands for an account that is left out.
            let is_there = pubkey != self.program;
            let (is_signer, is_writable) = (role.is_signer, role.is_writable && is_there);
            AccountMeta { pubkey, is_signer: is_signer && is_there, is_writable }
        });
        Instruction { program_id: self.program, accounts: metas.collect(), data }
    }

    /// Returns the address of an account that does not depend on others; `None` for one that does.
    fn plain_key(&self, role: &Role, place: &Place, args: &mut Args<'_>) -> Option<Pubkey> {
        if place.is_optional && args.bool() {
            return Some(self.program);
        }
        if role.address.is_some() || place.pda.is_some() {
            return role.address;
        }
        Some(match role.is_signer && !self.unsigned.contains(&*role.name) {
            true => address(args.pick::<&str>(&USERS)),
            false => address(&role.name),
        })
    }

    fn derived_key(
        &self,
        place: &Place,
        keys: &[Option<Pubkey>],
        arguments: &BTreeMap<&str, Vec<u8>>,
    ) -> Option<Pubkey> {
        let (seeds, program) = place.pda.as_ref()?;
        let key_of = |name: &str| {
            let index = self.row.roles.iter().position(|it| it.name == name)?;
            keys.get(index).copied().flatten()
        };
        let bytes = |seed: &Seed| match seed {
            Seed::Bytes(bytes) => Some(bytes.clone()),
            Seed::Account(name) => key_of(name).map(|key| key.to_bytes().to_vec()),
            Seed::Argument(name) => {
                let bytes = arguments.get(name.as_str())?;
                let is_text =
                    self.row.fields.iter().any(|it| {
                        it.name == *name && matches!(it.kind, Kind::Text(_) | Kind::Blob(_))
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

    /// Appends a value of a kind.
    fn encode(&self, kind: &Kind, args: &mut Args<'_>, data: &mut Vec<u8>, depth: usize) {
        let Some(left) = self.values_left.get().checked_sub(1) else { return };
        self.values_left.set(left);
        if depth > DEPTH_MAX || data.len() > crate::call_sequence::DATA_BYTES_MAX {
            return;
        }
        let deeper = depth.saturating_add(1);
        match kind {
            Kind::Bool => data.push(args.bool().into()),
            Kind::F32 => data.extend(args.array::<4>()),
            Kind::F64 => data.extend(args.array::<8>()),
            Kind::Unsigned(bytes) | Kind::Signed(bytes) | Kind::Bytes(bytes) => {
                let count = (*bytes).min(crate::call_sequence::DATA_BYTES_MAX);
                data.extend((0..count).map(|_| args.u8()));
            }
            Kind::Key => {
                let names = self.row.roles.iter().map(|it| &*it.name);
                let names: Vec<&str> = USERS.into_iter().chain(names).collect();
                data.extend(address(args.pick::<&str>(&names)).to_bytes());
            }
            Kind::Text(lens) => put_text(Some(*lens), args, data),
            Kind::Rest => put_text(None, args, data),
            Kind::Blob(lens) => {
                let bytes = args.bytes(TEXT_BYTES_MAX);
                put_number(*lens, bytes.len(), data);
                data.extend(bytes);
            }
            Kind::Option(tag, value) => self.encode_option(*tag, value, args, data, deeper),
            Kind::Struct(fields) => self.encode_fields(fields, args, data, deeper),
            Kind::Enum(lens, variants) => {
                let number = usize::from(args.u8()).checked_rem(variants.len()).unwrap_or(0);
                put_number(*lens, number, data);
                if let Some(variant) = variants.get(number) {
                    self.encode_fields(&variant.fields, args, data, deeper);
                }
            }
            Kind::List(lens, element) => {
                let count = args.u8() % (ELEMENTS_MAX + 1);
                if let Some(lens) = lens {
                    put_number(*lens, count.into(), data);
                }
                (0..count).for_each(|_| self.encode(element, args, data, deeper));
            }
            Kind::Array(count, element) => {
                let mut left = 0..*count;
                while self.values_left.get() > 0 && left.next().is_some() {
                    self.encode(element, args, data, deeper);
                }
            }
            Kind::Other(_) | Kind::Unknown => {}
        }
    }

    fn encode_option(
        &self,
        tag: Tag,
        value: &Kind,
        args: &mut Args<'_>,
        data: &mut Vec<u8>,
        depth: usize,
    ) {
        let is_some = args.bool();
        match tag {
            Tag::One => data.push(is_some.into()),
            Tag::Four => data.extend(u32::from(is_some).to_le_bytes()),
            Tag::Zero | Tag::Max => {}
        }
        if is_some || tag == Tag::Four {
            self.encode(value, args, data, depth);
        } else if tag != Tag::One {
            let byte = if tag == Tag::Max { 0xff } else { 0 };
            let end = data.len().saturating_add(value.bytes().unwrap_or(0));
            data.resize(end.min(crate::call_sequence::DATA_BYTES_MAX), byte);
        }
    }

    fn encode_fields(
        &self,
        fields: &[Field],
        args: &mut Args<'_>,
        data: &mut Vec<u8>,
        depth: usize,
    ) {
        for field in fields {
            self.encode(&field.kind, args, data, depth);
        }
    }
}

fn put_text(lens: Option<Lens>, args: &mut Args<'_>, data: &mut Vec<u8>) {
    let letters = args.bytes(TEXT_BYTES_MAX).iter().map(|byte| byte & 0x7f);
    let letters: Vec<u8> = letters.collect();
    if let Some(lens) = lens {
        put_number(lens, letters.len(), data);
    }
    data.extend(letters);
}

fn put_number(lens: Lens, number: usize, data: &mut Vec<u8>) {
    let bytes = (number as u64).to_le_bytes();
    data.extend(bytes.get(..lens.bytes()).unwrap_or_default());
}
