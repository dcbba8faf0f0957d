//! The input of a program: accounts, instruction data and program id in one buffer, both ways.
//!
//! [`Layout`] alone knows where what lies; writing, reading back and whatever else points into the
//! buffer ask it. Programs index into the buffer by fixed offsets, so each byte of it is part of
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

/// Marks an account that was not named before.
pub const NOT_DUPLICATE: u8 = 0xff;
/// What numbers and account data are aligned to.
pub const ALIGNMENT: usize = 8;
/// The epoch at which every account owes its next rent: never.
pub const RENT_EPOCH: u64 = u64::MAX;

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
    /// An array of the guest addresses of all records, if there is one (SIMD-0449).
    pub pointers: Option<usize>,
    /// Bytes of the buffer.
    pub len: usize,
}

impl Default for Layout {
    /// That of no accounts and no data.
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

/// How programs get hold of account data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum DataMode {
    /// All of the input is one region, which the program may write to as it likes; what it may
    /// not have changed is found when it has ended.
    #[default]
    Copied,
    /// Account data are regions of their own, writable if the program may change them, which grow
    /// when they are stored to (SIMD-0460).
    Regions,
    /// As [`DataMode::Regions`], and the regions are the accounts' data themselves. Here they are
    /// a copy that is kept in step, which nobody can tell from it.
    Direct,
}

impl DataMode {
    /// What a cluster with these features does.
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

    /// Whether accounts have regions of their own.
    #[must_use]
    pub fn has_regions(self) -> bool {
        self != Self::Copied
    }
}

/// Bytes in front of an account's data.
const ALIGNED_HEAD: usize = 88;

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
    /// Lays out an input: the only place that says what lies where.
    fn new(
        abi: Abi,
        slots: impl IntoIterator<Item = Slot>,
        data_len: usize,
        has_pointers: bool,
        mut records: Vec<Record>,
    ) -> Self {
        let mut end = 8;
        let slots = slots.into_iter();
        records.clear();
        records.reserve(slots.size_hint().0);
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

    /// The fields of an account by its place in the instruction, even if it was named before.
    #[must_use]
    pub fn account(&self, place: usize) -> Option<&AccountLayout> {
        match self.records.get(place)? {
            Record::Account(account) => Some(account),
            Record::Duplicate { of, .. } => match self.records.get(*of)? {
                Record::Account(account) => Some(account),
                Record::Duplicate { .. } => None,
            },
        }
    }

    /// The accounts that are named for the first time, with their places.
    pub fn accounts(&self) -> impl Iterator<Item = (usize, &AccountLayout)> {
        self.records.iter().enumerate().filter_map(|(place, record)| match record {
            Record::Account(account) => Some((place, account)),
            Record::Duplicate { .. } => None,
        })
    }
}

/// The guest address of a place in the input.
#[must_use]
pub fn vaddr(offset: usize) -> u64 {
    INPUT_START.saturating_add(offset as u64)
}

/// The input of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Input {
    /// What the program gets to see, and may change.
    pub bytes: Vec<u8>,
    /// Where everything lies.
    pub layout: Layout,
}

impl Input {
    /// An instruction's input.
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

/// A change that a program made and may not make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedChange {
    /// The account's first place in the instruction.
    pub account: usize,
    /// The rule that it broke.
    pub error: InstructionError,
}

/// Writes an instruction's input. `records` are room for those of the layout.
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
    let slots = (0_u16..).zip(&instruction.accounts).map(|(place, meta)| {
        if meta.first != place {
            return Slot::Duplicate(usize::from(meta.first));
        }
        let account = accounts.get(usize::from(meta.index));
        Slot::Data(account.map_or(0, |it| it.account.data().len()))
    });
    let has_pointers = features.has(Feature::DirectAccountPointers);
    let layout = Layout::new(abi, slots, instruction.data.len(), has_pointers, records);
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
            Record::Account(at) => {
                let found = accounts.get(usize::from(meta.index))?;
                let flags = [NOT_DUPLICATE, meta.is_signer.into(), meta.is_writable.into()];
                write_account(buffer, abi, at, flags, &found.key, &found.account);
            }
        }
    }
    buffer.write(&(instruction.data.len() as u64).to_le_bytes());
    buffer.write(&instruction.data);
    buffer.write(instruction.program_id.as_ref());
    if let Some(pointers) = layout.pointers {
        buffer.zero_to(pointers);
        for place in 0..layout.records.len() {
            let record = layout.account(place).map_or(0, |account| vaddr(account.record));
            buffer.write(&record.to_le_bytes());
        }
    }
    buffer.finish();
    Ok(layout)
}

fn write_account(
    buffer: &mut InputBytes,
    abi: Abi,
    at: &AccountLayout,
    flags: [u8; 3],
    key: &Pubkey,
    account: &impl ReadableAccount,
) {
    let (data, executable) = (account.data(), u8::from(account.executable()));
    let numbers = [account.lamports().to_le_bytes(), (data.len() as u64).to_le_bytes()];
    match abi {
        Abi::Aligned => {
            // At once, since most accounts are so and have few data.
            let head: &mut [u8; ALIGNED_HEAD] = buffer.next();
            let [duplicate, signer, writable] = flags;
            head[..8].copy_from_slice(&[duplicate, signer, writable, executable, 0, 0, 0, 0]);
            head[8..40].copy_from_slice(key.as_array());
            head[40..72].copy_from_slice(account.owner().as_array());
            head[72..].copy_from_slice(numbers.as_flattened());
            buffer.write(data);
            buffer.zero_to(at.rent_epoch);
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

/// The regions of an input: one, or one for each account's data and each span between them. Which
/// data may be changed, `can_change` tells by the account's place; it gives the number by which
/// the host knows the account.
pub(crate) fn regions<'b>(
    mode: DataMode,
    layout: &Layout,
    mut bytes: &'b mut [u8],
    mut can_change: impl FnMut(usize) -> Option<u16>,
    regions: &mut Vec<Region<'b>>,
) {
    let mut start = 0_usize;
    if mode.has_regions() {
        for (place, at) in layout.accounts() {
            let (before, rest) = bytes.split_at_mut(at.data.saturating_sub(start));
            let (data, rest) = rest.split_at_mut(at.data_capacity);
            regions.push(Region::writable(vaddr(start), before));
            if at.data_capacity > 0 {
                let region = Region::writable(vaddr(at.data), data).reserve(at.data_bytes as u64);
                regions.push(match can_change(place) {
                    Some(number) => region.with_payload(number),
                    None => region.protected(),
                });
            }
            bytes = rest;
            start = at.data.saturating_add(at.data_capacity);
        }
    }
    regions.push(Region::writable(vaddr(start), bytes));
}

/// Takes over what a program changed in its input: account by account, and of each lamports
/// before data before owner.
pub(crate) fn deserialize(
    mode: DataMode,
    layout: &Layout,
    bytes: &[u8],
    instruction: &InstructionContext<'_>,
    accounts: &mut TransactionAccounts,
) -> Result<(), RefusedChange> {
    for (place, at) in layout.accounts() {
        take_account(mode, layout.abi, bytes, at, instruction, place, accounts)
            .map_err(|error| RefusedChange { account: place, error })?;
    }
    Ok(())
}

fn take_account(
    mode: DataMode,
    abi: Abi,
    bytes: &[u8],
    at: &AccountLayout,
    instruction: &InstructionContext<'_>,
    place: usize,
    accounts: &mut TransactionAccounts,
) -> Result<(), InstructionError> {
    let meta = instruction.accounts.get(place).ok_or(InstructionError::MissingAccount)?;
    let mut account = accounts.borrow(*meta, &instruction.program_id)?;
    let lamports = read_u64(bytes, at.lamports)?;
    if account.lamports() != lamports {
        account.set_lamports(lamports)?;
    }
    let len = match abi {
        Abi::Aligned => data_len(bytes, at)?,
        Abi::Unaligned => at.data_bytes,
    };
    let data = read(bytes, at.data, len)?;
    if !mode.has_regions() {
        account.set_data_within_limits(data)?;
    } else if account.can_change_data().is_ok() {
        account.set_data(data)?;
    } else if account.data().len() != len {
        account.set_data_len(len)?;
    }
    if abi == Abi::Aligned {
        let owner = read(bytes, at.owner, 32)?;
        if account.owner().as_ref() != owner {
            let owner = <[u8; 32]>::try_from(owner).expect("32 bytes were read");
            account.set_owner(Pubkey::new_from_array(owner))?;
        }
    }
    Ok(())
}

/// The length that the program gave an account.
fn data_len(bytes: &[u8], at: &AccountLayout) -> Result<usize, InstructionError> {
    let len = read_u64(bytes, at.data_len)?;
    usize::try_from(len)
        .ok()
        .filter(|len| *len <= at.data_capacity && *len <= ACCOUNT_BYTES_MAX)
        .ok_or(InstructionError::InvalidRealloc)
}

pub(crate) fn read(bytes: &[u8], at: usize, len: usize) -> Result<&[u8], InstructionError> {
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
    use solana_account::{Account, AccountSharedData};

    use super::*;
    use crate::runtime::instruction_context::InstructionAccount;

    const PROGRAM: Pubkey = Pubkey::new_from_array([1; 32]);

    /// The program's own account, writable; its own, read-only; and another program's, writable.
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
            let places = places(&layout);
            for (place, offset, byte) in stores {
                bytes[place.get(&places) + offset] = byte;
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
            let can_change = |place: usize| changeable[place].then(|| u16::try_from(place).unwrap());
            let mut found = Vec::new();
            regions(mode, &layout, bytes.get_mut(), can_change, &mut found);
            let mut next = INPUT_START;
            for region in &mut found {
                prop_assert_eq!(region.vaddr(), next);
                next += region.buffer_mut().unwrap().len() as u64;
            }
            prop_assert_eq!(next, vaddr(layout.len));
            prop_assert_eq!(found.len(), if has_regions { 7 } else { 1 });
        }
    }
}
