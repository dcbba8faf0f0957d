//! The resolution of address lookup tables.
//!
//! A table's account data are 56 bytes of metadata, then addresses. The metadata are a tag (1), the
//! deactivation slot, the slot of the last extension, the number of addresses before that, and the
//! authority.

use solana_account::{AccountSharedData, ReadableAccount};
use solana_message::v0::MessageAddressTableLookup;
use solana_pubkey::Pubkey;
use solana_sdk_ids::address_lookup_table;
use solana_transaction_error::TransactionError;

use crate::{chain::account::AccountStore, runtime::context::environment::Environment};

/// The bytes before a table's addresses.
const META_BYTES: usize = 56;
const LOOKUP_TABLE: u32 = 1;

/// Returns the addresses of a transaction's lookups: the writable ones and the read-only ones.
///
/// # Errors
/// An `AddressLookupTable…` error for the first table that is missing, not a table, or too short.
pub(crate) fn resolve(
    lookups: &[MessageAddressTableLookup],
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<(Vec<Pubkey>, Vec<Pubkey>), TransactionError> {
    let (mut writable, mut readonly) = (Vec::new(), Vec::new());
    for lookup in lookups {
        let account = accounts.account(&lookup.account_key);
        let account = account.ok_or(TransactionError::AddressLookupTableNotFound)?;
        let table = Table::read(&account)?;
        let addresses = table.active(environment)?;
        let pick = |indexes: &[u8], resolved: &mut Vec<Pubkey>| {
            for index in indexes {
                let address = addresses.get(usize::from(*index));
                let address = address.ok_or(TransactionError::InvalidAddressLookupTableIndex)?;
                resolved.push(Pubkey::new_from_array(*address));
            }
            Ok::<(), TransactionError>(())
        };
        pick(&lookup.writable_indexes, &mut writable)?;
        pick(&lookup.readonly_indexes, &mut readonly)?;
    }
    Ok((writable, readonly))
}

struct Table<'a> {
    deactivation_slot: u64,
    last_extended_slot: u64,
    last_extended_start: u8,
    addresses: &'a [[u8; 32]],
}

impl<'a> Table<'a> {
    fn read(account: &'a AccountSharedData) -> Result<Self, TransactionError> {
        if *account.owner() != address_lookup_table::ID {
            return Err(TransactionError::InvalidAddressLookupTableOwner);
        }
        Self::parse(account.data()).ok_or(TransactionError::InvalidAddressLookupTableData)
    }

    fn parse(data: &'a [u8]) -> Option<Self> {
        let (meta, addresses) = data.split_at_checked(META_BYTES)?;
        let number = |at: usize| Some(u64::from_le_bytes(*meta.get(at..)?.first_chunk()?));
        let tag = u32::from_le_bytes(*meta.first_chunk()?);
        // The byte that says whether there is an authority is 0 or 1.
        let is_table = tag == LOOKUP_TABLE && *meta.get(21)? <= 1;
        let (addresses, rest) = addresses.as_chunks::<32>();
        (is_table && rest.is_empty()).then_some(())?;
        Some(Self {
            deactivation_slot: number(4)?,
            last_extended_slot: number(12)?,
            last_extended_start: *meta.get(20)?,
            addresses,
        })
    }

    /// Returns the addresses that can be looked up, which excludes those that were added in this slot.
    fn active(&self, environment: &Environment) -> Result<&'a [[u8; 32]], TransactionError> {
        let slot = environment.slot();
        let is_active = self.deactivation_slot == u64::MAX
            || self.deactivation_slot == slot
            || environment.sysvars.slot_hashes().any(|known| known == self.deactivation_slot);
        if !is_active {
            return Err(TransactionError::AddressLookupTableNotFound);
        }
        let len = if slot > self.last_extended_slot {
            self.addresses.len()
        } else {
            usize::from(self.last_extended_start)
        };
        self.addresses.get(..len).ok_or(TransactionError::InvalidAddressLookupTableData)
    }
}
