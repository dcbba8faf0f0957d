//! The keys that came again, with their tables.

use std::sync::{Arc, Mutex, PoisonError};

use super::Key;

/// The sets that a key may be in, by its first bytes.
const SETS: usize = 512;
/// The keys of a set.
const WAYS: usize = 4;
/// The keys that a set remembers to have seen once.
const SEEN: usize = 8;
/// The teeth of a table that is made for one signature, and of one that is kept.
const TEETH_ONCE: usize = 1;
const TEETH_KEPT: usize = 8;

/// Keys with tables: at most 2048, of about 10.5 kB each, hence 22 MB.
///
/// A key is kept from its second signature on, so that keys that sign once displace no others. A
/// full set drops the key that was not used for longest. What is kept affects no result: it is
/// computed from the key alone.
#[derive(Debug)]
pub(super) struct Cache {
    sets: Box<[Mutex<Set>]>,
}

#[derive(Debug, Default)]
struct Set {
    /// Most recently used first.
    keys: Vec<Arc<Key>>,
    /// Parts of the keys seen once, most recent first.
    seen: [u64; SEEN],
}

impl Default for Cache {
    fn default() -> Self {
        Self { sets: (0..SETS).map(|_| Mutex::default()).collect() }
    }
}

impl Cache {
    /// Returns the key, made by `make` with a number of teeth if it is not kept.
    pub(super) fn find(
        &self,
        packed: &[u8; 32],
        make: impl FnOnce(usize) -> Option<Key>,
    ) -> Option<Arc<Key>> {
        let (words, _) = packed.as_chunks::<8>();
        let [low, high] = [words[0], words[1]].map(u64::from_le_bytes);
        #[allow(clippy::cast_possible_truncation, reason = "it is below `SETS`")]
        let set = &self.sets[(low % SETS as u64) as usize];
        // A poisoned set is whole: nothing between its changes can panic.
        let lock = || set.lock().unwrap_or_else(PoisonError::into_inner);
        let is_seen = {
            let mut set = lock();
            if let Some(at) = set.keys.iter().position(|key| key.packed == *packed) {
                set.keys[..=at].rotate_right(1);
                return Some(Arc::clone(&set.keys[0]));
            }
            let is_seen = set.seen.contains(&high);
            if !is_seen {
                set.seen.rotate_right(1);
                set.seen[0] = high;
            }
            is_seen
        };
        let key = Arc::new(make(if is_seen { TEETH_KEPT } else { TEETH_ONCE })?);
        if is_seen {
            let mut set = lock();
            // Another thread may have added it in the meantime.
            set.keys.retain(|it| it.packed != *packed);
            set.keys.truncate(WAYS - 1);
            set.keys.insert(0, Arc::clone(&key));
        }
        Some(key)
    }
}
