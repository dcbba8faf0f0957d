//! The hashes that stand for names in bytecode.

/// MurmurHash3, x86 32-bit variant, seed 0: the key of a syscall is this hash of its name.
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
        hash = (hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
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
    let mut hash = hash ^ scramble(tail) ^ bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

const fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// The name that every program's first function goes by.
pub const ENTRYPOINT: &str = "entrypoint";

/// The key of the function `entrypoint`.
pub const ENTRYPOINT_KEY: u32 = murmur3(ENTRYPOINT.as_bytes());

/// The key under which ELF files until V2 register the function at `pc`.
///
/// ```
/// assert_eq!(selkie_isa::symbol::pc_key(5), 0x67c2_5ef7);
/// ```
#[must_use]
pub const fn pc_key(pc: u32) -> u32 {
    murmur3(&(pc as u64).to_le_bytes())
}
