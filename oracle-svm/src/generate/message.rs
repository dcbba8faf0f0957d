//! Compiles instructions to transactions: legacy, v0 with lookup tables, and v1.

use ed25519_dalek::{Signer, SigningKey};

use super::encode::{Bytes, compact};
use crate::{case::Key, rng::Rng};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) key: Key,
    pub(crate) signer: bool,
    pub(crate) writable: bool,
}

/// Short constructors of account metas: writable or read-only, signer or not.
pub(crate) const fn w(key: Key) -> Meta {
    Meta { key, signer: false, writable: true }
}

pub(crate) const fn r(key: Key) -> Meta {
    Meta { key, signer: false, writable: false }
}

pub(crate) const fn ws(key: Key) -> Meta {
    Meta { key, signer: true, writable: true }
}

pub(crate) const fn rs(key: Key) -> Meta {
    Meta { key, signer: true, writable: false }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) program: Key,
    pub(crate) metas: Vec<Meta>,
    pub(crate) data: Vec<u8>,
}

impl Instruction {
    pub(crate) fn new(program: Key, metas: Vec<Meta>, data: Bytes) -> Self {
        Self { program, metas, data: data.0 }
    }
}

/// The fields of a v1 message that replace compute budget instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Config {
    pub(crate) priority_fee: Option<u64>,
    pub(crate) compute_units: Option<u32>,
    pub(crate) loaded_size: Option<u32>,
    pub(crate) heap: Option<u32>,
}

/// Returns the key of an address, if known.
pub(crate) type Secrets<'a> = dyn Fn(&Key) -> Option<SigningKey> + 'a;

#[derive(Clone, Debug)]
pub(crate) enum Format {
    Legacy,
    /// Lookup tables with their addresses. Accounts that neither sign nor are invoked are looked up in
    /// them.
    V0(Vec<(Key, Vec<Key>)>),
    V1(Config),
}

/// The instructions of a transaction, with everything that compiling them to a message needs.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) payer: Key,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) blockhash: Key,
    pub(crate) format: Format,
}

/// The parts of a message, in order of serialization.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) header: [u8; 3],
    pub(crate) keys: Vec<Key>,
    pub(crate) blockhash: Key,
    pub(crate) instructions: Vec<Compiled>,
    pub(crate) lookups: Vec<Lookup>,
    format: Format,
}

#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) program: u8,
    pub(crate) accounts: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) table: Key,
    pub(crate) writable: Vec<u8>,
    pub(crate) readonly: Vec<u8>,
}

impl Draft {
    /// Compiles the instructions to a message.
    pub(crate) fn message(&self) -> Message {
        let metas = self.metas();
        let lookups = self.lookups(&metas);
        let looked_up = [self.looked_up(&lookups, true), self.looked_up(&lookups, false)].concat();
        let group = |signer: bool, writable: bool| -> Vec<Key> {
            let metas = metas.iter().filter(|it| it.signer == signer && it.writable == writable);
            metas.map(|it| it.key).filter(|key| !looked_up.contains(key)).collect()
        };
        let (signed, signed_readonly) = (group(true, true), group(true, false));
        let readonly = group(false, false);
        let header = [
            (signed.len() + signed_readonly.len()) as u8,
            signed_readonly.len() as u8,
            readonly.len() as u8,
        ];
        let keys = [signed, signed_readonly, group(false, true), readonly].concat();
        let all = [&keys[..], &looked_up].concat();
        let index = |key: &Key| all.iter().position(|it| it == key).unwrap_or(255).min(255) as u8;
        let compiled = |instruction: &Instruction| Compiled {
            program: index(&instruction.program),
            accounts: instruction.metas.iter().map(|it| index(&it.key)).collect(),
            data: instruction.data.clone(),
        };
        Message {
            header,
            keys,
            blockhash: self.blockhash,
            instructions: self.instructions.iter().map(compiled).collect(),
            lookups,
            format: self.format.clone(),
        }
    }

    /// Returns each account once, with the privileges that any instruction needs; the payer first.
    fn metas(&self) -> Vec<Meta> {
        let mut metas = vec![ws(self.payer)];
        for instruction in &self.instructions {
            for meta in instruction.metas.iter().copied().chain([r(instruction.program)]) {
                match metas.iter_mut().find(|it| it.key == meta.key) {
                    Some(known) => {
                        known.signer |= meta.signer;
                        known.writable |= meta.writable;
                    }
                    None => metas.push(meta),
                }
            }
        }
        metas
    }

    /// Looks up accounts that neither sign nor are invoked, each in the first table that lists it.
    fn lookups(&self, metas: &[Meta]) -> Vec<Lookup> {
        let Format::V0(tables) = &self.format else { return Vec::new() };
        let is_invoked = |key: &Key| self.instructions.iter().any(|it| it.program == *key);
        let mut metas: Vec<_> =
            metas.iter().filter(|it| !it.signer && !is_invoked(&it.key)).collect();
        let lookup = |(table, entries): &(Key, Vec<Key>)| {
            let mut lookup = Lookup { table: *table, writable: Vec::new(), readonly: Vec::new() };
            metas.retain(|meta| {
                let index = entries.iter().position(|it| *it == meta.key);
                let Some(index) = index.and_then(|it| u8::try_from(it).ok()) else { return true };
                let list = if meta.writable { &mut lookup.writable } else { &mut lookup.readonly };
                list.push(index);
                false
            });
            lookup
        };
        tables.iter().map(lookup).collect()
    }

    /// Returns the writable or the read-only addresses that all lookups yield, in their order.
    fn looked_up(&self, lookups: &[Lookup], writable: bool) -> Vec<Key> {
        let Format::V0(tables) = &self.format else { return Vec::new() };
        let entries = |(lookup, (_, entries)): (&Lookup, &(Key, Vec<Key>))| {
            let indices = if writable { &lookup.writable } else { &lookup.readonly };
            indices.iter().map(|index| entries[usize::from(*index)]).collect::<Vec<_>>()
        };
        lookups.iter().zip(tables).flat_map(entries).collect()
    }
}

impl Message {
    /// Serializes the message: the bytes that are signed.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match &self.format {
            Format::Legacy => self.body(Bytes::new()).0,
            Format::V0(_) => {
                let mut bytes =
                    self.body(Bytes::new().u8(0x80)).bytes(&compact(self.lookups.len()));
                for lookup in &self.lookups {
                    bytes = bytes.key(&lookup.table);
                    for indices in [&lookup.writable, &lookup.readonly] {
                        bytes = bytes.bytes(&compact(indices.len())).bytes(indices);
                    }
                }
                bytes.0
            }
            Format::V1(config) => self.v1(config),
        }
    }

    fn body(&self, start: Bytes) -> Bytes {
        let mut bytes = start.bytes(&self.header).bytes(&compact(self.keys.len()));
        bytes = bytes.bytes(&self.keys.concat()).key(&self.blockhash);
        bytes = bytes.bytes(&compact(self.instructions.len()));
        for instruction in &self.instructions {
            bytes = bytes.u8(instruction.program);
            for list in [&instruction.accounts, &instruction.data] {
                bytes = bytes.bytes(&compact(list.len())).bytes(list);
            }
        }
        bytes
    }

    fn v1(&self, config: &Config) -> Vec<u8> {
        let Config { priority_fee, compute_units, loaded_size, heap } = *config;
        let masks = [
            (priority_fee.is_some(), 0b11),
            (compute_units.is_some(), 0b100),
            (loaded_size.is_some(), 0b1000),
            (heap.is_some(), 0b1_0000),
        ];
        let mask = masks.iter().filter(|it| it.0).map(|it| it.1).sum();
        let mut bytes = Bytes::new().u8(0x81).bytes(&self.header).u32(mask).key(&self.blockhash);
        bytes = bytes.u8(self.instructions.len() as u8).u8(self.keys.len() as u8);
        bytes = bytes.bytes(&self.keys.concat());
        if let Some(fee) = priority_fee {
            bytes = bytes.u64(fee);
        }
        for value in [compute_units, loaded_size, heap].into_iter().flatten() {
            bytes = bytes.u32(value);
        }
        for instruction in &self.instructions {
            bytes = bytes.u8(instruction.program).u8(instruction.accounts.len() as u8);
            bytes = bytes.u16(instruction.data.len() as u16);
        }
        for instruction in &self.instructions {
            bytes = bytes.bytes(&instruction.accounts).bytes(&instruction.data);
        }
        bytes.0
    }

    /// The transaction with these signatures.
    pub(crate) fn with_signatures(&self, signatures: &[[u8; 64]]) -> Vec<u8> {
        let (message, signatures) = (self.bytes(), (signatures.len(), signatures.concat()));
        if matches!(self.format, Format::V1(_)) {
            Bytes::new().bytes(&message).bytes(&signatures.1).0
        } else {
            Bytes::new().bytes(&compact(signatures.0)).bytes(&signatures.1).bytes(&message).0
        }
    }

    /// Signs with the known keys. The other signatures are random, and all are if signatures will not
    /// be verified.
    pub(crate) fn sign(&self, secrets: Option<&Secrets<'_>>, rng: &mut Rng) -> Vec<u8> {
        let message = if secrets.is_some() { self.bytes() } else { Vec::new() };
        let signers = self.keys.iter().take(usize::from(self.header[0]));
        let signature = |key: &Key| match secrets.and_then(|find| find(key)) {
            Some(secret) => secret.sign(&message).to_bytes(),
            None => {
                let mut noise = [0; 64];
                noise.chunks_mut(8).for_each(|it| it.copy_from_slice(&rng.word().to_le_bytes()));
                noise
            }
        };
        let signatures: Vec<[u8; 64]> = signers.map(signature).collect();
        self.with_signatures(&signatures)
    }
}

#[cfg(test)]
mod tests {
    use solana_message::VersionedMessage;
    use solana_transaction::versioned::VersionedTransaction;

    use super::*;

    fn check(format: Format) -> VersionedTransaction {
        let instructions = vec![
            Instruction {
                program: [9; 32],
                metas: vec![ws([1; 32]), w([2; 32])],
                data: vec![7; 200],
            },
            Instruction {
                program: [8; 32],
                metas: vec![r([3; 32]), rs([4; 32])],
                data: Vec::new(),
            },
        ];
        let draft = Draft { payer: [5; 32], instructions, blockhash: [6; 32], format };
        let bytes = draft.message().sign(None, &mut Rng::new(1, 1));
        let read: VersionedTransaction = wincode::deserialize_exact(&bytes).expect("it is whole");
        read.sanitize().expect("it is well formed");
        assert_eq!(read.signatures.len(), 3);
        assert_eq!(read.message.instructions().len(), 2);
        assert_eq!(read.message.instructions()[0].data, vec![7; 200]);
        assert_eq!(read.message.recent_blockhash().to_bytes(), [6; 32]);
        read
    }

    #[test]
    fn agave_reads_legacy_transactions() {
        let read = check(Format::Legacy);
        assert_eq!(read.message.static_account_keys().len(), 7);
    }

    #[test]
    fn agave_reads_transactions_with_tables() {
        let table = ([0xaa; 32], vec![[0xbb; 32], [3; 32], [2; 32], [9; 32]]);
        let VersionedMessage::V0(message) = check(Format::V0(vec![table])).message else {
            panic!("the format was v0");
        };
        // Programs and signers stay.
        assert_eq!(message.account_keys.len(), 5);
        assert_eq!(message.address_table_lookups[0].writable_indexes, [2]);
        assert_eq!(message.address_table_lookups[0].readonly_indexes, [1]);
        assert_eq!(message.instructions[0].accounts[1], 5);
    }

    #[test]
    fn agave_reads_transactions_of_version_1() {
        let config = Config { priority_fee: Some(3), heap: Some(65_536), ..Config::default() };
        let VersionedMessage::V1(message) = check(Format::V1(config)).message else {
            panic!("the format was v1");
        };
        assert_eq!(message.config.priority_fee, Some(3));
        assert_eq!(message.config.heap_size, Some(65_536));
        assert_eq!(message.config.compute_unit_limit, None);
    }
}
