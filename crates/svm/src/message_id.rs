//! What a message is told from others by, where that has to be quick.
//!
//! The hash that clusters know a message by takes longer than many a transaction; here it is
//! enough that no two messages share a number and that nobody can make two that do. So each process
//! draws keys, which nobody outside sees the effect of: no result depends on them.

use core::hash::{BuildHasher, Hasher};
use std::{
    hash::{DefaultHasher, RandomState},
    sync::LazyLock,
};

use foldhash::{SharedSeed, quality::FoldHasher};
use solana_message::{
    MessageHeader, VersionedMessage, compiled_instruction::CompiledInstruction, v0, v1,
};
use solana_pubkey::Pubkey;

/// Tells messages apart, within a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageId(u128);

/// The keys of the two halves.
struct Keys {
    shared: [SharedSeed; 2],
    own: [u64; 2],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let random = || {
        let hasher: DefaultHasher = RandomState::new().build_hasher();
        hasher.finish()
    };
    let shared = [SharedSeed::from_u64(random()), SharedSeed::from_u64(random())];
    Keys { shared, own: [random(), random()] }
});

impl MessageId {
    /// The number of a message.
    #[must_use]
    pub fn of(message: &VersionedMessage) -> Self {
        let keys = &*KEYS;
        let [left, right] = &keys.shared;
        let mut digest = Digest(
            FoldHasher::with_seed(keys.own[0], left),
            FoldHasher::with_seed(keys.own[1], right),
        );
        digest.message(message);
        let Digest(left, right) = digest;
        Self(u128::from(left.finish()) << 64 | u128::from(right.finish()))
    }
}

/// Both halves, which take the same: all of a message, with lengths in front of what has any, so
/// that no two messages give the same.
struct Digest(FoldHasher<'static>, FoldHasher<'static>);

impl Digest {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    #[inline]
    fn number(&mut self, number: u64) {
        self.0.write_u64(number);
        self.1.write_u64(number);
    }

    /// An address or a hash: by numbers, which takes a third of the time.
    #[inline]
    fn word(&mut self, word: &[u8; 32]) {
        let (halves, _) = word.as_chunks::<16>();
        for part in halves {
            let part = u128::from_le_bytes(*part);
            self.0.write_u128(part);
            self.1.write_u128(part);
        }
    }

    fn message(&mut self, message: &VersionedMessage) {
        // All fields are named, so that none is forgotten.
        match message {
            VersionedMessage::Legacy(message) => {
                let solana_message::Message {
                    header,
                    account_keys,
                    recent_blockhash,
                    instructions,
                } = message;
                self.start(0, header, account_keys);
                self.word(recent_blockhash.as_bytes());
                self.instructions(instructions);
            }
            VersionedMessage::V0(message) => {
                let v0::Message {
                    header,
                    account_keys,
                    recent_blockhash,
                    instructions,
                    address_table_lookups,
                } = message;
                self.start(1, header, account_keys);
                self.word(recent_blockhash.as_bytes());
                self.instructions(instructions);
                self.number(address_table_lookups.len() as u64);
                for lookup in address_table_lookups {
                    let v0::MessageAddressTableLookup {
                        account_key,
                        writable_indexes,
                        readonly_indexes,
                    } = lookup;
                    self.word(account_key.as_array());
                    self.lengths(0, writable_indexes.len(), readonly_indexes.len());
                    self.bytes(writable_indexes);
                    self.bytes(readonly_indexes);
                }
            }
            VersionedMessage::V1(message) => {
                let v1::Message { header, config, lifetime_specifier, account_keys, instructions } =
                    message;
                self.start(2, header, account_keys);
                let v1::TransactionConfig {
                    priority_fee,
                    compute_unit_limit,
                    loaded_accounts_data_size_limit,
                    heap_size,
                } = config;
                let short = |value: &Option<u32>| value.map(u64::from);
                let others =
                    [compute_unit_limit, loaded_accounts_data_size_limit, heap_size].map(short);
                for value in [*priority_fee].into_iter().chain(others) {
                    self.number(value.is_some().into());
                    self.number(value.unwrap_or_default());
                }
                self.word(lifetime_specifier.as_bytes());
                self.instructions(instructions);
            }
        }
    }

    #[inline]
    fn start(&mut self, version: u8, header: &MessageHeader, keys: &[Pubkey]) {
        let MessageHeader {
            num_required_signatures,
            num_readonly_signed_accounts,
            num_readonly_unsigned_accounts,
        } = *header;
        let bytes = [
            version,
            num_required_signatures,
            num_readonly_signed_accounts,
            num_readonly_unsigned_accounts,
        ];
        self.lengths(u32::from_le_bytes(bytes), keys.len(), 0);
        keys.iter().for_each(|key| self.word(key.as_array()));
    }

    #[inline]
    fn instructions(&mut self, instructions: &[CompiledInstruction]) {
        self.number(instructions.len() as u64);
        for instruction in instructions {
            let CompiledInstruction { program_id_index, accounts, data } = instruction;
            self.lengths((*program_id_index).into(), accounts.len(), data.len());
            self.bytes(accounts);
            self.bytes(data);
        }
    }

    /// A number and two lengths: as one where they are small enough to be told apart so, which a
    /// message has room for.
    #[inline]
    fn lengths(&mut self, number: u32, one: usize, other: usize) {
        match (u16::try_from(one), u16::try_from(other)) {
            (Ok(one), Ok(other)) => {
                self.number(u64::from(number) << 32 | u64::from(one) << 16 | u64::from(other));
            }
            _ => {
                [u64::MAX, number.into(), one as u64, other as u64]
                    .into_iter()
                    .for_each(|it| self.number(it));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use solana_message::Message;

    use super::*;

    fn legacy(accounts: &[u8], data: &[u8]) -> Message {
        let instruction = CompiledInstruction {
            program_id_index: 1,
            accounts: accounts.to_vec(),
            data: data.to_vec(),
        };
        let account_keys = vec![Pubkey::default(), Pubkey::new_from_array([1; 32])];
        Message { account_keys, instructions: vec![instruction], ..Message::default() }
    }

    fn id(message: Message) -> MessageId {
        MessageId::of(&VersionedMessage::Legacy(message))
    }

    #[test]
    fn the_same_message_has_the_same_number() {
        assert_eq!(id(legacy(&[1, 2], &[3])), id(legacy(&[1, 2], &[3])));
    }

    #[test]
    fn what_differs_differs_in_number() {
        let ids = [
            id(legacy(&[1, 2], &[3])),
            id(legacy(&[1], &[2, 3])),
            id(legacy(&[1, 2], &[3, 0])),
            id(legacy(&[1, 2], &[4])),
            id(Message { instructions: Vec::new(), ..legacy(&[], &[]) }),
            id(Message { recent_blockhash: [1; 32].into(), ..legacy(&[1, 2], &[3]) }),
            MessageId::of(&VersionedMessage::V0(v0::Message::default())),
            MessageId::of(&VersionedMessage::V1(v1::Message::default())),
            id(Message::default()),
        ];
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{place}");
        }
    }
}
