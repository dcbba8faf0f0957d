//! A keyed hash: nobody without the key can make one, or two inputs that have the same.

use highway::{HighwayHash as _, HighwayHasher};

/// What a hash comes to.
pub(crate) type Digest = [u8; 32];

/// A secret.
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

/// A hash in the making.
#[derive(Debug)]
pub(crate) struct Hasher(HighwayHasher);

impl Hasher {
    /// Adds a part. Parts are told apart by their lengths.
    pub(crate) fn put(&mut self, part: &[u8]) {
        self.0.append(&(part.len() as u64).to_le_bytes());
        self.0.append(part);
    }

    pub(crate) fn finish(self) -> Digest {
        let words = self.0.finalize256();
        let mut digest = Digest::default();
        for (place, word) in digest.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        digest
    }
}
