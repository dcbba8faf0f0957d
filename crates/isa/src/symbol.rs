//! The hashes by which bytecode refers to functions and syscalls.

/// Returns the MurmurHash3 of `bytes`, in its x86 32-bit variant with seed 0.
///
/// The hash of a syscall's name is the immediate of a call of it.
///
/// ```
/// assert_eq!(selkie_isa::symbol::murmur3(b"sol_log_"), 0x2075_59bd);
/// assert_eq!(selkie_isa::symbol::murmur3(b"entrypoint"), 0x71e3_cf81);
/// ```
#[must_use]
pub const fn murmur3(bytes: &[u8]) -> u32 {
    let mut hash = 0_u32;
    let mut index = 0;
    while index + 4 <= bytes.len() {
        let block = u32::from_le_bytes([
            bytes[index],
            bytes[index + 1],
            bytes[index + 2],
            bytes[index + 3],
        ]);
        hash = mix(hash, block);
        index += 4;
    }
    let mut tail = 0_u32;
    let mut shift = 0;
    while index < bytes.len() {
        tail |= (bytes[index] as u32) << shift;
        shift += 8;
        index += 1;
    }
    #[allow(clippy::cast_possible_truncation, reason = "the hash takes the length modulo 2^32")]
    let len = bytes.len() as u32;
    finish(hash ^ scramble(tail), len)
}

#[inline]
const fn mix(hash: u32, block: u32) -> u32 {
    (hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline]
const fn finish(hash: u32, len: u32) -> u32 {
    let mut hash = hash ^ len;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[inline]
const fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// The symbol name of a program's entry function.
pub const ENTRYPOINT: &str = "entrypoint";

/// The key under which ELF files until V2 register the entry function.
pub const ENTRYPOINT_KEY: u32 = murmur3(ENTRYPOINT.as_bytes());

/// Returns the key under which ELF files until V2 register the function at slot `pc`.
///
/// ```
/// use selkie_isa::symbol::{murmur3, pc_key};
/// assert_eq!(pc_key(5), 0x67c2_5ef7);
/// assert_eq!(pc_key(0xfedc_ba98), murmur3(&0xfedc_ba98_u64.to_le_bytes()));
/// ```
#[must_use]
#[inline]
pub const fn pc_key(pc: u32) -> u32 {
    // The hash of the number as eight bytes, of which the upper four are zero.
    finish(mix(mix(0, pc), 0), 8)
}
