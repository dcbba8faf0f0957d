//! Address lookup tables (agave: `solana-address-lookup-table-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{address_lookup_table, system_program};

use crate::{
    account::At,
    declare::{instructions, record},
    wire::{Reader, Wire as _},
};

/// The address of the program.
pub const ID: Pubkey = address_lookup_table::ID;

/// The bytes before the addresses of a table, whether or not it has an authority.
pub const HEADER_BYTES: usize = 56;

/// The first bytes of a table; those of an account that is not initialized are 0.
pub const INITIALIZED: u32 = 1;

/// Where a table has the slot in which addresses were added last.
pub const LAST_EXTENDED_SLOT: At<u64> = At::new(At::<u32>::BYTES + At::<u64>::BYTES);

instructions! {
    /// An instruction of the address lookup table program.
    for<'a> LookupTableInstruction, u32 {
        0 => CreateLookupTable [
            w("lookup_table_account"),
            r("lookup_table_authority"),
            ws("payer_account"),
            at("system_program", system_program::ID),
        ] { recent_slot: u64, bump_seed: u8 }
        1 => FreezeLookupTable [w("lookup_table_account"), s("lookup_table_authority")] {}
        2 => ExtendLookupTable [
            w("lookup_table_account"),
            s("lookup_table_authority"),
            ws("payer_account").if_of(4),
            at("system_program", system_program::ID).if_of(4),
        ] { new_addresses: Vec<Pubkey> }
        3 => DeactivateLookupTable [w("lookup_table_account"), s("lookup_table_authority")] {}
        4 => CloseLookupTable [
            w("lookup_table_account"),
            s("lookup_table_authority"),
            w("recipient"),
        ] {}
    }
}

record! {
    /// What is before the addresses of a table.
    LookupTable {
        /// [`INITIALIZED`].
        state: u32 as Hidden,
        /// The slot in which it was deactivated; the largest number if it was not.
        deactivation_slot: u64 as Text,
        /// The slot in which addresses were added last.
        last_extended_slot: u64 as Text,
        /// The index of the first address that was added then.
        last_extended_slot_start_index: u8,
        /// Who may change the table.
        authority: Option<Pubkey>,
    }
}

impl LookupTable {
    /// Reads an initialized table, and its addresses.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<(Self, &[[u8; 32]])> {
        let table = Self::read(&mut Reader::new(data)).ok()?;
        (table.state == INITIALIZED).then_some((table, addresses(data)?))
    }
}

/// Returns the addresses of a table; `None` if the data are too short, or end within an address.
#[must_use]
pub fn addresses(data: &[u8]) -> Option<&[[u8; 32]]> {
    let (keys, rest) = data.get(HEADER_BYTES..)?.as_chunks();
    rest.is_empty().then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_of_the_last_extension_is_at_its_place() {
        let table = LookupTable {
            state: INITIALIZED,
            deactivation_slot: u64::MAX,
            last_extended_slot: 7,
            last_extended_slot_start_index: 0,
            authority: None,
        };
        let mut bytes = Vec::new();
        table.write(&mut bytes);
        assert_eq!(LAST_EXTENDED_SLOT.get(&bytes), Some(7));
    }
}
