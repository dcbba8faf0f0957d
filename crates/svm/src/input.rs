//! The input of a program: accounts, instruction data and program id in one buffer, both ways.
//!
//! [`Layout`] alone knows where what lies; writing, reading back and whatever else points into the
//! buffer ask it. Programs index into the buffer by fixed offsets, so each byte of it is part of
//! the protocol (agave: `serialization.rs`).

pub mod explain;

use solana_account::Account;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    context::{InstructionContext, TransactionContext},
    cost::{ACCOUNT_BYTES_MAX, ACCOUNT_GROWTH_MAX, INSTRUCTION_ACCOUNTS_MAX},
};

/// Marks an account that was not named before.
pub const NOT_DUPLICATE: u8 = 0xff;
/// What numbers and account data are aligned to.
pub const ALIGNMENT: usize = 8;
/// The epoch at which every account owes its next rent: never.
pub const RENT_EPOCH: u64 = u64::MAX;

/// How the input is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Abi {
    /// Numbers at multiples of eight, room to grow behind account data: loaders v2 to v4.
    Aligned,
    /// Packed, no room to grow: loader v1.
    Unaligned,
}

/// Where the fields of an account lie in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountLayout {
    /// The marker, followed by the flags for signer and writable.
    pub record: usize,
    /// 32 bytes.
    pub key: usize,
    /// 32 bytes.
    pub owner: usize,
    /// 8 bytes.
    pub lamports: usize,
    /// 8 bytes.
    pub data_len: usize,
    /// As many bytes as [`AccountLayout::data_bytes`], then the room to grow.
    pub data: usize,
    /// The length of the data when they were written.
    pub data_bytes: usize,
    /// How many bytes the data may become.
    pub data_capacity: usize,
    /// 1 byte.
    pub executable: usize,
    /// 8 bytes.
    pub rent_epoch: usize,
    /// One past the last byte.
    pub end: usize,
}

/// An account of an instruction, or that it was named before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// Named for the first time.
    Account(AccountLayout),
    /// Named before.
    Duplicate {
        /// Where the one byte lies.
        record: usize,
        /// The account's first place.
        of: usize,
    },
}

/// Where everything lies in the buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What decided it.
    pub abi: Abi,
    /// One for each account.
    pub records: Vec<Record>,
    /// The length of the instruction data, 8 bytes.
    pub instruction_data_len: usize,
    /// The instruction data.
    pub instruction_data: usize,
    /// 32 bytes.
    pub program_id: usize,
    /// Bytes of the buffer.
    pub len: usize,
}

/// What a layout must know of an account.
enum Slot {
    /// The account has so many bytes of data.
    Data(usize),
    /// The account was named before, at this place.
    Duplicate(usize),
}

#[allow(clippy::arithmetic_side_effects, reason = "accounts fit into memory")]
impl AccountLayout {
    fn aligned(record: usize, data_bytes: usize) -> Self {
        let data = record + 88;
        let data_capacity = data_bytes + ACCOUNT_GROWTH_MAX;
        // The buffer starts at a multiple of eight, and so does every record.
        let rent_epoch = (data + data_capacity).next_multiple_of(ALIGNMENT);
        Self {
            record,
            executable: record + 3,
            key: record + 8,
            owner: record + 40,
            lamports: record + 72,
            data_len: record + 80,
            data,
            data_bytes,
            data_capacity,
            rent_epoch,
            end: rent_epoch + 8,
        }
    }

    fn unaligned(record: usize, data_bytes: usize) -> Self {
        let data = record + 51;
        let owner = data + data_bytes;
        Self {
            record,
            key: record + 3,
            lamports: record + 35,
            data_len: record + 43,
            data,
            data_bytes,
            data_capacity: data_bytes,
            owner,
            executable: owner + 32,
            rent_epoch: owner + 33,
            end: owner + 41,
        }
    }
}

#[allow(clippy::arithmetic_side_effects, reason = "accounts fit into memory")]
impl Layout {
    /// Lays out an input: the only place that says what lies where.
    fn new(abi: Abi, slots: impl IntoIterator<Item = Slot>, data_len: usize) -> Self {
        let mut end = 8;
        let mut records = Vec::new();
        for slot in slots {
            let record = match (slot, abi) {
                (Slot::Data(bytes), Abi::Aligned) => {
                    Record::Account(AccountLayout::aligned(end, bytes))
                }
                (Slot::Data(bytes), Abi::Unaligned) => {
                    Record::Account(AccountLayout::unaligned(end, bytes))
                }
                (Slot::Duplicate(of), _) => Record::Duplicate { record: end, of },
            };
            end = match (record, abi) {
                (Record::Account(account), _) => account.end,
                (Record::Duplicate { record, .. }, Abi::Aligned) => record + 8,
                (Record::Duplicate { record, .. }, Abi::Unaligned) => record + 1,
            };
            records.push(record);
        }
        let instruction_data = end + 8;
        let program_id = instruction_data + data_len;
        Self {
            abi,
            records,
            instruction_data_len: end,
            instruction_data,
            program_id,
            len: program_id + 32,
        }
    }

    fn of(abi: Abi, accounts: &[InputAccount<'_>], data: &[u8]) -> Self {
        let slots = accounts.iter().map(|account| match account {
            InputAccount::Account { account, .. } => Slot::Data(account.data.len()),
            InputAccount::Duplicate(of) => Slot::Duplicate(*of),
        });
        Self::new(abi, slots, data.len())
    }
}

/// An account as a program gets to see it.
#[derive(Clone, Copy, Debug)]
pub enum InputAccount<'a> {
    /// Named for the first time.
    Account {
        /// Its address.
        key: &'a Pubkey,
        /// Its state.
        account: &'a Account,
        /// Whether it signed.
        is_signer: bool,
        /// Whether it may be changed.
        is_writable: bool,
    },
    /// Named before, at this place.
    Duplicate(usize),
}

/// The input of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// What the program gets to see, and may change.
    pub bytes: Vec<u8>,
    /// Where everything lies.
    pub layout: Layout,
}

/// Writes the input of a program.
///
/// # Errors
/// [`InstructionError::MaxAccountsExceeded`] for more than 255 accounts.
pub fn serialize(
    abi: Abi,
    accounts: &[InputAccount<'_>],
    data: &[u8],
    program_id: &Pubkey,
) -> Result<Input, InstructionError> {
    check_count(accounts.len())?;
    let layout = Layout::of(abi, accounts, data);
    let mut writer = Writer { bytes: vec![0; layout.len] };
    writer.put_u64(0, accounts.len());
    for (record, account) in layout.records.iter().zip(accounts) {
        match (record, account) {
            (
                Record::Account(at),
                InputAccount::Account { key, account, is_signer, is_writable },
            ) => {
                let flags = [NOT_DUPLICATE, u8::from(*is_signer), u8::from(*is_writable)];
                writer.put(at.record, &flags);
                writer.put_account(at, key, account);
            }
            (Record::Duplicate { record, of }, _) => {
                writer.put(*record, &[u8::try_from(*of).unwrap_or(NOT_DUPLICATE)]);
            }
            (Record::Account(_), InputAccount::Duplicate(_)) => {
                unreachable!("the layout was made of these accounts")
            }
        }
    }
    writer.put_u64(layout.instruction_data_len, data.len());
    writer.put(layout.instruction_data, data);
    writer.put(layout.program_id, program_id.as_ref());
    Ok(Input { bytes: writer.bytes, layout })
}

fn check_count(accounts: usize) -> Result<(), InstructionError> {
    if accounts > INSTRUCTION_ACCOUNTS_MAX {
        return Err(InstructionError::MaxAccountsExceeded);
    }
    Ok(())
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..][..bytes.len()].copy_from_slice(bytes);
    }

    fn put_u64(&mut self, at: usize, value: usize) {
        self.put(at, &(value as u64).to_le_bytes());
    }

    fn put_account(&mut self, at: &AccountLayout, key: &Pubkey, account: &Account) {
        self.put(at.executable, &[u8::from(account.executable)]);
        self.put(at.key, key.as_ref());
        self.put(at.owner, account.owner.as_ref());
        self.put(at.lamports, &account.lamports.to_le_bytes());
        self.put_u64(at.data_len, account.data.len());
        self.put(at.data, &account.data);
        self.put(at.rent_epoch, &RENT_EPOCH.to_le_bytes());
    }
}

/// A change that a program made and may not make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedChange {
    /// The account's first place in the instruction.
    pub account: usize,
    /// The rule that it broke.
    pub error: InstructionError,
}

/// Writes an instruction's input.
pub(crate) fn serialize_instruction(
    abi: Abi,
    instruction: &InstructionContext,
    transaction: &TransactionContext,
) -> Result<Input, InstructionError> {
    check_count(instruction.accounts.len())?;
    let accounts: Vec<InputAccount<'_>> = instruction
        .accounts
        .iter()
        .zip(instruction.duplicates())
        .map(|(meta, duplicate)| match duplicate {
            Some(of) => InputAccount::Duplicate(of),
            None => {
                let (key, account) = transaction.account(meta.index);
                let (is_signer, is_writable) = (meta.is_signer, meta.is_writable);
                InputAccount::Account { key, account, is_signer, is_writable }
            }
        })
        .collect();
    serialize(abi, &accounts, &instruction.data, &instruction.program_id)
}

/// Takes over what a program changed in its input: account by account, and of each lamports
/// before data before owner.
pub(crate) fn deserialize_instruction(
    input: &Input,
    instruction: &InstructionContext,
    transaction: &mut TransactionContext,
) -> Result<(), RefusedChange> {
    for (place, record) in input.layout.records.iter().enumerate() {
        if let Record::Account(at) = record {
            take_account(input, at, instruction, place, transaction)
                .map_err(|error| RefusedChange { account: place, error })?;
        }
    }
    Ok(())
}

fn take_account(
    input: &Input,
    at: &AccountLayout,
    instruction: &InstructionContext,
    place: usize,
    transaction: &mut TransactionContext,
) -> Result<(), InstructionError> {
    let meta = instruction.accounts.get(place).ok_or(InstructionError::MissingAccount)?;
    let mut account = transaction.borrow(*meta, &instruction.program_id);
    let lamports = read_u64(&input.bytes, at.lamports)?;
    if account.get().lamports != lamports {
        account.set_lamports(lamports)?;
    }
    let len = match input.layout.abi {
        Abi::Aligned => data_len(input, at)?,
        Abi::Unaligned => at.data_bytes,
    };
    let data = read(&input.bytes, at.data, len)?;
    match account.can_resize_data(len) {
        Ok(()) => account.set_data(data)?,
        Err(error) if account.get().data != data => return Err(error),
        Err(_) => {}
    }
    if input.layout.abi == Abi::Aligned {
        let owner = read(&input.bytes, at.owner, 32)?;
        if account.get().owner.as_ref() != owner {
            let owner = <[u8; 32]>::try_from(owner).expect("32 bytes were read");
            account.set_owner(Pubkey::new_from_array(owner))?;
        }
    }
    Ok(())
}

/// The length that the program gave an account.
fn data_len(input: &Input, at: &AccountLayout) -> Result<usize, InstructionError> {
    let len = read_u64(&input.bytes, at.data_len)?;
    usize::try_from(len)
        .ok()
        .filter(|len| *len <= at.data_capacity && *len <= ACCOUNT_BYTES_MAX)
        .ok_or(InstructionError::InvalidRealloc)
}

fn read(bytes: &[u8], at: usize, len: usize) -> Result<&[u8], InstructionError> {
    let found = bytes.get(at..).and_then(|rest| rest.get(..len));
    found.ok_or(InstructionError::InvalidArgument)
}

fn read_u64(bytes: &[u8], at: usize) -> Result<u64, InstructionError> {
    let word = read(bytes, at, 8)?.first_chunk().expect("8 bytes were read");
    Ok(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::InstructionAccount;

    const PROGRAM: Pubkey = Pubkey::new_from_array([1; 32]);

    /// The program's own account, writable; its own, read-only; and another program's, writable.
    fn transaction() -> TransactionContext {
        let account =
            |owner| Account { lamports: 9, data: vec![3; 11], owner, ..Account::default() };
        let owners = [PROGRAM, PROGRAM, Pubkey::default()];
        let keys = (10..).map(|byte| Pubkey::new_from_array([byte; 32]));
        TransactionContext::new(keys.zip(owners.map(account)).collect())
    }

    fn instruction() -> InstructionContext {
        let account =
            |index, is_writable| InstructionAccount { index, is_signer: false, is_writable };
        InstructionContext {
            program_id: PROGRAM,
            accounts: vec![account(0, true), account(1, false), account(0, true), account(2, true)],
            data: vec![5; 3],
            height: 1,
            caller: None,
        }
    }

    /// Where stores matter: the numbers, data and owners of all accounts.
    fn places(layout: &Layout) -> Vec<usize> {
        let of = |record: &Record| match record {
            Record::Account(at) => vec![at.lamports, at.data_len, at.data, at.owner, at.record],
            Record::Duplicate { record, .. } => vec![*record],
        };
        layout.records.iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn no_store_changes_what_is_not_the_programs(
            aligned in any::<bool>(),
            stores in proptest::collection::vec(
                (any::<prop::sample::Index>(), 0_usize..9, any::<u8>()),
                0..6,
            ),
        ) {
            let abi = if aligned { Abi::Aligned } else { Abi::Unaligned };
            let mut transaction = transaction();
            let mut input = serialize_instruction(abi, &instruction(), &transaction).unwrap();
            let places = places(&input.layout);
            for (place, offset, byte) in stores {
                input.bytes[place.get(&places) + offset] = byte;
            }
            let before = self::transaction();
            let result = deserialize_instruction(&input, &instruction(), &mut transaction);
            prop_assert_eq!(transaction.account(1), before.account(1));
            let (theirs, theirs_before) = (&transaction.account(2).1, &before.account(2).1);
            prop_assert!(theirs.lamports >= theirs_before.lamports);
            prop_assert_eq!((&theirs.data, theirs.owner), (&theirs_before.data, theirs_before.owner));
            if result.is_ok() && aligned {
                let Record::Account(at) = &input.layout.records[0] else { unreachable!() };
                let lamports = read_u64(&input.bytes, at.lamports).unwrap();
                prop_assert_eq!(transaction.account(0).1.lamports, lamports);
            }
        }
    }
}
