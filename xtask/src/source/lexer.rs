//! Splits Rust source into tokens: enough to find items, paths and the lines that contain code.

/// A token, and the lines on which it starts and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
    pub(crate) last_line: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An identifier or a keyword.
    Word,
    /// A number, string or character.
    Literal,
    Lifetime,
    /// `///` or `/** */`.
    OuterDoc,
    /// `//!` or `/*! */`.
    InnerDoc,
    /// One character of punctuation.
    Punctuation,
}

/// Splits `source` into tokens. Comments that are not documentation are left out.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, len) = next(rest, first);
        let (text, behind) = rest.split_at(len);
        let last_line = line + text.matches('\n').count();
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, line, last_line });
        }
        (rest, line) = (behind, last_line);
    }
    tokens
}

/// Kind and length of the token at the start of `rest`; no kind for blanks and plain comments.
fn next(rest: &str, first: char) -> (Option<Kind>, usize) {
    let until = |end: &dyn Fn(char) -> bool| rest.find(end).unwrap_or(rest.len());
    if first.is_whitespace() {
        return (None, until(&|it| !it.is_whitespace()));
    }
    if rest.starts_with("//") {
        return (line_comment(rest), until(&|it| it == '\n'));
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if let Some(len) = string(rest) {
        return (Some(Kind::Literal), len);
    }
    if first == '\'' {
        return quoted(rest);
    }
    if is_word(first) {
        let kind = if first.is_ascii_digit() { Kind::Literal } else { Kind::Word };
        return (Some(kind), until(&|it| !is_word(it)));
    }
    (Some(Kind::Punctuation), first.len_utf8())
}

fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

fn line_comment(rest: &str) -> Option<Kind> {
    if rest.starts_with("//!") {
        return Some(Kind::InnerDoc);
    }
    (rest.starts_with("///") && !rest.starts_with("////")).then_some(Kind::OuterDoc)
}

fn block_comment(rest: &str) -> (Option<Kind>, usize) {
    let kind = if rest.starts_with("/*!") {
        Some(Kind::InnerDoc)
    } else {
        let is_doc =
            rest.starts_with("/**") && !rest.starts_with("/***") && !rest.starts_with("/**/");
        is_doc.then_some(Kind::OuterDoc)
    };
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let opens = rest.as_bytes()[at..].starts_with(b"/*");
        let closes = rest.as_bytes()[at..].starts_with(b"*/");
        depth = if opens { depth + 1 } else { depth - usize::from(closes) };
        at += if opens || closes { 2 } else { 1 };
        if depth == 0 {
            return (kind, at);
        }
    }
    (kind, rest.len())
}

/// The length of a string, raw, of bytes or plain; `None` if there is none.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|it| rest.starts_with(it))?;
    let body = &rest[prefix.len()..];
    let hashes =
        if prefix.ends_with('r') { body.len() - body.trim_start_matches('#').len() } else { 0 };
    let body = body[hashes..].strip_prefix('"')?;
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(start + body.find(&end).map_or(body.len(), |at| at + end.len()));
    }
    Some(start + escaped(body, '"'))
}

/// The length up to and including the closing quote.
fn escaped(body: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, it) in body.char_indices() {
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            it if it == quote => return at + quote.len_utf8(),
            _ => {}
        }
    }
    body.len()
}

/// A character or a lifetime.
fn quoted(rest: &str) -> (Option<Kind>, usize) {
    let body = &rest[1..];
    let mut chars = body.chars();
    let (first, second) = (chars.next(), chars.next());
    if first.is_some_and(is_word) && second != Some('\'') {
        let len = body.find(|it| !is_word(it)).unwrap_or(body.len());
        return (Some(Kind::Lifetime), 1 + len);
    }
    (Some(Kind::Literal), 1 + escaped(body, '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[&str]) {
        let texts: Vec<&str> = tokens(source).iter().map(|token| token.text).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn comments_are_left_out_and_documentation_is_kept() {
        check("// a\n/// b\nx /* c /* d */ e */ y //! f", &["/// b", "x", "y", "//! f"]);
    }

    #[test]
    fn strings_are_one_token() {
        check(
            r##"a "b \" // c" r#"d"e"# b'\'' 'f' '"'"##,
            &["a", r#""b \" // c""#, r##"r#"d"e"#"##, "b", r"'\''", "'f'", "'\"'"],
        );
    }

    #[test]
    fn lifetimes_are_no_characters() {
        check("<'a, 'static>", &["<", "'a", ",", "'static", ">"]);
    }

    #[test]
    fn lines_are_counted_through_strings() {
        let lines: Vec<_> =
            tokens("a\n\"b\nc\" d").iter().map(|it| (it.line, it.last_line)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (3, 3)]);
    }
}
