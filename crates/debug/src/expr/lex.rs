//! Words of expressions.

use core::ops::Range;

use super::ExprError;

/// A word of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Number(i128),
    Text(String),
    /// A name or path: `count`, `core::fmt::Error`.
    Name(String),
    /// A name after `$`.
    Register(String),
    /// An operator or bracket.
    Sign(&'static str),
}

/// A token and where it is.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) at: Range<usize>,
}

/// Operators and brackets; longer ones come first.
const SIGNS: &[&str] = &[
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "..", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "<", ">", "(", ")", "[", "]", ".", ",",
];

/// Splits an expression into words.
pub(super) fn words(source: &str) -> Result<Vec<Word>, ExprError> {
    let mut words: Vec<Word> = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        // In `pair.0.1` the numbers are names of fields.
        let is_field = words.last().is_some_and(|it| it.token == Token::Sign("."));
        let (token, len) = match first {
            '0'..='9' if is_field => {
                let len = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
                (Token::Name(rest[..len].to_owned()), len)
            }
            '0'..='9' => number(rest, at)?,
            '"' => text(rest, at)?,
            '\'' => character(rest, at)?,
            '$' => {
                let len = name_len(&rest[1..]);
                (Token::Register(rest[1..=len].to_owned()), 1 + len)
            }
            it if it == '_' || it.is_alphabetic() => {
                let len = name_len(rest);
                (Token::Name(rest[..len].to_owned()), len)
            }
            _ => sign(rest, at)?,
        };
        words.push(Word { token, at: at..at + len });
        at += len;
    }
    Ok(words)
}

/// Returns the length of a path.
fn name_len(text: &str) -> usize {
    let mut len = 0;
    loop {
        let rest = &text[len..];
        len += rest.find(|it: char| it != '_' && !it.is_alphanumeric()).unwrap_or(rest.len());
        match text[len..].strip_prefix("::") {
            Some(rest) if rest.starts_with(|it: char| it == '_' || it.is_alphabetic()) => len += 2,
            _ => return len,
        }
    }
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let len = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
    let digits = rest[..len].replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        _ => (10, &digits[..]),
    };
    let value = u64::from_str_radix(digits, radix);
    let value = value.map_err(|_| ExprError::new(at..at + len, "not a number of 64 bits"))?;
    Ok((Token::Number(value.into()), len))
}

fn text(rest: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let end =
        rest[1..].find('"').ok_or_else(|| ExprError::new(at..at + 1, "the text has no end"))?;
    Ok((Token::Text(rest[1..=end].to_owned()), end + 2))
}

fn character(rest: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let mut inner = rest[1..].chars();
    match (inner.next(), inner.next()) {
        (Some(value), Some('\'')) => {
            Ok((Token::Number(i128::from(u32::from(value))), 2 + value.len_utf8()))
        }
        _ => Err(ExprError::new(at..at + 1, "expected one character between quotes")),
    }
}

fn sign(rest: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let found = SIGNS.iter().find(|it| rest.starts_with(**it));
    let len = rest.chars().next().map_or(1, char::len_utf8);
    let found = found.ok_or_else(|| ExprError::new(at..at + len, "no operator starts so"))?;
    Ok((Token::Sign(found), found.len()))
}
