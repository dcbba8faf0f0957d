//! Readers of Rust source: constants, defaults of structs, variants of enums, gates, and names in
//! strings.

use std::collections::BTreeMap;

use crate::source::{Kind, Source, Token, item_len};

/// Something that a source file declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) name: String,
    /// The address of a gate, the number of an error, the tokens of an expression; may be empty.
    pub(super) value: String,
    /// What the source says of it in words; may be empty.
    pub(super) note: String,
    /// The line of the file, counted from 1.
    pub(super) line: usize,
}

impl Found {
    fn new(name: &str, value: impl Into<String>, line: usize) -> Self {
        Self { name: name.to_owned(), value: value.into(), note: String::new(), line }
    }
}

/// Feature gates: modules with `declare_id!` that `FEATURE_NAMES` describes. The value is the address.
pub(super) fn gates(text: &str) -> Vec<Found> {
    let source = Source::new(text);
    let tokens = source.tokens();
    let (mut open, mut depth, mut gates) = (Vec::new(), 0_usize, Vec::new());
    let mut described = BTreeMap::new();
    for at in 0..tokens.len() {
        match texts(tokens, at) {
            ["mod", name, "{", ..] => open.push((name, depth)),
            ["declare_id", "!", "(", address, ..] => {
                let path: Vec<&str> = open.iter().map(|&(name, _)| name).collect();
                gates.push(Found::new(&path.join("::"), unquote(address), tokens[at].line));
            }
            ["id", "(", ")", ",", words, ..] if words.starts_with('"') => {
                described.insert(path_before(tokens, at), unquote(words).to_owned());
            }
            ["{", ..] => depth += 1,
            ["}", ..] => {
                depth = depth.saturating_sub(1);
                open.retain(|(_, outer)| *outer < depth);
            }
            _ => {}
        }
    }
    let describe = |mut gate: Found| {
        gate.note.clone_from(described.get(&gate.name)?);
        Some(gate)
    };
    gates.into_iter().filter_map(describe).collect()
}

/// The path that ends before `::` at `at`: `a::b` of `a::b::id`.
fn path_before(tokens: &[Token<'_>], at: usize) -> String {
    let mut start = at;
    while start > 0 && (tokens[start - 1].text == ":" || tokens[start - 1].kind == Kind::Word) {
        start -= 1;
    }
    let path: String = tokens[start..at].iter().map(|it| it.text).collect();
    path.trim_end_matches(':').to_owned()
}

/// Constants. The value is their expression, a number where it can be computed from literals and from
/// other constants of the text.
pub(super) fn constants(text: &str) -> Vec<Found> {
    let source = Source::new(text);
    let tokens = source.tokens();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let ["const", name, ":", ..] = texts(tokens, at) else { continue };
        let item = &tokens[at..at + item_len(&tokens[at..])];
        let Some(equals) = item.iter().position(|it| it.text == "=") else { continue };
        let value = &item[equals + 1..item.len().saturating_sub(1)];
        found.push((Found::new(name, joined(value), tokens[at].line), value));
    }
    computed(found)
}

/// The fields of `impl Default` of a struct, as `Struct::field`. Values are as those of [`constants`].
pub(super) fn defaults(text: &str) -> Vec<Found> {
    let source = Source::new(text);
    let tokens = source.tokens();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let ["impl", "Default", "for", name, ..] = texts(tokens, at) else { continue };
        let item = &tokens[at..at + item_len(&tokens[at..])];
        let starts = (5..item.len()).filter(|&at| {
            item[at].text == "{" && (item[at - 1].text == name || item[at - 1].text == "Self")
        });
        // `-> Self {` opens a body, which has no fields itself.
        let starts = starts.filter(|&at| item[at - 2].text != ">");
        for start in starts {
            for field in split(&item[start + 1..start + item_len(&item[start..]) - 1]) {
                if let [field, colon, value @ ..] = field
                    && colon.text == ":"
                {
                    let name = format!("{name}::{}", field.text);
                    found.push((Found::new(&name, joined(value), field.line), value));
                }
            }
        }
    }
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for constant in constants(text) {
        known.extend(constant.value.parse().ok().map(|value| (constant.name, value)));
    }
    let compute = |(mut it, value): (Found, &[Token<'_>])| {
        it.value = Expression::value(value, &known).map_or(it.value, |value| value.to_string());
        it
    };
    found.into_iter().map(compute).collect()
}

/// Replaces expressions by their values as long as more can be computed.
fn computed(mut found: Vec<(Found, &[Token<'_>])>) -> Vec<Found> {
    let mut known = BTreeMap::new();
    loop {
        let before = known.len();
        for (it, value) in &mut found {
            if let Some(value) = Expression::value(value, &known) {
                it.value = value.to_string();
                known.insert(it.name.clone(), value);
            }
        }
        if known.len() == before {
            return found.into_iter().map(|(it, _)| it).collect();
        }
    }
}

/// The variants of an enum, as `Enum::Variant`. The value is the index.
pub(super) fn variants(text: &str, name: &str) -> Vec<Found> {
    let source = Source::new(text);
    let tokens = source.tokens();
    let start = (0..tokens.len()).find(|&at| {
        let ["enum", it, "{", ..] = texts(tokens, at) else { return false };
        it == name
    });
    let Some(start) = start.map(|at| at + 2) else { return Vec::new() };
    let variants = split(&tokens[start + 1..start + item_len(&tokens[start..]) - 1]);
    let named = variants.into_iter().filter_map(|variant| {
        let mut at = 0;
        while let Some(token) = variant.get(at) {
            match token.kind {
                Kind::OuterDoc | Kind::InnerDoc => at += 1,
                _ if token.text == "#" => at += 2 + closing(&variant[at + 1..]),
                _ => return Some(*token),
            }
        }
        None
    });
    let found = |(index, token): (usize, Token<'_>)| {
        Found::new(&format!("{name}::{}", token.text), index.to_string(), token.line)
    };
    named.enumerate().map(found).collect()
}

/// The index of the bracket that closes the one at the start.
fn closing(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let is_end = |it: &Token<'_>| {
        match it.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    tokens.iter().position(is_end).unwrap_or(tokens.len().saturating_sub(1))
}

/// Parts between the commas that are in no brackets.
fn split<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        if tokens[at].text == "," {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
        at += closing(&tokens[at..]) + 1;
    }
    parts.push(&tokens[start.min(tokens.len())..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Names in `name = "…"`, as attributes of RPC methods have them.
pub(super) fn named(text: &str) -> Vec<Found> {
    let source = Source::new(text);
    let tokens = source.tokens();
    let name = |at| match texts(tokens, at) {
        ["name", "=", name, ..] if name.starts_with('"') => {
            Some(Found::new(unquote(name), "", tokens[at].line))
        }
        _ => None,
    };
    (0..tokens.len()).filter_map(name).collect()
}

/// Strings that `is_it` accepts, each once.
pub(super) fn strings(text: &str, is_it: impl Fn(&str) -> bool) -> Vec<Found> {
    let source = Source::new(text);
    let mut found: Vec<Found> = Vec::new();
    for token in source.tokens().iter().filter(|it| it.text.starts_with('"')) {
        let text = unquote(token.text);
        if is_it(text) && !found.iter().any(|it| it.name == text) {
            found.push(Found::new(text, "", token.line));
        }
    }
    found
}

fn unquote(text: &str) -> &str {
    text.trim_matches('"')
}

fn joined(tokens: &[Token<'_>]) -> String {
    tokens.iter().map(|it| it.text).collect::<Vec<_>>().join(" ")
}

/// The texts of the next five tokens; empty texts behind the end.
fn texts<'t>(tokens: &[Token<'t>], at: usize) -> [&'t str; 5] {
    std::array::from_fn(|next| tokens.get(at + next).map_or("", |it| it.text))
}

/// An expression of numbers and of constants, from left to right.
struct Expression<'a, 't> {
    tokens: &'a [Token<'t>],
    known: &'a BTreeMap<String, u64>,
}

impl Expression<'_, '_> {
    /// Returns the value of all tokens, if it is a number without a sign.
    fn value(tokens: &[Token<'_>], known: &BTreeMap<String, u64>) -> Option<u64> {
        let mut it = Expression { tokens, known };
        let value = it.sum()?;
        it.tokens.is_empty().then_some(value)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.tokens.first().is_some_and(|it| it.text == text);
        self.tokens = &self.tokens[usize::from(is_next)..];
        is_next
    }

    fn sum(&mut self) -> Option<u64> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.take("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<u64> {
        let mut value = self.operand()?;
        loop {
            if self.take("*") {
                value = value.checked_mul(self.operand()?)?;
            } else if self.take("/") {
                value = value.checked_div(self.operand()?)?;
            } else {
                return Some(value);
            }
        }
    }

    /// A number, constant, call of a constructor or expression in parentheses, with its methods.
    fn operand(&mut self) -> Option<u64> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        let mut value = match first.kind {
            Kind::Literal => number(first.text)?,
            _ if first.text == "(" => {
                let value = self.sum()?;
                self.take(")").then_some(value)?
            }
            Kind::Word => self.path(first.text)?,
            _ => return None,
        };
        loop {
            if self.take("as") {
                self.tokens = self.tokens.get(1..)?;
            } else if self.take(".") {
                value = self.method(value)?;
            } else {
                return Some(value);
            }
        }
    }

    /// `a::B`, or `a::new(1)`, which has the value of its argument.
    fn path(&mut self, first: &str) -> Option<u64> {
        let mut last = first.to_owned();
        while self.take(":") {
            self.take(":");
            let (name, rest) = self.tokens.split_first()?;
            (last, self.tokens) = (name.text.to_owned(), rest);
        }
        if last != "new" {
            return self.known.get(&last).copied();
        }
        self.argument()
    }

    fn argument(&mut self) -> Option<u64> {
        if !self.take("(") {
            return None;
        }
        let value = self.sum()?;
        self.take(")").then_some(value)
    }

    fn method(&mut self, value: u64) -> Option<u64> {
        let (name, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match name.text {
            "unwrap" | "get" => (self.take("(") && self.take(")")).then_some(value),
            "saturating_mul" => Some(value.saturating_mul(self.argument()?)),
            "saturating_add" => Some(value.saturating_add(self.argument()?)),
            "saturating_sub" => Some(value.saturating_sub(self.argument()?)),
            _ => None,
        }
    }
}

/// A number with underscores and perhaps a suffix.
fn number(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let text = ["u8", "u16", "u32", "u64", "usize", "i64"]
        .into_iter()
        .find_map(|suffix| text.strip_suffix(suffix))
        .unwrap_or(&text);
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(found: &[Found]) -> Vec<(&str, &str, usize)> {
        found.iter().map(|it| (&*it.name, &*it.value, it.line)).collect()
    }

    #[test]
    fn gates_have_the_path_of_their_modules_and_a_description() {
        let text = r#"
pub mod outer {
    pub mod inner {
        solana_pubkey::declare_id!("Addr1");
    }
}
pub mod buffer {
    pub mod program { solana_pubkey::declare_id!("Addr2"); }
}
pub mod plain { solana_pubkey::declare_id!("Addr3"); }
pub static FEATURE_NAMES: X = [
    (outer::inner::id(), "SIMD-0001: an inner one"),
    (
        plain::id(),
        "plain",
    ),
];
"#;
        let gates = gates(text);
        assert_eq!(pairs(&gates), [("outer::inner", "Addr1", 4), ("plain", "Addr3", 10)]);
        assert_eq!(gates[0].note, "SIMD-0001: an inner one");
    }

    #[test]
    fn constants_are_computed_from_each_other() {
        let text = "const A: u64 = B * (24 - 4) / 2 + 1;\npub const B: u64 = 3_0u64;\n\
                    const C: NonZeroU32 = NonZeroU32::new(64 * 1024).unwrap();\n\
                    const D: i64 = -5;\nconst E: u32 = a::B as u32;\nconst fn f() {}\n\
                    #[cfg(test)]\nmod tests { const G: u8 = 1; }";
        let expected =
            [("A", "301", 1), ("B", "30", 2), ("C", "65536", 3), ("D", "- 5", 4), ("E", "30", 5)];
        assert_eq!(pairs(&constants(text)), expected);
    }

    #[test]
    fn defaults_are_those_of_the_body() {
        let text = "const BASE: u64 = 9;\nimpl Default for Cost {\n fn default() -> Self {\n  \
                    Self {\n   a: 1_000,\n   b: BASE,\n   c: X::default(),\n  }\n }\n}";
        let expected =
            [("Cost::a", "1000", 5), ("Cost::b", "9", 6), ("Cost::c", "X : : default ( )", 7)];
        assert_eq!(pairs(&defaults(text)), expected);
    }

    #[test]
    fn variants_are_numbered_whatever_they_hold() {
        let text = "enum Other { Z }\npub enum E {\n /// Words.\n A,\n #[error(\"a, b\")]\n \
                    B(u8, u16),\n #[deprecated] C { x: u8, y: u8 },\n}";
        assert_eq!(
            pairs(&variants(text, "E")),
            [("E::A", "0", 4), ("E::B", "1", 6), ("E::C", "2", 7)]
        );
        assert!(variants(text, "F").is_empty());
    }

    #[test]
    fn names_of_attributes_and_strings_are_found() {
        let text = "#[rpc(meta, name = \"getX\")]\nfn f() { g(\"sol_a\"); g(\"sol_a\"); g(\"b\") }";
        assert_eq!(pairs(&named(text)), [("getX", "", 1)]);
        assert_eq!(pairs(&strings(text, |it| it.starts_with("sol_"))), [("sol_a", "", 2)]);
    }
}
