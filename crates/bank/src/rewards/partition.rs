//! Which block of a distribution rewards an account (agave: `solana-epoch-rewards-hasher`).

use selkie_svm::Pubkey;
use solana_hash::Hash;

/// Returns the partition of an address among `partitions`: the SipHash-1-3 of the parent's blockhash and
/// the address, scaled.
#[must_use]
pub fn partition_of(address: &Pubkey, parent_blockhash: &Hash, partitions: u64) -> u64 {
    let message = [parent_blockhash.to_bytes(), address.to_bytes()];
    let hash = sip_hash_13(message.as_flattened());
    let scaled = u128::from(partitions).saturating_mul(u128::from(hash)) >> 64;
    u64::try_from(scaled).unwrap_or(0)
}

/// Returns the SipHash-1-3 with a key of zeros.
fn sip_hash_13(message: &[u8]) -> u64 {
    let mut state: [u64; 4] = [
        0x736f_6d65_7073_6575,
        0x646f_7261_6e64_6f6d,
        0x6c79_6765_6e65_7261,
        0x7465_6462_7974_6573,
    ];
    let (words, rest) = message.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = message.len().to_le_bytes()[0];
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        state[3] ^= word;
        round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    state.into_iter().fold(0, |hash, word| hash ^ word)
}

fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use super::*;

    /// The standard library's hasher is SipHash-1-3 with a key of zeros, too.
    #[test]
    fn the_hash_is_sip_hash_13() {
        let message: Vec<u8> = (0..=64).collect();
        for len in 0..message.len() {
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write(&message[..len]);
            assert_eq!(sip_hash_13(&message[..len]), hasher.finish(), "{len}");
        }
    }

    #[test]
    fn every_partition_is_used_and_none_beyond() {
        let of = |byte| partition_of(&Pubkey::new_from_array([byte; 32]), &Hash::default(), 5);
        let mut used: Vec<u64> = (0..100).map(of).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, [0, 1, 2, 3, 4]);
    }
}
