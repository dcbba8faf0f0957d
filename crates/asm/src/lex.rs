//! The lexer, which produces tokens on demand and without allocation: a token is a kind and a
//! range.
//!
//! All dialects share it. Comments (`;`, `#`, `//` to the end of the line, `/* */`) are white
//! space; newlines are tokens, since they end statements.

use std::sync::Arc;

use crate::source::{Span, position};

/// The kind of a token. Punctuation is named after its characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tok {
    Ident,
    /// A number of at most 64 bits.
    Int(u64),
    /// A number of more than 64 bits.
    IntTooLarge,
    /// A malformed number.
    IntBad,
    /// `1f`, `1b`
    NumericRef {
        number: u32,
        forward: bool,
    },
    /// A quoted string, quotes included.
    Str,
    /// A string without a closing quote.
    StrOpen,
    Char(u64),
    CharBad,
    Newline,
    Eof,
    Comma,
    Colon,
    BracketL,
    BracketR,
    ParenL,
    ParenR,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    Pipe,
    Caret,
    Tilde,
    Bang,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    EqEq,
    Ne,
    AndAnd,
    OrOr,
    Eq,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CaretEq,
    ShlEq,
    ShrEq,
    At,
    Other,
}

/// A token: its kind, and its range in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Tok,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A text and the position of the next token.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    pub(crate) text: Arc<str>,
    pub(crate) base: u32,
    pub(crate) pos: usize,
    /// The position at which lexing ends: the end of the text or of a loop's body.
    pub(crate) end: usize,
}

const fn is_ident_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'$') || byte >= 0x80
}

/// The bytes that names consist of, as a table: the lexer tests every byte of most tokens.
static IDENT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = is_ident_start(byte) || byte.is_ascii_digit();
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

pub(crate) fn is_ident(byte: u8) -> bool {
    IDENT[usize::from(byte)]
}

/// Written by some editors at the start of UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Lexer {
    pub(crate) fn new(text: Arc<str>, base: u32) -> Self {
        let end = text.len();
        let pos = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Self { text, base, pos, end }
    }

    /// Converts a range of this text to a span.
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.base + position(start), end: self.base + position(end) }
    }

    fn bytes(&self) -> &[u8] {
        &self.text.as_bytes()[..self.end]
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Moves to the start of the next line and returns the range of the rest of the current one,
    /// without the newline.
    pub(crate) fn rest_of_line(&mut self) -> (usize, usize) {
        let start = self.pos;
        let rest = &self.bytes()[start..];
        let newline = rest.iter().position(|byte| *byte == b'\n').map(|length| start + length);
        self.pos = newline.map_or(self.end, |newline| newline + 1);
        (start, newline.unwrap_or(self.end))
    }

    /// Returns the next token.
    pub(crate) fn next(&mut self) -> Token {
        self.skip_blank();
        let start = self.pos;
        let kind = if start >= self.end { Tok::Eof } else { self.token() };
        Token { kind, start, end: self.pos }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = &self.bytes()[self.pos..];
            let blank =
                rest.iter().position(|it| !matches!(it, b' ' | b'\t' | b'\r' | 0x0b | 0x0c));
            self.pos += blank.unwrap_or(rest.len());
            match self.peek(0) {
                b';' | b'#' => self.skip_comment(),
                b'/' if self.peek(1) == b'/' => self.skip_comment(),
                b'/' if self.peek(1) == b'*' => {
                    let rest = &self.bytes()[self.pos + 2..];
                    let close = rest.windows(2).position(|pair| pair == b"*/");
                    self.pos = close.map_or(self.end, |close| self.pos + 2 + close + 2);
                }
                _ => return,
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.bytes()[self.pos..];
        self.pos += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn token(&mut self) -> Tok {
        let first = self.peek(0);
        match first {
            b'\n' => {
                self.pos += 1;
                Tok::Newline
            }
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'\'' => self.character(),
            _ if is_ident_start(first) => {
                self.skip_ident();
                Tok::Ident
            }
            _ => self.punctuation(first),
        }
    }

    fn skip_ident(&mut self) {
        let rest = &self.bytes()[self.pos..];
        self.pos += rest.iter().position(|byte| !is_ident(*byte)).unwrap_or(rest.len());
    }

    fn number(&mut self) -> Tok {
        let start = self.pos;
        self.skip_ident();
        let text = &self.text.as_bytes()[start..self.pos];
        let (digits, radix) = match text {
            [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
            [b'0', b'o' | b'O', digits @ ..] => (digits, 8),
            [b'0', b'b' | b'B', digits @ ..] if !digits.is_empty() => (digits, 2),
            [digits @ .., suffix @ (b'f' | b'b')] if digits.iter().all(u8::is_ascii_digit) => {
                return match parse_digits(digits, 10) {
                    Tok::Int(number) if u32::try_from(number).is_ok() => Tok::NumericRef {
                        number: u32::try_from(number).unwrap_or_default(),
                        forward: *suffix == b'f',
                    },
                    _ => Tok::IntBad,
                };
            }
            digits => (digits, 10),
        };
        parse_digits(digits, radix)
    }

    fn string(&mut self) -> Tok {
        self.pos += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.pos += 1;
                    return Tok::Str;
                }
                b'\\' if self.pos + 1 < self.end && self.peek(1) != b'\n' => self.pos += 2,
                b'\n' => return Tok::StrOpen,
                _ if self.pos >= self.end => {
                    self.pos = self.end;
                    return Tok::StrOpen;
                }
                _ => self.pos += 1,
            }
        }
    }

    fn character(&mut self) -> Tok {
        let start = self.pos;
        let rest = &self.text[start + 1..self.end];
        let line = rest.split('\n').next().unwrap_or_default();
        let mut end = line.chars().next().map_or(0, char::len_utf8);
        if let Some(escape) = line.strip_prefix('\\') {
            let mut bytes = Vec::new();
            end = unescape_one(escape, &mut bytes).map_or(end, |length| 1 + length);
            if let [byte] = bytes[..]
                && line[end..].starts_with('\'')
            {
                self.pos = start + end + 2;
                return Tok::Char(u64::from(byte));
            }
        } else if let Some(character) = line.chars().next()
            && line[end..].starts_with('\'')
            && character != '\''
        {
            self.pos = start + end + 2;
            return Tok::Char(u64::from(u32::from(character)));
        }
        self.pos = start + 1 + end;
        Tok::CharBad
    }

    fn punctuation(&mut self, first: u8) -> Tok {
        let (kind, length) = match (first, self.peek(1), self.peek(2)) {
            (b'<', b'<', b'=') => (Tok::ShlEq, 3),
            (b'>', b'>', b'=') => (Tok::ShrEq, 3),
            (b'<', b'<', _) => (Tok::Shl, 2),
            (b'>', b'>', _) => (Tok::Shr, 2),
            (b'<', b'=', _) => (Tok::Le, 2),
            (b'>', b'=', _) => (Tok::Ge, 2),
            (b'=', b'=', _) => (Tok::EqEq, 2),
            (b'!', b'=', _) => (Tok::Ne, 2),
            (b'&', b'&', _) => (Tok::AndAnd, 2),
            (b'|', b'|', _) => (Tok::OrOr, 2),
            (b'+', b'=', _) => (Tok::PlusEq, 2),
            (b'-', b'=', _) => (Tok::MinusEq, 2),
            (b'*', b'=', _) => (Tok::StarEq, 2),
            (b'/', b'=', _) => (Tok::SlashEq, 2),
            (b'%', b'=', _) => (Tok::PercentEq, 2),
            (b'&', b'=', _) => (Tok::AmpEq, 2),
            (b'|', b'=', _) => (Tok::PipeEq, 2),
            (b'^', b'=', _) => (Tok::CaretEq, 2),
            (b'<', ..) => (Tok::Lt, 1),
            (b'>', ..) => (Tok::Gt, 1),
            (b'=', ..) => (Tok::Eq, 1),
            (b'!', ..) => (Tok::Bang, 1),
            (b'&', ..) => (Tok::Amp, 1),
            (b'|', ..) => (Tok::Pipe, 1),
            (b'+', ..) => (Tok::Plus, 1),
            (b'-', ..) => (Tok::Minus, 1),
            (b'*', ..) => (Tok::Star, 1),
            (b'/', ..) => (Tok::Slash, 1),
            (b'%', ..) => (Tok::Percent, 1),
            (b'^', ..) => (Tok::Caret, 1),
            (b'~', ..) => (Tok::Tilde, 1),
            (b',', ..) => (Tok::Comma, 1),
            (b':', ..) => (Tok::Colon, 1),
            (b'[', ..) => (Tok::BracketL, 1),
            (b']', ..) => (Tok::BracketR, 1),
            (b'(', ..) => (Tok::ParenL, 1),
            (b')', ..) => (Tok::ParenR, 1),
            (b'@', ..) => (Tok::At, 1),
            _ => (Tok::Other, 1),
        };
        self.pos += length;
        kind
    }
}

/// Parses digits of `radix`, which may be separated by `_`.
fn parse_digits(digits: &[u8], radix: u32) -> Tok {
    let mut value = 0_u64;
    let mut any = false;
    for &byte in digits.iter().filter(|byte| **byte != b'_') {
        let Some(digit) = char::from(byte).to_digit(radix) else { return Tok::IntBad };
        let next = value.checked_mul(u64::from(radix)).and_then(|it| it.checked_add(digit.into()));
        let Some(next) = next else { return Tok::IntTooLarge };
        value = next;
        any = true;
    }
    if any { Tok::Int(value) } else { Tok::IntBad }
}

/// Appends the bytes of an escape sequence to `out`. `text` starts after the backslash; returns how
/// many bytes of it belong to the sequence, or `None` if it is unknown.
pub(crate) fn unescape_one(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    let first = text.chars().next()?;
    let byte = match first {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'a' => 7,
        'e' => 27,
        '\\' | '"' | '\'' => u8::try_from(first).ok()?,
        'x' => {
            let digits = text[1..].bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
            out.push(u8::from_str_radix(&text[1..=digits], 16).ok()?);
            return Some(1 + digits);
        }
        '0'..='7' => {
            let digits = text.bytes().take(3).take_while(|it| matches!(it, b'0'..=b'7')).count();
            out.push(u8::from_str_radix(&text[..digits], 8).ok()?);
            return Some(digits);
        }
        _ => return None,
    };
    out.push(byte);
    Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Tok]) {
        let mut lexer = Lexer::new(text.into(), 0);
        let kinds: Vec<Tok> = core::iter::from_fn(|| Some(lexer.next().kind))
            .take_while(|kind| *kind != Tok::Eof)
            .collect();
        assert_eq!(kinds, expected, "{text}");
    }

    #[test]
    fn numbers_have_four_radixes_and_underscores() {
        check("0x1_F 0o17 0b101 1_000", &[Tok::Int(31), Tok::Int(15), Tok::Int(5), Tok::Int(1000)]);
        check("18446744073709551616 0x 12q", &[Tok::IntTooLarge, Tok::IntBad, Tok::IntBad]);
        let (backward, forward) = (false, true);
        check("1f", &[Tok::NumericRef { number: 1, forward }]);
        check("0b", &[Tok::NumericRef { number: 0, forward: backward }]);
    }

    #[test]
    fn comments_are_white_space() {
        check(
            "a ; b\n# c\n/* d\n */ e // f",
            &[Tok::Ident, Tok::Newline, Tok::Newline, Tok::Ident],
        );
        check("/* open", &[]);
    }

    #[test]
    fn characters_and_strings_may_contain_escapes() {
        check(r"'A' '\n' '\''", &[Tok::Char(65), Tok::Char(10), Tok::Char(39)]);
        check(r#""a\"b" "open"#, &[Tok::Str, Tok::StrOpen]);
        check("'", &[Tok::CharBad]);
        check("'ab'", &[Tok::CharBad, Tok::Ident, Tok::CharBad]);
    }

    #[test]
    fn names_may_have_dots_and_dollars() {
        check(".Ltmp$1: s>>=", &[Tok::Ident, Tok::Colon, Tok::Ident, Tok::ShrEq]);
    }
}
