//! A reader of Rust source that finds items and paths without a compiler.

mod items;
mod lexer;
mod paths;

use std::collections::BTreeSet;

use lexer::tokens;

pub(crate) use {
    items::Function,
    lexer::{Kind, Token},
    paths::references,
};

/// The tokens of a source file without those of tests.
pub(crate) struct Source<'a> {
    tokens: Vec<Token<'a>>,
    /// Modules in files of their own that are compiled for tests only.
    pub(crate) test_modules: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let all = tokens(text);
        let (mut tokens, mut test_modules) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < all.len() {
            let Some(behind) = test_attribute(&all[at..]) else {
                tokens.push(all[at]);
                at += 1;
                continue;
            };
            let item = &all[at + behind..];
            if let [.., module, name, _] = &item[..item_len(item)]
                && module.text == "mod"
            {
                test_modules.push(name.text);
            }
            at += behind + item_len(item);
        }
        Self { tokens, test_modules }
    }

    /// The tokens, without those of tests and of plain comments.
    pub(crate) fn tokens(&self) -> &[Token<'a>] {
        &self.tokens
    }

    /// The number of lines with code.
    pub(crate) fn code_lines(&self) -> usize {
        code_lines(&self.tokens)
    }
}

/// The length of `#[cfg(test)]`, or of a `cfg` that needs `test` among other things.
fn test_attribute(tokens: &[Token<'_>]) -> Option<usize> {
    let texts: Vec<&str> = tokens.iter().take(7).map(|it| it.text).collect();
    let is_test = matches!(texts[..], ["#", "[", "cfg", "(", "test", ..])
        || matches!(texts[..], ["#", "[", "cfg", "(", "all", "(", "test"]);
    is_test.then(|| tokens.iter().position(|it| it.text == "]").map_or(tokens.len(), |at| at + 1))
}

/// The length of the item at the start: to its `;`, or to the brace that closes it.
pub(crate) fn item_len(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (token.text == "}" || token.text == ";") {
            return at + 1;
        }
    }
    tokens.len()
}

fn code_lines(tokens: &[Token<'_>]) -> usize {
    let code = tokens.iter().filter(|it| !matches!(it.kind, Kind::OuterDoc | Kind::InnerDoc));
    code.flat_map(|it| it.line..=it.last_line).collect::<BTreeSet<_>>().len()
}
