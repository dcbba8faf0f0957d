//! Bytes, hashes and numbers as vectors write them.

use core::fmt;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use sha2::{Digest, Sha256};
use twox_hash::XxHash64;

/// Bytes, written in hex.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hex(pub Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unhex(&text).map(Self).ok_or_else(|| D::Error::custom("not a string of hex bytes"))
    }
}

/// A number of 64 bits, written as a number or as hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Hex64(pub u64);

impl<'de> Deserialize<'de> for Hex64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(&Value::deserialize(deserializer)?)
            .map(Self)
            .ok_or_else(|| D::Error::custom("neither a number nor hex digits"))
    }
}

impl fmt::Debug for Hex64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The bytes that pairs of hex digits stand for.
///
/// ```
/// assert_eq!(selkie_conform::vector::unhex("00ff"), Some(vec![0, 255]));
/// assert_eq!(selkie_conform::vector::unhex("f"), None);
/// ```
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// Bytes as pairs of hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number, written as such or as hex digits with or without `0x`.
#[must_use]
pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        _ => None,
    }
}

/// The name of a file as vectors give it: as such, or as the number that its bytes hash to.
#[must_use]
pub fn file_name(value: &Value) -> Option<String> {
    match value {
        Value::Number(hash) => Some(format!("{:016x}", hash.as_u64()?)),
        Value::String(name) => Some(name.trim_start_matches("0x").to_owned()),
        _ => None,
    }
}

/// XXH64 with seed 0.
#[must_use]
pub fn xxh64(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// FNV-1a of 64 bits.
///
/// ```
/// assert_eq!(selkie_conform::vector::fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// SHA-256 in hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first eight bytes of SHA-256 in hex: what vectors name files by.
#[must_use]
pub fn sha256_prefix(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// Cuts a file off at `length`, then writes each patch over it, as far as the file goes.
pub fn patch(bytes: &mut Vec<u8>, length: Option<usize>, patches: &[(usize, Hex)]) {
    bytes.truncate(length.unwrap_or(usize::MAX));
    for (offset, Hex(patch)) in patches {
        let target = bytes.get_mut(*offset..).unwrap_or_default();
        target.iter_mut().zip(patch).for_each(|(byte, patch)| *byte = *patch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_end_where_the_file_ends() {
        let mut bytes = vec![1, 2, 3, 4, 5];
        patch(&mut bytes, Some(4), &[(0, Hex(vec![9])), (3, Hex(vec![7, 7])), (8, Hex(vec![6]))]);
        assert_eq!(bytes, [9, 2, 3, 7]);
    }

    #[test]
    fn numbers_are_read_however_they_are_written() {
        for value in [Value::from(255), Value::from("ff"), Value::from("0xff")] {
            assert_eq!(number(&value), Some(255));
        }
        assert_eq!(number(&Value::from("xyz")), None);
        assert_eq!(number(&Value::from(u64::MAX)), Some(u64::MAX));
    }

    #[test]
    fn files_are_named_by_text_or_by_number() {
        let names = [Value::from(255), Value::from("0x00ff"), Value::from("program")];
        assert_eq!(
            names.map(|name| file_name(&name).unwrap()),
            ["00000000000000ff", "00ff", "program"]
        );
        assert_eq!(file_name(&Value::Null), None);
    }

    #[test]
    fn hashes_are_what_they_are_called() {
        assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
        assert_eq!(sha256_prefix(b""), "e3b0c44298fc1c14");
    }
}
