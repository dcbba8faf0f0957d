//! The little language of instruction data: `u8:1,u64:500,key:…`.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{numbers, program::read, ui::Advise as _};

const FORMS: &str = "data is made of parts joined by commas: u8:1 u16:2 u32:3 u64:4 i64:-5 0x0a0b \
                     str:text key:BASE58 base58:… base64:… @file";

/// Reads data as the command line and JSON strings write it.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parts = parts.map(|part| parse_part(part).with_context(|| format!("data `{part}`")));
    Ok(parts.collect::<Result<Vec<_>>>().advise(FORMS)?.concat())
}

fn number<I: numbers::Integer>(text: &str) -> Result<I> {
    numbers::parse(text).map_err(|error| anyhow!(error))
}

fn parse_part(part: &str) -> Result<Vec<u8>> {
    if let Some(path) = part.strip_prefix('@') {
        return read(Path::new(path));
    }
    let Some((kind, value)) = part.split_once(':') else {
        return Ok(hex::decode(part.strip_prefix("0x").unwrap_or(part))?);
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
        "str" => value.as_bytes().to_vec(),
        "hex" => hex::decode(value)?,
        "base58" => base58(value)?,
        "base64" => BASE64_STANDARD.decode(value)?,
        "key" => {
            let bytes = base58(value)?;
            if bytes.len() != 32 {
                bail!("a key has 32 bytes, not {}", bytes.len());
            }
            bytes
        }
        _ => bail!("unknown kind `{kind}`"),
    })
}

/// Decodes base58, which takes the square of its length: what is long has another encoding.
pub(crate) fn base58(text: &str) -> Result<Vec<u8>> {
    const CHARS_MAX: usize = 16 << 10;
    if text.len() > CHARS_MAX {
        bail!("base58 of {} characters: at most {CHARS_MAX} are read; use base64", text.len());
    }
    Ok(bs58::decode(text).into_vec()?)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, expected: &[u8]) {
        assert_eq!(parse(text).expect("the text is data"), expected, "{text}");
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
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["u8:256", "zz", "key:1", "u9:1", "base64:!", "u64:", "@/does/not/exist"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
