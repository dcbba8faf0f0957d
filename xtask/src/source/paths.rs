//! The paths within a crate that a file names.

use super::{
    Source, item_len,
    lexer::{Kind, Token},
};

/// A path, word by word, and the name that a `use` gives to its last item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
}

/// Every path in `source`, the file of the module `module`, that starts with `crate` or `super`, as
/// seen from the crate's root; and the imports of the file itself.
pub(crate) fn references(
    source: &Source<'_>,
    module: &[String],
) -> (Vec<Vec<String>>, Vec<Import>) {
    let mut walk = Walk { module: module.to_vec(), references: Vec::new(), imports: Vec::new() };
    walk.run(&source.tokens);
    (walk.references, walk.imports)
}

struct Walk {
    /// The module that is walked, inline modules included.
    module: Vec<String>,
    references: Vec<Vec<String>>,
    imports: Vec<Import>,
}

impl Walk {
    fn run(&mut self, tokens: &[Token<'_>]) {
        let mut at = 0;
        while at < tokens.len() {
            at += self.step(&tokens[at..]);
        }
    }

    /// Takes what is at the start of `tokens`, and returns its length.
    fn step(&mut self, tokens: &[Token<'_>]) -> usize {
        match texts(tokens) {
            ["mod", name, "{"] => {
                let len = item_len(tokens);
                self.module.push(name.to_owned());
                self.run(&tokens[3..len - 1]);
                self.module.pop();
                len
            }
            ["use", ..] => {
                let len = item_len(tokens);
                self.tree(&tokens[1..len], &[]);
                len
            }
            ["crate" | "super", ":", ":"] => {
                let path = words(tokens);
                self.add(&path);
                path.len() * 3 - 2
            }
            _ => 1,
        }
    }

    /// A tree of imports below `prefix`. Returns its length.
    fn tree(&mut self, tokens: &[Token<'_>], prefix: &[&str]) -> usize {
        let (mut path, mut at) = (prefix.to_vec(), 0);
        loop {
            match texts(&tokens[at..]) {
                [":", ":", _] => at += 2,
                ["{", ..] => {
                    at += 1;
                    while !matches!(texts(&tokens[at..])[0], "}" | "") {
                        at += self.tree(&tokens[at..], &path);
                        at += usize::from(texts(&tokens[at..])[0] == ",");
                    }
                    return at + 1;
                }
                ["as", name, _] => {
                    self.import(&path, name);
                    return at + 2;
                }
                ["*", ..] => {
                    self.add(&path);
                    return at + 1;
                }
                [word, ..] if tokens.get(at).is_some_and(|it| it.kind == Kind::Word) => {
                    path.push(word);
                    at += 1;
                }
                _ => {
                    let name = path.last().copied().unwrap_or_default();
                    self.import(&path, name);
                    return at;
                }
            }
        }
    }

    fn import(&mut self, path: &[&str], name: &str) {
        if let Some(path) = self.add(path) {
            self.imports.push(Import { path, name: name.to_owned() });
        }
    }

    /// Adds a path, and returns it as seen from the crate's root.
    fn add(&mut self, path: &[&str]) -> Option<Vec<String>> {
        let (start, mut rest) = match path {
            ["crate", rest @ ..] => (&self.module[..0], rest),
            ["self" | "super", ..] => (&self.module[..], path),
            // Of another crate, or of a child.
            [first, ..] if first.starts_with(char::is_lowercase) => (&self.module[..], path),
            _ => return None,
        };
        let mut absolute = start.to_vec();
        while let [first @ ("self" | "super"), behind @ ..] = rest {
            if *first == "super" {
                absolute.pop();
            }
            rest = behind;
        }
        // `a::{self}` is `a`.
        let rest = rest.strip_suffix(&["self"]).unwrap_or(rest);
        absolute.extend(rest.iter().map(|it| (*it).to_owned()));
        self.references.push(absolute.clone());
        Some(absolute)
    }
}

/// The texts of the first three tokens, empty where there are fewer.
fn texts<'a>(tokens: &[Token<'a>]) -> [&'a str; 3] {
    [0, 1, 2].map(|index| tokens.get(index).map_or("", |token| token.text))
}

/// The words of the path at the start: `a`, `b` of `a::b`.
fn words<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut words = vec![tokens[0].text];
    let mut rest = &tokens[1..];
    while let [first, second, word, behind @ ..] = rest
        && (first.text, second.text, word.kind) == (":", ":", Kind::Word)
    {
        words.push(word.text);
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let module = ["a".to_owned(), "b".to_owned()];
        let (references, _) = references(&Source::new(text), &module);
        let references: Vec<String> = references.iter().map(|path| path.join("::")).collect();
        assert_eq!(references, expected);
    }

    #[test]
    fn paths_are_resolved_from_the_root() {
        check("fn f() { crate::c::d(); super::e::<u8>() }", &["c::d", "a::e"]);
        check("mod c { fn f() -> super::D {} }", &["a::b::D"]);
        check("pub(crate) fn f() {} // crate::g", &[]);
    }

    #[test]
    fn trees_of_imports_are_resolved() {
        check("use crate::{c::{D, e as f, self}, g::*};", &["c::D", "c::e", "c", "g"]);
        check("use super::super::c;", &["c"]);
    }
}
