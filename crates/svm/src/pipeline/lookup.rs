//! The resolution of address lookup tables.

use selkie_layout::lookup_table::LookupTable;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_message::v0::MessageAddressTableLookup;
use solana_pubkey::Pubkey;
use solana_sdk_ids::address_lookup_table;
use solana_transaction_error::TransactionError;

use crate::{chain::account::AccountStore, runtime::context::environment::Environment};

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
    head: LookupTable,
    addresses: &'a [[u8; 32]],
}

impl<'a> Table<'a> {
    fn read(account: &'a AccountSharedData) -> Result<Self, TransactionError> {
        if *account.owner() != address_lookup_table::ID {
            return Err(TransactionError::InvalidAddressLookupTableOwner);
        }
        let table = LookupTable::of(account.data());
        let (head, addresses) = table.ok_or(TransactionError::InvalidAddressLookupTableData)?;
        Ok(Self { head, addresses })
    }

    /// Returns the addresses that can be looked up, which excludes those that were added in this slot.
    fn active(&self, environment: &Environment) -> Result<&'a [[u8; 32]], TransactionError> {
        let slot = environment.slot();
        let is_active = self.head.deactivation_slot == u64::MAX
            || self.head.deactivation_slot == slot
            || environment.sysvars.slot_hashes().any(|known| known == self.head.deactivation_slot);
        if !is_active {
            return Err(TransactionError::AddressLookupTableNotFound);
        }
        let len = if slot > self.head.last_extended_slot {
            self.addresses.len()
        } else {
            usize::from(self.head.last_extended_slot_start_index)
        };
        self.addresses.get(..len).ok_or(TransactionError::InvalidAddressLookupTableData)
    }
}
