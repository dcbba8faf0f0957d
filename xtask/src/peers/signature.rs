//! The signatures of public functions, in a form in which two packages can be compared.
//!
//! Paths lose all but their last segment, parameters lose their names, `Self` is the type, and `Pubkey`,
//! another name of `Address`, is `Address`; so are other names of types that a file imports. What a signature says beyond that must be the same.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Result;

use crate::peers::source::{declared, entries, implemented, is_ident, public_part};

/// A function's path, `MODULE::TYPE::FUNCTION`, and its signatures: there are several if features
/// choose among them.
pub(super) type Signatures = BTreeMap<String, Vec<String>>;

/// The signatures of the public functions below a folder.
pub(super) fn of_folder(folder: &Path) -> Result<Signatures> {
    let mut files = Vec::new();
    read(folder, "", &mut files)?;
    let texts = files.iter().map(|(_, text)| text.as_str());
    let macros = texts.flat_map(macros).collect::<BTreeMap<_, _>>();
    let mut signatures = Signatures::new();
    for (module, text) in &files {
        for (path, signature) in of_text(&expand(text, &macros), module) {
            signatures.entry(path).or_default().push(signature);
        }
    }
    Ok(signatures)
}

/// Returns the signatures of the function that another package has at `path`, which may be in another
/// module here.
pub(super) fn find<'a>(signatures: &'a Signatures, path: &str) -> Vec<&'a str> {
    if let Some(found) = signatures.get(path) {
        return found.iter().map(String::as_str).collect();
    }
    let last = |path: &str| {
        let segments: Vec<&str> = path.split("::").collect();
        let is_method = |it: &&str| it.starts_with(char::is_uppercase);
        let owner = segments.iter().rev().nth(1).copied().filter(is_method);
        (owner.map(str::to_owned), segments.last().copied().unwrap_or_default().to_owned())
    };
    let wanted = last(path);
    let found = signatures.iter().filter(|(it, _)| last(it) == wanted).flat_map(|(_, it)| it);
    found.map(String::as_str).collect()
}

/// The sources below a folder, with their modules.
fn read(folder: &Path, module: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    for (path, inner) in entries(folder, module)? {
        if path.is_dir() {
            read(&path, &inner, files)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path)?;
            files.push((inner, public_part(&text).to_owned()));
        }
    }
    Ok(())
}

/// The macros without parameters that a file defines, as rustfmt formats them.
fn macros(text: &str) -> Vec<(String, String)> {
    let definitions = text.split("macro_rules! ").skip(1);
    let definition = |text: &str| {
        let (name, rest) = text.split_once(" {\n    () => {\n")?;
        Some((name.to_owned(), rest.split_once("\n    };\n}")?.0.to_owned()))
    };
    definitions.filter_map(definition).collect()
}

/// Replaces the lines `NAME!();` by what the macros stand for.
fn expand(text: &str, macros: &BTreeMap<String, String>) -> String {
    let line = |line: &str| {
        let body = line.trim().strip_suffix("!();").and_then(|name| macros.get(name));
        body.cloned().unwrap_or_else(|| line.to_owned()) + "\n"
    };
    text.lines().map(line).collect()
}

/// The public functions of a file that is formatted as rustfmt formats it.
fn of_text(text: &str, module: &str) -> Vec<(String, String)> {
    let aliases = aliases(text);
    let mut owner = None;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        if line.starts_with("impl") {
            owner = implemented(line);
        } else if line.starts_with('}') {
            owner = None;
        }
        if let Some(("fn", name)) = declared(line.trim_start()) {
            let is_free = line.starts_with("pub");
            if let (true, _) | (false, Some(_)) = (is_free, owner) {
                let owner = owner.filter(|_| !is_free);
                let prefix = owner.map(|it| format!("{it}::")).unwrap_or_default();
                let signature = rest.find(" {\n").map_or(rest, |end| &rest[..end]);
                found.push((format!("{module}{prefix}{name}"), normal(signature, owner, &aliases)));
            }
        }
        rest = after;
    }
    found
}

/// The names that a file gives to what it imports, and their own.
fn aliases(text: &str) -> BTreeMap<&str, &str> {
    let imports = text.split("use ").skip(1).filter_map(|it| it.split(';').next());
    let mut aliases = BTreeMap::from([("Pubkey", "Address"), ("Slot", "u64")]);
    for import in imports {
        let tokens = tokens(import);
        aliases.extend(tokens.windows(3).filter(|it| it[1] == "as").map(|it| (it[2], it[0])));
    }
    aliases
}

/// The normal form of a signature.
fn normal(signature: &str, owner: Option<&str>, aliases: &BTreeMap<&str, &str>) -> String {
    let tokens = tokens(signature);
    let begin = tokens.iter().position(|it| *it == "fn").unwrap_or_default();
    // Constant functions are accepted where others are.
    let qualifiers = tokens[..begin].iter().filter(|it| ["unsafe", "async"].contains(it));
    let mut text: String = qualifiers.flat_map(|it| [it, " "]).collect();
    let tokens = without_names(&without_paths(&tokens[begin + 2..]));
    let mut last = "";
    for token in tokens {
        let token = match token {
            "Self" => owner.unwrap_or("Self"),
            token => aliases.get(token).copied().unwrap_or(token),
        };
        let is_word = |it: &str| it.chars().next_back().is_some_and(is_ident);
        let between_words = is_word(last) && (is_word(token) || token.starts_with('\''));
        let after_mark = [",", ":", "+", "=", "->"].contains(&last);
        if between_words || after_mark || ["->", "+", "="].contains(&token) {
            text.push(' ');
        }
        text += token;
        last = token;
    }
    text
}

/// Splits code into words, lifetimes and punctuation.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |from: usize| {
            rest[from..].find(|it: char| !is_ident(it)).map_or(rest.len(), |end| from + end)
        };
        let end = match first {
            '\'' => word(1),
            '-' | ':' if rest.starts_with("->") || rest.starts_with("::") => 2,
            it if is_ident(it) => word(0),
            it => it.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// Removes the segments of paths before the last, commas before a bracket that closes, and `<'_>`.
fn without_paths<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    for token in tokens {
        match *token {
            "::" => {
                kept.pop();
            }
            ")" | "]" | ">" if kept.last() == Some(&",") => {
                kept.pop();
                kept.push(token);
            }
            ">" if kept.ends_with(&["<", "'_"]) => kept.truncate(kept.len() - 2),
            token => kept.push(token),
        }
    }
    kept
}

/// Removes the names of parameters, and `mut` before `self`.
fn without_names<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    let (mut depth, mut begins) = (0_i32, None);
    for token in tokens {
        match *token {
            "(" | "[" | "<" | "{" => depth += 1,
            ")" | "]" | ">" | "}" => depth -= 1,
            _ => {}
        }
        match (*token, begins) {
            // The first bracket that is not part of the generic parameters.
            ("(", None) if depth == 1 => begins = Some(kept.len() + 1),
            (",", Some(_)) if depth == 1 => begins = Some(kept.len() + 1),
            (")", Some(_)) if depth == 0 => begins = Some(usize::MAX),
            // `NAME:` or `mut NAME:`
            (":", Some(from)) if depth == 1 && from < kept.len() => {
                kept.truncate(from);
                continue;
            }
            ("self", Some(_)) if kept.last() == Some(&"mut") && !is_borrowed(&kept) => {
                kept.pop();
            }
            _ => {}
        }
        kept.push(token);
    }
    kept
}

/// Whether `mut`, the last token, belongs to a reference.
fn is_borrowed(kept: &[&str]) -> bool {
    let before = kept.len().checked_sub(2).map_or("", |it| kept[it]);
    before == "&" || before.starts_with('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(signature: &str, expected: &str) {
        let aliases = aliases("use x::{self, y::Z as W};");
        assert_eq!(normal(signature, Some("Owner"), &aliases), expected);
    }

    #[test]
    fn signatures_have_a_normal_form() {
        check("pub fn a(mut self, b: &'a x::Pubkey) -> Self", "(self, &'a Address) -> Owner");
        check("pub const fn a(\n    &mut self,\n    mut b: Vec<u8>,\n)", "(&mut self, Vec<u8>)");
        check(
            "pub fn a<T: p::Pack + Q>(svm: &T) -> Result<T, e::E>",
            "<T: Pack + Q>(&T) -> Result<T, E>",
        );
        check("pub async fn a(b: impl Fn(W<'_>) -> u8)", "async (impl Fn(Z) -> u8)");
    }

    #[test]
    fn functions_are_found_in_macros_and_other_modules() {
        let text = "macro_rules! name {\n    () => {\n        pub fn b(self) -> u8 {\n        }\n    };\n}\n";
        let macros = macros(text).into_iter().collect();
        let text = "impl A {\n    name!();\n}\npub fn c(d: u8) {\n}\n";
        let found = of_text(&expand(text, &macros), "m::");
        let found: Signatures = found.into_iter().map(|(path, it)| (path, vec![it])).collect();
        assert_eq!(find(&found, "n::A::b"), ["(self) -> u8"]);
        assert_eq!(find(&found, "m::c"), ["(u8)"]);
        assert!(find(&found, "n::B::b").is_empty());
    }
}
