//! Bytes, hashes, numbers and accounts as vectors encode them.

use core::fmt;

pub use selkie_fixture::xxh64;
use selkie_svm::{Account, Pubkey};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Bytes, encoded in hex.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hex(pub Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unhex(&text).map(Self).ok_or_else(|| D::Error::custom("not a string of hex bytes"))
    }
}

/// A 64-bit number, encoded as a JSON number or as hex digits.
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

/// An account in a vector.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct VectorAccount {
    pub(crate) key: Key,
    #[serde(default)]
    lamports: u64,
    #[serde(default)]
    pub(crate) data: Hex,
    owner: Key,
    #[serde(default)]
    exec: bool,
}

/// An address, encoded in hex.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "Hex")]
pub(crate) struct Key(pub(crate) Pubkey);

impl TryFrom<Hex> for Key {
    type Error = &'static str;

    fn try_from(Hex(bytes): Hex) -> Result<Self, Self::Error> {
        let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| "an address has 32 bytes")?;
        Ok(Self(Pubkey::new_from_array(bytes)))
    }
}

impl VectorAccount {
    /// Returns the account with its address.
    pub(crate) fn account(&self) -> (Pubkey, Account) {
        let account = Account {
            lamports: self.lamports,
            data: self.data.0.clone(),
            owner: self.owner.0,
            executable: self.exec,
            rent_epoch: u64::MAX,
        };
        (self.key.0, account)
    }
}

/// Decodes pairs of hex digits; `None` for anything else.
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

/// Encodes bytes as pairs of hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes a JSON number, or hex digits with or without `0x`.
#[must_use]
pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        _ => None,
    }
}

/// Returns whether the field `kind` of a line is `kind`.
#[must_use]
pub fn is_kind(line: &Value, kind: &str) -> bool {
    line.get("kind").is_some_and(|value| value == kind)
}

/// Returns the file name that a vector gives: a string, or a hash as a number.
#[must_use]
pub fn file_name(value: &Value) -> Option<String> {
    match value {
        Value::Number(hash) => Some(format!("{:016x}", hash.as_u64()?)),
        Value::String(name) => Some(name.trim_start_matches("0x").to_owned()),
        _ => None,
    }
}

/// Returns the 64-bit FNV-1a hash.
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

/// Returns the SHA-256 hash in hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the first eight bytes of the SHA-256 hash in hex, by which vectors name files.
#[must_use]
pub fn sha256_prefix(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// Truncates a file to `length`, then overwrites it with each patch, up to the end of the file.
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
    fn patches_do_not_extend_the_file() {
        let mut bytes = vec![1, 2, 3, 4, 5];
        patch(&mut bytes, Some(4), &[(0, Hex(vec![9])), (3, Hex(vec![7, 7])), (8, Hex(vec![6]))]);
        assert_eq!(bytes, [9, 2, 3, 7]);
    }

    #[test]
    fn numbers_are_read_from_json_numbers_and_hex_digits() {
        for value in [Value::from(255), Value::from("ff"), Value::from("0xff")] {
            assert_eq!(number(&value), Some(255));
        }
        assert_eq!(number(&Value::from("xyz")), None);
        assert_eq!(number(&Value::from(u64::MAX)), Some(u64::MAX));
    }

    #[test]
    fn file_names_are_read_from_strings_and_numbers() {
        let names = [Value::from(255), Value::from("0x00ff"), Value::from("program")];
        assert_eq!(
            names.map(|name| file_name(&name).unwrap()),
            ["00000000000000ff", "00ff", "program"]
        );
        assert_eq!(file_name(&Value::Null), None);
    }

    #[test]
    fn hashes_of_empty_input_have_their_known_values() {
        assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
        assert_eq!(sha256_prefix(b""), "e3b0c44298fc1c14");
    }
}
