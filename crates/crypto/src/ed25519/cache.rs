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

#[cfg(test)]
mod tests {
    use super::{
        super::{Backend, point::Point},
        *,
    };

    /// Looks up a key of the first set, and returns the teeth with which it was made.
    fn find(cache: &Cache, number: u8) -> Option<usize> {
        let mut packed = [0; 32];
        (packed[8], packed[31]) = (number, number);
        let mut made = None;
        let key = cache.find(&packed, |teeth| {
            made = Some(teeth);
            let table = Backend::Portable.key_table(&Point::IDENTITY, 1);
            Some(Key { packed, has_small_order: false, table })
        });
        assert_eq!(key.expect("it was made").packed, packed);
        made
    }

    #[test]
    fn a_key_is_kept_from_its_second_signature_on() {
        let cache = Cache::default();
        assert_eq!([1; 4].map(|key| find(&cache, key)), [Some(1), Some(8), None, None]);
    }

    #[test]
    fn a_full_set_drops_the_key_that_was_not_used_for_longest() {
        let cache = Cache::default();
        for key in [1, 2, 3, 4] {
            assert_eq!([key; 2].map(|key| find(&cache, key)), [Some(1), Some(8)]);
        }
        assert_eq!(find(&cache, 1), None);
        assert_eq!([5; 2].map(|key| find(&cache, key)), [Some(1), Some(8)]);
        assert_eq!([1, 3, 4, 5].map(|key| find(&cache, key)), [None; 4]);
        // It was seen, so it is kept again.
        assert_eq!(find(&cache, 2), Some(8));
    }

    #[test]
    fn keys_that_sign_once_displace_no_others() {
        let cache = Cache::default();
        assert_eq!([1; 2].map(|key| find(&cache, key)), [Some(1), Some(8)]);
        for key in 2..=255 {
            assert_eq!(find(&cache, key), Some(1));
        }
        assert_eq!(find(&cache, 1), None);
        // Only the last of them are known to have been seen.
        assert_eq!([2, 255].map(|key| find(&cache, key)), [Some(1), Some(8)]);
        assert_eq!(cache.sets[0].lock().unwrap().keys.len(), 2);
    }

    #[test]
    fn keys_that_do_not_decompress_are_not_kept() {
        let cache = Cache::default();
        for _ in 0..3 {
            assert!(cache.find(&[2; 32], |_| None).is_none());
        }
        assert!(cache.sets.iter().all(|set| set.lock().unwrap().keys.is_empty()));
    }
}
