//! Directives that compute offsets of the serialized input, offsets of structure fields, and the
//! bytes of public keys.

use super::{Parsed, Parser};
use crate::{
    diagnostic::Diagnostic,
    lex::{Tok, Token},
    source::Span,
    symbols::Def,
};
use selkie_isa::failure::Failure;

/// Bytes that the runtime reserves after an account's data for growth.
const DATA_INCREASE_MAX: u64 = 10_240;
/// Limit for the accounts of an instruction.
const ACCOUNTS_MAX: u64 = 255;
/// Limit for the data of an account: 10 MiB.
const DATA_BYTES_MAX: u64 = 10 << 20;

/// The fields of a serialized account: name, and offset from the start of the account.
const FIELDS: &[(&str, u64)] = &[
    ("HEADER", 0x00),
    ("IS_SIGNER", 0x01),
    ("IS_WRITABLE", 0x02),
    ("IS_EXECUTABLE", 0x03),
    ("KEY", 0x08),
    ("OWNER", 0x28),
    ("LAMPORTS", 0x48),
    ("DATA_LEN", 0x50),
    ("DATA", 0x58),
];
const DATA_OFFSET: u64 = 0x58;

/// A `.struct` without its `.ends` yet.
#[derive(Debug)]
pub(super) struct Structure {
    name: String,
    span: Span,
    offset: i128,
    base: i128,
}

impl Parser<'_, '_> {
    fn define_number(&mut self, text: &str, span: Span, number: i128) {
        let name = self.session.names.intern(text);
        self.define_value(name, span, Def::Value(number), false);
    }

    /// Parses `.accounts N, data length…` and defines the offsets of an input region with `N`
    /// distinct accounts. The data length is 0 unless it is given.
    pub(super) fn accounts(&mut self, first: Token) -> Parsed {
        let (count, span) = self.number()?;
        let count = match u64::try_from(count) {
            Ok(count) if count <= ACCOUNTS_MAX => count,
            _ => return Err(self.fail(span, "an instruction has at most 255 accounts")),
        };
        let mut lengths = Vec::new();
        while self.eat(Tok::Comma) {
            let (length, span) = self.number()?;
            match u64::try_from(length) {
                Ok(length) if length <= DATA_BYTES_MAX => lengths.push(length),
                _ => return Err(self.fail(span, "account data has at most 10 MiB")),
            }
        }
        if lengths.len() as u64 > count {
            return Err(self.fail(self.span_from(first), "more data lengths than accounts"));
        }
        lengths.resize(usize::try_from(count).expect("at most 255"), 0);
        self.define_input(&lengths, self.span_from(first));
        Ok(())
    }

    /// Defines the offsets of an input region whose accounts have these data lengths.
    fn define_input(&mut self, data_lengths: &[u64], span: Span) {
        self.define_number("NUM_ACCOUNTS", span, 0);
        let mut start = 8_u64;
        for (account, length) in data_lengths.iter().enumerate() {
            for (field, offset) in FIELDS {
                let name = format!("ACCT{account}_{field}");
                self.define_number(&name, span, (start + offset).into());
            }
            let data_end = start + DATA_OFFSET + length + DATA_INCREASE_MAX;
            let rent_epoch = data_end.next_multiple_of(8);
            self.define_number(&format!("ACCT{account}_RENT_EPOCH"), span, rent_epoch.into());
            start = rent_epoch + 8;
        }
        self.define_number("INSTRUCTION_DATA_LEN", span, start.into());
        self.define_number("INSTRUCTION_DATA", span, (start + 8).into());
    }

    /// Parses `.pubkey "base58"` and emits the 32 bytes of the key.
    pub(super) fn pubkey(&mut self) -> Parsed {
        loop {
            let token = self.token;
            if token.kind != Tok::Str {
                return Err(self.expected("a public key in quotes"));
            }
            let text = self.unescape(token)?;
            let span = self.span_of(token);
            self.bump();
            match base58_key(&text) {
                Ok(key) => self.push_bytes(token, &key)?,
                Err(why) => {
                    let diagnostic = Diagnostic::error(span, format!("not a public key: {why}"))
                        .note("a public key is 32 bytes in base58");
                    return Err(self.report(diagnostic));
                }
            }
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    /// Parses `.struct NAME` or `.struct NAME, base`.
    pub(super) fn begin_struct(&mut self, first: Token) -> Parsed {
        if let Some(open) = &self.structure {
            let diagnostic =
                Diagnostic::syntax(self.span_of(first), "`.struct` inside a `.struct`")
                    .secondary(open.span, "this one has no `.ends` yet");
            return Err(self.report(diagnostic));
        }
        let name = self.name()?;
        let name = self.session.names.text(name).to_owned();
        let base = if self.eat(Tok::Comma) { self.number()?.0 } else { 0 };
        let span = self.span_from(first);
        self.structure = Some(Structure { name, span, offset: base, base });
        Ok(())
    }

    /// Parses `.field NAME, size` or `.field NAME, size, alignment`.
    pub(super) fn field(&mut self, first: Token) -> Parsed {
        let name_span = self.span();
        let name = self.name()?;
        self.expect(Tok::Comma, "`,` and the size of the field")?;
        let (size, span) = self.number()?;
        let align = if self.eat(Tok::Comma) { self.number()?.0 } else { 1 };
        if !(0..=i128::from(DATA_BYTES_MAX)).contains(&size) {
            return Err(self.fail(span, "a field has at most 10 MiB"));
        }
        if !matches!(align, 1 | 2 | 4 | 8 | 16) {
            return Err(self.fail(self.span_from(first), "the alignment must be 1, 2, 4, 8 or 16"));
        }
        let Some(open) = &mut self.structure else {
            return Err(self.syntax_error(self.span_of(first), "`.field` outside a `.struct`"));
        };
        let into = open.offset - open.base;
        let offset = open.base + into + (align - into.rem_euclid(align)) % align;
        open.offset = offset + size;
        let text = format!("{}.{}", open.name, self.session.names.text(name));
        self.define_number(&text, name_span, offset);
        Ok(())
    }

    /// Parses `.ends` and defines `NAME.SIZE`.
    pub(super) fn end_struct(&mut self, first: Token) -> Parsed {
        let Some(open) = self.structure.take() else {
            return Err(self.syntax_error(self.span_of(first), "`.ends` without a `.struct`"));
        };
        self.define_number(&format!("{}.SIZE", open.name), open.span, open.offset - open.base);
        Ok(())
    }

    /// Reports a `.struct` that is still open at the end of the source.
    pub(super) fn finish_generated(&mut self) {
        if let Some(open) = self.structure.take() {
            self.syntax_error(open.span, "this `.struct` has no `.ends`");
        }
    }
}

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Decodes a public key in base58.
fn base58_key(text: &[u8]) -> Result<[u8; 32], Failure> {
    let mut key = [0_u8; 32];
    for &character in text {
        let Some(digit) = ALPHABET.iter().position(|it| *it == character) else {
            return Err(format!(
                "`{}` is not a base58 digit",
                char::from(character).escape_debug()
            )
            .into());
        };
        let mut carry = u32::try_from(digit).expect("58 digits");
        for byte in key.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            [*byte, ..] = carry.to_le_bytes();
            carry >>= 8;
        }
        if carry > 0 {
            return Err("it is longer than 32 bytes".into());
        }
    }
    // Each leading zero byte is written as one `1`, so that every key has one encoding.
    let zeros = key.iter().take_while(|byte| **byte == 0).count();
    let ones = text.iter().take_while(|it| **it == b'1').count();
    if zeros != ones {
        return Err("it is not 32 bytes long".into());
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base58_of_exactly_32_bytes_is_a_key() {
        assert_eq!(base58_key(&[b'1'; 32]).unwrap(), [0; 32]);
        let token = base58_key(b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA").unwrap();
        assert_eq!(token[..4], [0x06, 0xdd, 0xf6, 0xe1]);
        assert!(base58_key(b"Tokenkeg").is_err());
        assert!(base58_key(b"").is_err());
        assert!(base58_key(&[b'1'; 33]).is_err());
        assert!(base58_key(&[b'z'; 44]).is_err());
        assert!(base58_key(b"0OIl").is_err());
    }
}
