//! Parses the text form of instruction data: `u8:1,u64:500,key:…`.

use core::str::FromStr as _;
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_svm::Pubkey;
use sha2::{Digest as _, Sha256};

use crate::{numbers, read::read};

const FORMS: &str = "data consists of parts joined by commas: u8:1 u16:2 u32:3 u64:4 i64:-5 0x0a0b \
                     bool:true str:text string:text key:ADDRESS base58:… base64:… anchor:NAME @file";

/// Resolves the text of an address.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Result<Pubkey>;

/// Length of a discriminator of Anchor.
const DISCRIMINATOR_BYTES: usize = 8;

/// Parses data of the command line or of a JSON string. `resolve` finds addresses.
pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Vec<u8>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parts =
        parts.map(|part| parse_part(part, resolve).with_context(|| format!("data `{part}`")));
    Ok(parts.collect::<Result<Vec<_>>>().advise(FORMS)?.concat())
}

fn number<I: numbers::Integer>(text: &str) -> Result<I> {
    numbers::parse(text).or_failure()
}

/// Parses a seed of a program derived address: a part of data, or plain text.
pub fn parse_seed(part: &str, resolve: Resolve<'_>) -> Result<Vec<u8>> {
    if part.contains(':') || part.starts_with("0x") {
        return parse_part(part, resolve).with_context(|| format!("seed `{part}`")).advise(FORMS);
    }
    if KINDS.contains(&part) {
        return Err(Failure::new(format!("seed `{part}` is a type without a value")))
            .advise(format!("for the text itself, write str:{part}"));
    }
    Ok(part.as_bytes().to_vec())
}

/// The types of parts, which come before a colon.
const KINDS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "bool", "str", "utf8",
    "string", "hex", "base58", "base64", "key", "anchor",
];

fn parse_part(part: &str, resolve: Resolve<'_>) -> Result<Vec<u8>> {
    if let Some(path) = part.strip_prefix('@') {
        return read(Path::new(path));
    }
    let Some((kind, value)) = part.split_once(':') else {
        return hex::decode(part.strip_prefix("0x").unwrap_or(part)).or_failure();
    };
    Ok(match kind {
        "u8" => number::<u8>(value)?.to_le_bytes().to_vec(),
        "u16" => number::<u16>(value)?.to_le_bytes().to_vec(),
        "u32" => number::<u32>(value)?.to_le_bytes().to_vec(),
        "u64" => number::<u64>(value)?.to_le_bytes().to_vec(),
        "u128" => number::<u128>(value)?.to_le_bytes().to_vec(),
        "i8" => number::<i8>(value)?.to_le_bytes().to_vec(),
        "i16" => number::<i16>(value)?.to_le_bytes().to_vec(),
        "i32" => number::<i32>(value)?.to_le_bytes().to_vec(),
        "i64" => number::<i64>(value)?.to_le_bytes().to_vec(),
        "i128" => number::<i128>(value)?.to_le_bytes().to_vec(),
        "str" | "utf8" => value.as_bytes().to_vec(),
        "hex" => hex::decode(value).or_failure()?,
        "base58" => base58(value)?,
        "base64" => BASE64_STANDARD.decode(value).or_failure()?,
        "bool" => vec![u8::from(value.parse::<bool>().or_failure()?)],
        "string" => {
            let len = u32::try_from(value.len()).context("the text is too long")?;
            [&len.to_le_bytes(), value.as_bytes()].concat()
        }
        "anchor" => Sha256::digest(format!("global:{value}"))[..DISCRIMINATOR_BYTES].to_vec(),
        "key" => resolve(value)?.to_bytes().to_vec(),
        _ => return Err(Failure::new(format!("unknown type `{kind}`"))),
    })
}

/// Decodes base58. Takes quadratic time, so the length is limited.
pub fn base58(text: &str) -> Result<Vec<u8>> {
    const CHARS_MAX: usize = 16 << 10;
    if text.len() > CHARS_MAX {
        return Err(Failure::new(format!(
            "base58 text of {} characters exceeds {CHARS_MAX}; use base64",
            text.len()
        )));
    }
    bs58::decode(text).into_vec().or_failure()
}

/// Parses an address.
///
/// # Errors
/// If it is none.
pub fn parse_key(text: &str) -> Result<Pubkey> {
    Pubkey::from_str(text)
        .map_err(|error| Failure::new(format!("`{text}` is not an address: {error}")))
        .advise("addresses are 32 bytes in base58")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_text_unless_they_say_otherwise() {
        let seed = |text: &str| parse_seed(text, &parse_key).expect("the text is a seed");
        assert_eq!(seed("vault"), b"vault");
        assert_eq!(seed("u16:258"), [2, 1]);
        assert_eq!(seed("0x0102"), [1, 2]);
        assert!(KINDS.iter().all(|kind| parse_seed(kind, &parse_key).is_err()));
    }

    fn check(text: &str, expected: &[u8]) {
        assert_eq!(parse(text, &parse_key).expect("the text is data"), expected, "{text}");
    }

    #[test]
    fn parts_are_joined() {
        check("", &[]);
        check("0a0b", &[10, 11]);
        check("0xff", &[255]);
        check("u8:1,u16:2, i32:-1", &[1, 2, 0, 255, 255, 255, 255]);
        check("str:hi,hex:00", b"hi\0");
        check("base64:AQI=", &[1, 2]);
        check("key:11111111111111111111111111111111", &[0; 32]);
        check("bool:true,string:hi", &[1, 2, 0, 0, 0, b'h', b'i']);
        // What Anchor's macro gives for a method `initialize`.
        check("anchor:initialize", &[175, 175, 109, 31, 13, 152, 155, 237]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["u8:256", "zz", "key:1", "u9:1", "base64:!", "u64:", "@/does/not/exist"] {
            assert!(parse(text, &parse_key).is_err(), "{text}");
        }
    }
}
