//! A fast keyed hash that identifies messages within a process.
//!
//! The BLAKE3 hash by which clusters identify a message takes longer than many transactions. Here a
//! keyed hash suffices: collisions are improbable, and cannot be constructed without the keys. Each
//! process draws random keys; no result depends on them.

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

/// The identifier of a message within a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageId(u128);

/// The keys of the two hashers.
struct Keys {
    shared: [SharedSeed; 2],
    per_hasher: [u64; 2],
    /// Added to each word of the second hasher.
    offset: u128,
}

#[allow(clippy::disallowed_methods, reason = "owns the keys of the hash")]
static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let random = || {
        let hasher: DefaultHasher = RandomState::new().build_hasher();
        hasher.finish()
    };
    let shared = [SharedSeed::from_u64(random()), SharedSeed::from_u64(random())];
    let offset = u128::from(random()) << 64 | u128::from(random());
    Keys { shared, per_hasher: [random(), random()], offset }
});

impl MessageId {
    /// Computes the identifier of a message.
    #[must_use]
    pub fn of(message: &VersionedMessage) -> Self {
        let keys = &*KEYS;
        let [left, right] = &keys.shared;
        let mut digest = Digest(
            FoldHasher::with_seed(keys.per_hasher[0], left),
            FoldHasher::with_seed(keys.per_hasher[1], right),
            keys.offset,
        );
        digest.message(message);
        let Digest(left, right, _) = digest;
        Self(u128::from(left.finish()) << 64 | u128::from(right.finish()))
    }
}

/// Two hashers of the whole message, with a length before each list, so that different messages are
/// different inputs. The second one adds an offset to each word, so that a pair of words that collides
/// in one hasher does not collide in the other.
struct Digest(FoldHasher<'static>, FoldHasher<'static>, u128);

impl Digest {
    /// Hashes a word of sixteen bytes. The hashers buffer nothing if they get whole words only.
    #[inline(always)]
    fn word(&mut self, word: u128) {
        self.0.write_u128(word);
        self.1.write_u128(word.wrapping_add(self.2));
    }

    #[inline(always)]
    fn numbers(&mut self, low: u64, high: u64) {
        self.word(u128::from(low) | u128::from(high) << 64);
    }

    /// Hashes an address or a hash.
    #[inline(always)]
    fn hash(&mut self, hash: &[u8; 32]) {
        let (halves, _) = hash.as_chunks::<16>();
        halves.iter().for_each(|half| self.word(u128::from_le_bytes(*half)));
    }

    /// Hashes bytes whose length was hashed before.
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        let (whole, rest) = bytes.as_chunks::<16>();
        whole.iter().for_each(|part| self.word(u128::from_le_bytes(*part)));
        if !rest.is_empty() {
            let [low, high] = packed(rest);
            self.numbers(low, high);
        }
    }

    // The patterns below name all fields, so that a new one is a compile error.

    #[inline]
    fn message(&mut self, message: &VersionedMessage) {
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
                self.lookups(address_table_lookups);
            }
            VersionedMessage::V1(message) => {
                let v1::Message { header, config, lifetime_specifier, account_keys, instructions } =
                    message;
                self.start(2, header, account_keys);
                self.config(config);
                self.hash(lifetime_specifier.as_bytes());
                self.instructions(instructions);
            }
        }
    }

    #[inline]
    fn lookups(&mut self, lookups: &[v0::MessageAddressTableLookup]) {
        self.numbers(lookups.len() as u64, 0);
        for lookup in lookups {
            let v0::MessageAddressTableLookup { account_key, writable_indexes, readonly_indexes } =
                lookup;
            self.hash(account_key.as_array());
            self.lengths(0, writable_indexes.len(), readonly_indexes.len());
            self.bytes(writable_indexes);
            self.bytes(readonly_indexes);
        }
    }

    #[inline]
    fn config(&mut self, config: &v1::TransactionConfig) {
        let v1::TransactionConfig {
            priority_fee,
            compute_unit_limit,
            loaded_accounts_data_size_limit,
            heap_size,
        } = config;
        let short = |value: &Option<u32>| value.map(u64::from);
        let limits = [compute_unit_limit, loaded_accounts_data_size_limit, heap_size].map(short);
        for value in [*priority_fee].into_iter().chain(limits) {
            self.numbers(value.is_some().into(), value.unwrap_or_default());
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

    /// Hashes a number and two lengths, which are below 2^48, as one word.
    #[inline(always)]
    fn lengths(&mut self, number: u32, first: usize, second: usize) {
        self.word(u128::from(number) << 96 | (first as u128) << 48 | second as u128);
    }
}

/// Packs 1 to 15 bytes injectively for each length: as the first and the last bytes, which may overlap.
#[inline(always)]
fn packed(bytes: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()];
    }
    let at = |index: usize| u64::from(bytes.get(index).copied().unwrap_or_default());
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
    fn equal_messages_have_equal_ids() {
        assert_eq!(id(legacy(&[1, 2], &[3])), id(legacy(&[1, 2], &[3])));
    }

    #[test]
    fn packing_short_bytes_is_injective() {
        for len in 1..16 {
            let mut bytes = vec![0; len];
            let mut seen = vec![packed(&bytes)];
            for index in 0..len {
                for value in [1, 128, 255] {
                    bytes[index] = value;
                    seen.push(packed(&bytes));
                    bytes[index] = 0;
                }
            }
            let all = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), all, "{len}");
        }
    }

    #[test]
    fn different_messages_have_different_ids() {
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
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "{index}");
        }
    }
}
