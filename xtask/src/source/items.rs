//! Functions and public items.

use super::{
    Source, code_lines, item_len,
    lexer::{Kind, Token},
};

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// Lines of code, from `fn` to the closing brace.
    pub(crate) code_lines: usize,
}

/// The public items of a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Items {
    pub(crate) documented: usize,
    /// Line and name of each item without documentation.
    pub(crate) undocumented: Vec<(usize, String)>,
}

impl Source<'_> {
    /// Every function with a body, nested ones too.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let starts = self.tokens.windows(2).enumerate();
        let starts = starts.filter(|(_, pair)| pair[0].text == "fn" && pair[1].kind == Kind::Word);
        let function = |(at, pair): (usize, &[Token<'_>])| {
            let tokens = &self.tokens[at..];
            let tokens = &tokens[..item_len(tokens)];
            let has_body = tokens.last().is_some_and(|it| it.text == "}");
            has_body.then(|| Function {
                name: pair[1].text.to_owned(),
                line: pair[0].line,
                code_lines: code_lines(tokens),
            })
        };
        starts.filter_map(function).collect()
    }

    /// Items that are declared `pub`, fields, and the variants and methods of public enums and
    /// traits. Modules and re-exports do not count: their documentation is elsewhere.
    pub(crate) fn public_items(&self) -> Items {
        let (mut items, mut open) = (Items::default(), Vec::new());
        for at in 0..self.tokens.len() {
            let tokens = &self.tokens[at..];
            let [visibility, next, ..] = tokens else { break };
            match visibility.text {
                "(" | "[" | "{" => open.push(visibility.text),
                ")" | "]" | "}" => drop(open.pop()),
                _ => {}
            }
            // The fields of a tuple have no names to document.
            let is_declared = visibility.text == "pub" && open.last() != Some(&"(");
            if !is_declared || ["(", "use", "mod", "extern"].contains(&next.text) {
                continue;
            }
            items.add(&self.tokens[..at], name(&tokens[1..]));
            if next.text == "enum" {
                items.add_members(tokens, |_| true);
            } else if tokens[..item_len(tokens).min(3)].iter().any(|it| it.text == "trait") {
                let is_member =
                    |it: &Token<'_>| ["fn", "const", "type", "unsafe"].contains(&it.text);
                items.add_members(tokens, is_member);
            }
        }
        items
    }
}

impl Items {
    /// Adds the item that starts with `item`, after the tokens `before`.
    fn add(&mut self, before: &[Token<'_>], item: &Token<'_>) {
        if is_documented(before) {
            self.documented += 1;
        } else {
            self.undocumented.push((item.line, item.text.to_owned()));
        }
    }

    /// Adds the members declared directly within the braces of an item.
    fn add_members(&mut self, tokens: &[Token<'_>], is_member: impl Fn(&Token<'_>) -> bool) {
        let tokens = &tokens[..item_len(tokens)];
        let Some(start) = tokens.iter().position(|it| it.text == "{") else { return };
        let (mut depth, mut starts) = (1, true);
        for at in start + 1..tokens.len() {
            let token = &tokens[at];
            if depth == 1 && starts && token.kind == Kind::Word && is_member(token) {
                self.add(&tokens[..at], name(&tokens[at..]));
                starts = false;
            }
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            starts |= depth == 1 && [",", ";", "}"].contains(&token.text);
        }
    }
}

/// The name of the item whose declaration starts with `tokens`.
fn name<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t Token<'a> {
    const KEYWORDS: [&str; 10] =
        ["async", "const", "enum", "fn", "static", "struct", "trait", "type", "union", "unsafe"];
    let mut names = tokens.iter().filter(|it| !KEYWORDS.contains(&it.text));
    names.next().unwrap_or(&tokens[0])
}

/// Whether tokens end with documentation, attributes apart.
fn is_documented(mut before: &[Token<'_>]) -> bool {
    loop {
        match before {
            [.., last] if last.kind == Kind::OuterDoc => return true,
            [rest @ .., last] if last.text == "]" => {
                let Some(start) = rest.iter().rposition(|it| it.text == "#") else { return false };
                if rest.get(start + 2).is_some_and(|it| it.text == "doc") {
                    return true;
                }
                before = &before[..start];
            }
            // `$(#[$doc])*` of a macro.
            [.., a, b, c] => return [a.text, b.text, c.text] == ["]", ")", "*"],
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_are_not_code() {
        let source = Source::new(
            "fn a() {\n    // b\n\n    c();\n}\n#[cfg(test)]\nmod tests {\n    fn d() {}\n}\n",
        );
        let expected = Function { name: "a".to_owned(), line: 1, code_lines: 3 };
        assert_eq!(source.functions(), [expected]);
        assert_eq!(source.code_lines(), 3);
    }

    #[test]
    fn functions_without_a_body_are_left_out() {
        let source = Source::new("trait A { fn b(&self) -> [u8; 2]; fn c() {} } type D = fn();");
        let names: Vec<_> = source.functions().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["c"]);
    }

    fn check_undocumented(text: &str, documented: usize, undocumented: &[&str]) {
        let items = Source::new(text).public_items();
        let names: Vec<_> = items.undocumented.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!((items.documented, names.as_slice()), (documented, undocumented));
    }

    #[test]
    fn public_items_fields_and_variants_need_documentation() {
        check_undocumented(
            "/// A.\n#[derive(Debug)]\npub struct A {\n    pub b: u8,\n}",
            1,
            &["b"],
        );
        check_undocumented(
            "/// A.\npub enum A {\n    B(u8),\n    /// C.\n    C { d: u8 },\n}",
            2,
            &["B"],
        );
        check_undocumented(
            "/// A.\npub trait A {\n    fn b() {}\n    /// C.\n    fn c();\n}",
            2,
            &["b"],
        );
        check_undocumented("pub(crate) fn a() {}\npub use a;\npub mod b;", 0, &[]);
    }
}
