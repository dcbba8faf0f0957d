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
    between: u128,
}

#[allow(clippy::disallowed_methods, reason = "owns the keys of the hash")]
static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let random = || {
        let hasher: DefaultHasher = RandomState::new().build_hasher();
        hasher.finish()
    };
    let shared = [SharedSeed::from_u64(random()), SharedSeed::from_u64(random())];
    let between = u128::from(random()) << 64 | u128::from(random());
    Keys { shared, own: [random(), random()], between }
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
            keys.between,
        );
        digest.message(message);
        let Digest(left, right, _) = digest;
        Self(u128::from(left.finish()) << 64 | u128::from(right.finish()))
    }
}

/// Both halves, which take all of a message, with lengths in front of what has any, so that no two
/// messages give the same. The second one takes each word with a number added: what two words have in
/// common in one half, they have not in the other.
struct Digest(FoldHasher<'static>, FoldHasher<'static>, u128);

impl Digest {
    /// Both halves take whole words of sixteen bytes only, which needs no state but a number each.
    #[inline(always)]
    fn word(&mut self, word: u128) {
        self.0.write_u128(word);
        self.1.write_u128(word.wrapping_add(self.2));
    }

    #[inline(always)]
    fn numbers(&mut self, one: u64, other: u64) {
        self.word(u128::from(one) | u128::from(other) << 64);
    }

    /// An address or a hash.
    #[inline(always)]
    fn hash(&mut self, hash: &[u8; 32]) {
        let (halves, _) = hash.as_chunks::<16>();
        halves.iter().for_each(|half| self.word(u128::from_le_bytes(*half)));
    }

    /// Bytes of which it was said how many there are.
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        let (whole, rest) = bytes.as_chunks::<16>();
        whole.iter().for_each(|part| self.word(u128::from_le_bytes(*part)));
        if !rest.is_empty() {
            let [one, other] = packed(rest);
            self.numbers(one, other);
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
                self.hash(recent_blockhash.as_bytes());
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
                self.hash(recent_blockhash.as_bytes());
                self.instructions(instructions);
                self.numbers(address_table_lookups.len() as u64, 0);
                for lookup in address_table_lookups {
                    let v0::MessageAddressTableLookup {
                        account_key,
                        writable_indexes,
                        readonly_indexes,
                    } = lookup;
                    self.hash(account_key.as_array());
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
                    self.numbers(value.is_some().into(), value.unwrap_or_default());
                }
                self.hash(lifetime_specifier.as_bytes());
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
        keys.iter().for_each(|key| self.hash(key.as_array()));
    }

    #[inline]
    fn instructions(&mut self, instructions: &[CompiledInstruction]) {
        self.numbers(instructions.len() as u64, 0);
        for instruction in instructions {
            let CompiledInstruction { program_id_index, accounts, data } = instruction;
            self.lengths((*program_id_index).into(), accounts.len(), data.len());
            self.bytes(accounts);
            self.bytes(data);
        }
    }

    /// A number and two lengths: there is nothing in memory of 2^48 bytes.
    #[inline(always)]
    fn lengths(&mut self, number: u32, one: usize, other: usize) {
        self.word(u128::from(number) << 96 | (one as u128) << 48 | other as u128);
    }
}

/// Fewer than sixteen bytes, but at least one, so that of as many no others give the same: first
/// and last ones, which overlap.
#[inline(always)]
fn packed(bytes: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()];
    }
    let at = |place: usize| u64::from(bytes.get(place).copied().unwrap_or_default());
    [at(0), at(1) << 8 | at(2)]
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
    fn short_bytes_are_packed_each_in_its_own_way() {
        for len in 1..16 {
            let mut bytes = vec![0; len];
            let mut seen = vec![packed(&bytes)];
            for place in 0..len {
                for value in [1, 128, 255] {
                    bytes[place] = value;
                    seen.push(packed(&bytes));
                    bytes[place] = 0;
                }
            }
            let all = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), all, "{len}");
        }
    }

    #[test]
    fn what_differs_differs_in_number() {
        let ids = [
            id(legacy(&[1, 2], &[3])),
            id(legacy(&[1], &[2, 3])),
            id(legacy(&[1, 2], &[3, 0])),
            id(legacy(&[1, 2], &[4])),
            id(legacy(&[1, 2], &[3; 16])),
            id(legacy(&[1, 2], &[3; 17])),
            id(legacy(&[1, 2], &[3; 40])),
            id(legacy(&[3; 17], &[3; 2])),
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
