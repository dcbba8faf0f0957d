//! Keyed hashes (HighwayHash): without the key, hashes and collisions cannot be computed.

use highway::{HighwayHash as _, HighwayHasher};

/// A 256-bit hash.
pub(crate) type Digest = [u8; 32];

/// A secret key.
#[derive(Clone)]
pub(crate) struct Key(highway::Key);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Key {
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: &[[u8; 8]; 4] = words.try_into().ok()?;
        rest.is_empty().then(|| Self(highway::Key(words.map(u64::from_le_bytes))))
    }

    pub(crate) fn hasher(&self) -> Hasher {
        Hasher(HighwayHasher::new(self.0))
    }
}

/// An incremental keyed hash.
#[derive(Debug)]
pub(crate) struct Hasher(HighwayHasher);

impl Hasher {
    /// Adds a part, preceded by its length so that parts cannot be confused.
    pub(crate) fn put(&mut self, part: &[u8]) {
        self.0.append(&(part.len() as u64).to_le_bytes());
        self.0.append(part);
    }

    pub(crate) fn finish(self) -> Digest {
        let words = self.0.finalize256();
        let mut digest = Digest::default();
        for (bytes, word) in digest.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        digest
    }
}
