//! Interned names: each spelling is stored once, and compared and looked up by index.

use core::hash::{BuildHasherDefault, Hasher};
use std::{collections::HashMap, sync::Arc};

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name(u32);

impl Name {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All names, by index and by spelling.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_text: FastMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    pub(crate) fn intern(&mut self, text: &str) -> Name {
        if let Some(&name) = self.by_text.get(text) {
            return name;
        }
        let text: Arc<str> = text.into();
        let name = self.fresh(Arc::clone(&text));
        self.by_text.insert(text, name);
        name
    }

    /// Returns a new name, distinct from all others with this spelling.
    pub(crate) fn fresh(&mut self, text: Arc<str>) -> Name {
        let index = u32::try_from(self.texts.len()).expect("fewer names than bytes of source");
        self.texts.push(text);
        Name(index)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        &self.texts[name.index()]
    }

    pub(crate) fn shared(&self, name: Name) -> Arc<str> {
        Arc::clone(&self.texts[name.index()])
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Iterates over all names, the last one first.
    pub(crate) fn reversed(&self) -> impl Iterator<Item = Name> + use<> {
        let count = u32::try_from(self.texts.len()).expect("`fresh` counts in 32 bits");
        (0..count).rev().map(Name)
    }

    /// Iterates over all names with their spellings.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Name, &str)> {
        let index = |at: usize| Name(u32::try_from(at).expect("`fresh` counts in 32 bits"));
        self.texts.iter().enumerate().map(move |(at, text)| (index(at), &**text))
    }
}

/// A fast hash map for short keys. It is not hardened against chosen keys, which could only slow
/// down the assembly of the source that contains them.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// Hashes one word at a time by rotation, exclusive or and multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastHasher(u64);

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(byte.into());
    }

    fn finish(&self) -> u64 {
        // The map takes its bucket from the low bits, which multiplication mixes least.
        self.0 ^ self.0 >> 32
    }
}
