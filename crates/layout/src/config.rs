//! The config program, and its accounts (agave: `solana-config-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::config;

use crate::{
    declare::{field, record},
    instruction::Instruction,
    kind::{Field, Kind, Name, Ref, Value, read_fields},
    role::{Role, s, w},
    wire::{Malformed, Reader, RestBytes, Wire, write_varint},
};

/// The address of the program.
pub const ID: Pubkey = config::ID;

record! {
    /// A key of an account of the config program.
    ConfigKey {
        /// The address.
        pubkey: Pubkey,
        /// Whether it must sign changes.
        signer: bool,
    }
}

/// The keys of an account of the config program, behind their number of one to three bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfigKeys(pub Vec<ConfigKey>);

impl<'a> Wire<'a> for ConfigKeys {
    const KIND: Kind = Kind::Other(|it| {
        let count = it.short_count()?;
        let keys = (0..count).map(|_| read_fields(ConfigKey::FIELDS, it).map(Value::Struct));
        keys.collect::<Result<_, _>>().map(Value::List)
    });

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = it.short_count()?;
        (0..count).map(|_| ConfigKey::read(it)).collect::<Result<_, _>>().map(Self)
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_varint(self.0.len() as u64, out);
        self.0.iter().for_each(|key| key.write(out));
    }
}

/// What an account holds, and what the one instruction stores in it: the keys and, as far as the program
/// is concerned, any bytes.
pub const FIELDS: &[Field] = &[field!(keys: ConfigKeys), field!(data: RestBytes<'static>)];

const ROLES: &[Role] = &[w("account"), s("signers").rest()];

/// The one instruction, without a number before its fields.
pub const ROWS: &[Instruction] = &[Instruction {
    tag: Ref::Static(&[]),
    name: Name::Borrowed("Store"),
    roles: Ref::Static(ROLES),
    accounts_min: 1,
    fields: Ref::Static(FIELDS),
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_as_values_of_their_kind() {
        let keys: Vec<_> = (0..130_u8)
            .map(|it| ConfigKey { pubkey: Pubkey::new_from_array([it; 32]), signer: it == 1 })
            .collect();
        let (mut bytes, keys) = (Vec::new(), ConfigKeys(keys));
        keys.write(&mut bytes);
        assert_eq!(bytes[..2], [0x82, 1]);
        bytes.extend([1, 2]);
        let mut reader = Reader::new(&bytes);
        assert_eq!((ConfigKeys::read(&mut reader), reader.rest()), (Ok(keys), &[1, 2][..]));
        let read = ROWS[0].read(&bytes).unwrap();
        let Value::List(values) = &read[0].value else { panic!("{read:?}") };
        assert_eq!((values.len(), &read[1].value), (130, &Value::Bytes(&[1, 2])));
    }
}
