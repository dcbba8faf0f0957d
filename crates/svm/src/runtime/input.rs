//! Serializes the input of a program (accounts, instruction data and program id in one buffer), and
//! deserializes it after the run.
//!
//! [`Layout`] holds all offsets into the buffer. Programs use fixed offsets, so each byte is part of
//! the protocol (agave: `serialization.rs`).

mod bytes;
pub mod explain;

use selkie_isa::layout::INPUT_START;
use selkie_vm::Region;
use solana_account::ReadableAccount;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

pub(crate) use self::bytes::InputBytes;
pub use crate::chain::account::Abi;
use crate::{
    chain::{
        cost::{ACCOUNT_BYTES_MAX, ACCOUNT_GROWTH_MAX, INSTRUCTION_ACCOUNTS_MAX},
        features::{Feature, FeatureSet},
    },
    runtime::{instruction_context::InstructionContext, transaction_accounts::TransactionAccounts},
};

/// The marker of an account that is not a duplicate of an earlier one.
pub const NOT_DUPLICATE: u8 = 0xff;
/// The alignment of numbers and account data, in bytes.
pub const ALIGNMENT: usize = 8;
/// The `rent_epoch` of every account: rent is no longer collected.
pub const RENT_EPOCH: u64 = u64::MAX;

/// The offsets of an account's fields in the buffer.
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
    /// [`AccountLayout::data_bytes`] bytes, then spare bytes up to the capacity.
    pub data: usize,
    /// The length of the data when the input was serialized.
    pub data_bytes: usize,
    /// The length to which the data may grow.
    pub data_capacity: usize,
    /// 1 byte.
    pub executable: usize,
    /// 8 bytes.
    pub rent_epoch: usize,
    /// One past the last byte.
    pub end: usize,
}

/// The record of an account of the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// The account's first occurrence, with all its fields.
    Account(AccountLayout),
    /// A later occurrence.
    Duplicate {
        /// The offset of the byte that holds `of`.
        record: usize,
        /// The account index of the first occurrence.
        of: usize,
    },
}

/// The offsets of all fields of the buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The ABI of the program's loader.
    pub abi: Abi,
    /// The records of the instruction's accounts, in order.
    pub records: Vec<Record>,
    /// The offset of the length of the instruction data, 8 bytes.
    pub instruction_data_len: usize,
    /// The offset of the instruction data.
    pub instruction_data: usize,
    /// The offset of the program id, 32 bytes.
    pub program_id: usize,
    /// The offset of the array of the guest addresses of all records, if there is one (SIMD-0449).
    pub pointers: Option<usize>,
    /// The length of the buffer.
    pub len: usize,
}

impl Default for Layout {
    /// The layout of an aligned input without accounts and data.
    fn default() -> Self {
        const EMPTY: Layout = Layout {
            abi: Abi::Aligned,
            records: Vec::new(),
            instruction_data_len: 8,
            instruction_data: 16,
            program_id: 16,
            pointers: None,
            len: 48,
        };
        EMPTY
    }
}

/// How programs access account data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum DataMode {
    /// The whole input is one writable region; forbidden changes are found when the program has
    /// ended.
    #[default]
    Copied,
    /// The data of each account are a region, writable if the program may change them, which grows
    /// on stores behind its end (SIMD-0460).
    Regions,
    /// Like [`DataMode::Regions`], but the regions are the accounts' data themselves. This runtime
    /// keeps a copy in sync instead, which programs cannot distinguish.
    Direct,
}

impl DataMode {
    /// Returns the mode of a cluster with these features.
    #[must_use]
    pub fn of(features: FeatureSet) -> Self {
        match (
            features.has(Feature::VirtualAddressSpaceAdjustments),
            features.has(Feature::AccountDataDirectMapping),
        ) {
            (false, _) => Self::Copied,
            (true, false) => Self::Regions,
            (true, true) => Self::Direct,
        }
    }

    /// Returns whether the data of each account are a region of their own.
    #[must_use]
    pub fn has_regions(self) -> bool {
        self != Self::Copied
    }
}

/// Bytes in front of an account's data.
const ALIGNED_HEAD: usize = 88;

/// An account of the instruction, as far as the layout depends on it.
enum Occurrence {
    /// The first one; the account has this many bytes of data.
    First(usize),
    /// A later one; the first one has this account index.
    Duplicate(usize),
}

#[allow(clippy::arithmetic_side_effects, reason = "accounts fit into memory")]
impl AccountLayout {
    fn aligned(record: usize, data_bytes: usize) -> Self {
        let data = record + ALIGNED_HEAD;
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
    /// Lays out an input, reusing the allocation of `records`.
    fn new(
        abi: Abi,
        accounts: impl IntoIterator<Item = Occurrence>,
        data_len: usize,
        has_pointers: bool,
        mut records: Vec<Record>,
    ) -> Self {
        let mut end = 8;
        let accounts = accounts.into_iter();
        records.clear();
        records.reserve(accounts.size_hint().0);
        for account in accounts {
            let record = match (account, abi) {
                (Occurrence::First(bytes), Abi::Aligned) => {
                    Record::Account(AccountLayout::aligned(end, bytes))
                }
                (Occurrence::First(bytes), Abi::Unaligned) => {
                    Record::Account(AccountLayout::unaligned(end, bytes))
                }
                (Occurrence::Duplicate(of), _) => Record::Duplicate { record: end, of },
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
        let pointers = (has_pointers && abi == Abi::Aligned)
            .then_some((program_id + 32).next_multiple_of(ALIGNMENT));
        Self {
            abi,
            instruction_data_len: end,
            instruction_data,
            program_id,
            pointers,
            len: pointers.map_or(program_id + 32, |at| at + 8 * records.len()),
            records,
        }
    }

    /// Returns the fields of an account by its index in the instruction; a duplicate has those of the
    /// first occurrence.
    #[must_use]
    pub fn account(&self, index: usize) -> Option<&AccountLayout> {
        match self.records.get(index)? {
            Record::Account(account) => Some(account),
            Record::Duplicate { of, .. } => match self.records.get(*of)? {
                Record::Account(account) => Some(account),
                Record::Duplicate { .. } => None,
            },
        }
    }

    /// Returns each account once, with the index of its first occurrence.
    pub fn accounts(&self) -> impl Iterator<Item = (usize, &AccountLayout)> {
        self.records.iter().enumerate().filter_map(|(index, record)| match record {
            Record::Account(account) => Some((index, account)),
            Record::Duplicate { .. } => None,
        })
    }
}

/// Returns the guest address of an offset in the input.
#[must_use]
pub fn vaddr(offset: usize) -> u64 {
    INPUT_START.saturating_add(offset as u64)
}

/// The input of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Input {
    /// The buffer.
    pub bytes: Vec<u8>,
    /// The offsets of its fields.
    pub layout: Layout,
}

impl Input {
    /// Serializes an instruction's input.
    ///
    /// # Errors
    /// As [`serialize`].
    pub(crate) fn of(
        abi: Abi,
        instruction: &InstructionContext<'_>,
        accounts: &TransactionAccounts,
        features: FeatureSet,
    ) -> Result<Self, InstructionError> {
        let mut bytes = InputBytes::default();
        let layout = serialize(abi, instruction, accounts, features, &mut bytes, Vec::new())?;
        Ok(Self { bytes: bytes.get().to_vec(), layout })
    }
}

fn check_count(accounts: usize) -> Result<(), InstructionError> {
    if accounts > INSTRUCTION_ACCOUNTS_MAX {
        return Err(InstructionError::MaxAccountsExceeded);
    }
    Ok(())
}

/// A change of an account that the program may not make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedChange {
    /// The index of the account's first occurrence in the instruction.
    pub account: usize,
    /// The rule that the change broke.
    pub error: InstructionError,
}

/// Serializes an instruction's input. The layout reuses the allocation of `records`.
///
/// # Errors
/// [`InstructionError::MaxAccountsExceeded`] for more than 255 accounts.
pub(crate) fn serialize(
    abi: Abi,
    instruction: &InstructionContext<'_>,
    accounts: &TransactionAccounts,
    features: FeatureSet,
    buffer: &mut InputBytes,
    records: Vec<Record>,
) -> Result<Layout, InstructionError> {
    check_count(instruction.accounts.len())?;
    let occurrences = (0_u16..).zip(&instruction.accounts).map(|(index, meta)| {
        if meta.first != index {
            return Occurrence::Duplicate(usize::from(meta.first));
        }
        let account = accounts.get(usize::from(meta.index));
        Occurrence::First(account.map_or(0, |it| it.account.data().len()))
    });
    let has_pointers = features.has(Feature::DirectAccountPointers);
    let layout = Layout::new(abi, occurrences, instruction.data.len(), has_pointers, records);
    buffer.begin(layout.len);
    buffer.write(&(instruction.accounts.len() as u64).to_le_bytes());
    for (record, meta) in layout.records.iter().zip(&instruction.accounts) {
        match record {
            Record::Duplicate { of, .. } => {
                let of = u8::try_from(*of).unwrap_or(NOT_DUPLICATE);
                match abi {
                    Abi::Aligned => buffer.write(&u64::from(of).to_le_bytes()),
                    Abi::Unaligned => buffer.write(&[of]),
                }
            }
            Record::Account(layout) => {
                let account = accounts.get(usize::from(meta.index))?;
                let flags = [NOT_DUPLICATE, meta.is_signer.into(), meta.is_writable.into()];
                write_account(buffer, abi, layout, flags, &account.key, &account.account);
            }
        }
    }
    buffer.write(&(instruction.data.len() as u64).to_le_bytes());
    buffer.write(&instruction.data);
    buffer.write(instruction.program_id.as_ref());
    if let Some(pointers) = layout.pointers {
        buffer.zero_to(pointers);
        for index in 0..layout.records.len() {
            let record = layout.account(index).map_or(0, |account| vaddr(account.record));
            buffer.write(&record.to_le_bytes());
        }
    }
    buffer.finish();
    Ok(layout)
}

fn write_account(
    buffer: &mut InputBytes,
    abi: Abi,
    layout: &AccountLayout,
    flags: [u8; 3],
    key: &Pubkey,
    account: &impl ReadableAccount,
) {
    let (data, executable) = (account.data(), u8::from(account.executable()));
    let numbers = [account.lamports().to_le_bytes(), (data.len() as u64).to_le_bytes()];
    match abi {
        Abi::Aligned => {
            // Written as one block, since most accounts are aligned and have little data.
            let head: &mut [u8; ALIGNED_HEAD] = buffer.next();
            let [duplicate, signer, writable] = flags;
            head[..8].copy_from_slice(&[duplicate, signer, writable, executable, 0, 0, 0, 0]);
            head[8..40].copy_from_slice(key.as_array());
            head[40..72].copy_from_slice(account.owner().as_array());
            head[72..].copy_from_slice(numbers.as_flattened());
            buffer.write(data);
            buffer.zero_to(layout.rent_epoch);
        }
        Abi::Unaligned => {
            buffer.write(&flags);
            buffer.write(key.as_ref());
            buffer.write(numbers.as_flattened());
            buffer.write(data);
            buffer.write(account.owner().as_ref());
            buffer.write(&[executable]);
        }
    }
    buffer.write(&RENT_EPOCH.to_le_bytes());
}

/// Appends the regions of an input: one for all of it, or one for each account's data and each span
/// between them. For the index of an account in the instruction, `can_change` returns the account's
/// index in the transaction if the program may change the data; the host finds the account by it.
pub(crate) fn regions<'b>(
    mode: DataMode,
    layout: &Layout,
    mut bytes: &'b mut [u8],
    mut can_change: impl FnMut(usize) -> Option<u16>,
    regions: &mut Vec<Region<'b>>,
) {
    let mut start = 0_usize;
    if mode.has_regions() {
        for (index, account) in layout.accounts() {
            let AccountLayout { data, data_bytes, data_capacity, .. } = *account;
            let (before, rest) = bytes.split_at_mut(data.saturating_sub(start));
            let (buffer, rest) = rest.split_at_mut(data_capacity);
            regions.push(Region::writable(vaddr(start), before));
            if data_capacity > 0 {
                let region = Region::writable(vaddr(data), buffer).reserve(data_bytes as u64);
                regions.push(match can_change(index) {
                    Some(payload) => region.with_payload(payload),
                    None => region.protected(),
                });
            }
            bytes = rest;
            start = data.saturating_add(data_capacity);
        }
    }
    regions.push(Region::writable(vaddr(start), bytes));
}

/// Applies a program's changes of its input to the accounts, one account after the other: lamports,
/// then data, then owner.
pub(crate) fn deserialize(
    mode: DataMode,
    layout: &Layout,
    bytes: &[u8],
    instruction: &InstructionContext<'_>,
    accounts: &mut TransactionAccounts,
) -> Result<(), RefusedChange> {
    for (index, account) in layout.accounts() {
        deserialize_account(mode, layout.abi, bytes, account, instruction, index, accounts)
            .map_err(|error| RefusedChange { account: index, error })?;
    }
    Ok(())
}

fn deserialize_account(
    mode: DataMode,
    abi: Abi,
    bytes: &[u8],
    layout: &AccountLayout,
    instruction: &InstructionContext<'_>,
    index: usize,
    accounts: &mut TransactionAccounts,
) -> Result<(), InstructionError> {
    let meta = instruction.accounts.get(index).ok_or(InstructionError::MissingAccount)?;
    let mut account = accounts.borrow(*meta, &instruction.program_id)?;
    let lamports = read_u64(bytes, layout.lamports)?;
    if account.lamports() != lamports {
        account.set_lamports(lamports)?;
    }
    let len = match abi {
        Abi::Aligned => data_len(bytes, layout)?,
        Abi::Unaligned => layout.data_bytes,
    };
    let data = read(bytes, layout.data, len)?;
    if !mode.has_regions() {
        account.set_data_within_limits(data)?;
    } else if account.can_change_data().is_ok() {
        account.set_data(data)?;
    } else if account.data().len() != len {
        account.set_data_len(len)?;
    }
    if abi == Abi::Aligned {
        let owner = read(bytes, layout.owner, 32)?;
        if account.owner().as_ref() != owner {
            let owner = <[u8; 32]>::try_from(owner).expect("32 bytes were read");
            account.set_owner(Pubkey::new_from_array(owner))?;
        }
    }
    Ok(())
}

/// Returns the length of an account's data that the program has set.
fn data_len(bytes: &[u8], layout: &AccountLayout) -> Result<usize, InstructionError> {
    let len = read_u64(bytes, layout.data_len)?;
    usize::try_from(len)
        .ok()
        .filter(|len| *len <= layout.data_capacity && *len <= ACCOUNT_BYTES_MAX)
        .ok_or(InstructionError::InvalidRealloc)
}

pub(crate) fn read(bytes: &[u8], offset: usize, len: usize) -> Result<&[u8], InstructionError> {
    let field = bytes.get(offset..).and_then(|rest| rest.get(..len));
    field.ok_or(InstructionError::InvalidArgument)
}

fn read_u64(bytes: &[u8], offset: usize) -> Result<u64, InstructionError> {
    let word = read(bytes, offset, 8)?.first_chunk().expect("8 bytes were read");
    Ok(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use solana_account::{Account, AccountSharedData};

    use super::*;
    use crate::runtime::instruction_context::InstructionAccount;

    const PROGRAM: Pubkey = Pubkey::new_from_array([1; 32]);

    /// Two accounts of the program, writable and read-only, and a writable one of another program.
    fn accounts() -> TransactionAccounts {
        let account = |owner| {
            let account = Account { lamports: 9, data: vec![3; 11], owner, ..Account::default() };
            AccountSharedData::from(account)
        };
        let owners = [PROGRAM, PROGRAM, Pubkey::default()];
        let keys = (10..).map(|byte| Pubkey::new_from_array([byte; 32]));
        TransactionAccounts::new(keys.zip(owners.map(account)))
    }

    fn instruction() -> InstructionContext<'static> {
        let account = |index, first, is_writable| InstructionAccount {
            index,
            first,
            is_signer: false,
            is_writable,
        };
        InstructionContext {
            program_id: PROGRAM,
            program_index: None,
            accounts: vec![
                account(0, 0, true),
                account(1, 1, false),
                account(0, 0, true),
                account(2, 3, true),
            ]
            .into(),
            data: vec![5; 3].into(),
            stack_height: 1,
            caller: None,
            compute_units: 0,
        }
    }

    /// Returns the offsets of the numbers, data and owners of all accounts.
    fn field_offsets(layout: &Layout) -> Vec<usize> {
        let of = |record: &Record| match record {
            Record::Account(at) => vec![at.lamports, at.data_len, at.data, at.owner, at.record],
            Record::Duplicate { record, .. } => vec![*record],
        };
        layout.records.iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn no_store_changes_accounts_that_the_program_may_not_change(
            aligned in any::<bool>(),
            mode in prop::sample::select(vec![DataMode::Copied, DataMode::Regions, DataMode::Direct]),
            stores in proptest::collection::vec(
                (any::<prop::sample::Index>(), 0_usize..9, any::<u8>()),
                0..6,
            ),
        ) {
            let abi = if aligned { Abi::Aligned } else { Abi::Unaligned };
            let (mut after, before) = (accounts(), accounts());
            let mut bytes = InputBytes::default();
            let features = FeatureSet::mainnet();
            let layout = serialize(abi, &instruction(), &after, features, &mut bytes, Vec::new()).unwrap();
            let bytes = bytes.get_mut();
            let fields = field_offsets(&layout);
            for (field, offset, byte) in stores {
                bytes[field.get(&fields) + offset] = byte;
            }
            let result = deserialize(mode, &layout, bytes, &instruction(), &mut after);
            prop_assert_eq!(after.get(1), before.get(1));
            let (theirs, theirs_before) = (&after.get(2).unwrap().account, &before.get(2).unwrap().account);
            prop_assert!(theirs.lamports() >= theirs_before.lamports());
            prop_assert_eq!(
                (theirs.data(), theirs.owner()),
                (theirs_before.data(), theirs_before.owner())
            );
            if result.is_ok() && aligned {
                let at = layout.account(0).unwrap();
                let lamports = read_u64(bytes, at.lamports).unwrap();
                prop_assert_eq!(after.get(0).unwrap().account.lamports(), lamports);
            }
        }

        #[test]
        fn regions_cover_the_input_once(
            aligned in any::<bool>(),
            has_regions in any::<bool>(),
            changeable in any::<[bool; 4]>(),
        ) {
            let abi = if aligned { Abi::Aligned } else { Abi::Unaligned };
            let mode = if has_regions { DataMode::Regions } else { DataMode::Copied };
            let features = FeatureSet::mainnet();
            let mut bytes = InputBytes::default();
            let layout =
                serialize(abi, &instruction(), &accounts(), features, &mut bytes, Vec::new()).unwrap();
            let can_change = |index: usize| changeable[index].then(|| u16::try_from(index).unwrap());
            let mut covering = Vec::new();
            regions(mode, &layout, bytes.get_mut(), can_change, &mut covering);
            let mut next = INPUT_START;
            for region in &mut covering {
                prop_assert_eq!(region.vaddr(), next);
                next += region.buffer_mut().unwrap().len() as u64;
            }
            prop_assert_eq!(next, vaddr(layout.len));
            prop_assert_eq!(covering.len(), if has_regions { 7 } else { 1 });
        }
    }
}
