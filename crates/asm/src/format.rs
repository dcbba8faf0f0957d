//! The formatter.
//!
//! It works on lines of tokens, and changes only white space and the case of registers. Invariants:
//! the source has the same tokens before and after, and formatting is idempotent. Lines in which
//! white space may be significant, such as arguments of macros, keep it.

use crate::{
    diagnostic::Diagnostic,
    directives::Form,
    lex::{Lexer, Tok, Token},
    options::Options,
    output::Output,
    parse,
    session::{Product, Session},
    syntax::{File, Line, Statement, is_backslash},
};

mod spacing;

/// Spaces before an instruction.
const INDENT: usize = 4;
/// Code that ends after this column does not affect the alignment of comments.
const CODE_COLUMN_MAX: usize = 48;
/// Spaces between code and a comment, at least.
const COMMENT_GAP: usize = 2;

/// Formats a source. `name` is its name in diagnostics.
///
/// ```
/// let source = "entrypoint:\nMOV64_IS_NO_MNEMONIC = 1\nldxw r1,[R2+8];size\n";
/// let formatted = selkie_asm::format(source, "program.s").unwrap();
/// assert_eq!(formatted, "entrypoint:\nMOV64_IS_NO_MNEMONIC = 1\n    ldxw r1, [r2 + 8]  ;size\n");
/// ```
///
/// # Errors
/// If the source has syntax errors: an output with these diagnostics. Undefined names, and
/// instructions that a version does not have, are not syntax errors.
pub fn format(source: &str, name: &str) -> Result<String, Box<Output>> {
    let output = syntax_errors(source, name);
    if output.diagnostics.is_empty() { Ok(reformat(source)) } else { Err(output.into()) }
}

/// Returns the syntax errors of a text itself, without the files that it includes.
fn syntax_errors(source: &str, name: &str) -> Output {
    let options = Options { name: name.to_owned(), ..Options::default() };
    let mut session = Session::new(&options, Product::Program);
    parse::parse(&mut session, name, source);
    let Session { sources, diagnostics, .. } = session;
    let in_source = |it: &Diagnostic| sources.expansions(it.span).is_empty();
    let diagnostics = diagnostics.into_sorted();
    let diagnostics = diagnostics.into_iter().filter(|it| it.syntax && in_source(it)).collect();
    Output { assembly: None, diagnostics, sources }
}

/// Returns the text with the formatter's white space.
fn reformat(source: &str) -> String {
    let is_dos = source.find('\n').is_some_and(|at| source[..at].ends_with('\r'));
    let plain = if is_dos { source.replace("\r\n", "\n") } else { source.to_owned() };
    let file = File::read(&plain);
    let mut rows: Vec<Row<'_>> = Vec::new();
    // For each enclosing block, whether it or an outer one has parameters.
    let mut blocks = Vec::new();
    for line in file.lines() {
        if let Statement::Directive(directive) = line.statement {
            match directive.names[0] {
                ".macro" | ".irp" | ".irpc" => blocks.push(true),
                ".rept" => blocks.push(blocks.contains(&true)),
                ".endm" | ".endr" => drop(blocks.pop()),
                _ => {}
            }
        }
        push_rows(&mut rows, &file, line, blocks.contains(&true));
    }
    indent_comments(&mut rows);
    let text = write(&rows, &plain[..file.lines()[0].range.start]);
    if is_dos { text.replace('\n', "\r\n") } else { text }
}

/// A line of the output.
#[derive(Debug, Default)]
struct Row<'a> {
    indent: usize,
    code: String,
    comment: &'a str,
}

impl Row<'_> {
    fn is_blank(&self) -> bool {
        self.code.is_empty() && self.comment.is_empty()
    }

    fn is_comment(&self) -> bool {
        self.code.is_empty() && !self.comment.is_empty()
    }

    /// Returns the column after the code.
    fn end(&self) -> usize {
        self.indent + self.code.chars().count()
    }
}

/// Appends the rows of a line. `has_parameters`: the line is in the body of a macro or loop that
/// has parameters.
fn push_rows<'a>(rows: &mut Vec<Row<'a>>, file: &'a File, line: &Line, has_parameters: bool) {
    let text = &*file.text;
    let (labels, rest) = (file.label_tokens(line), file.statement_tokens(line));
    let Some(last) = rest.last().or(labels.last()) else {
        let comment = trim(&text[line.range.clone()]);
        rows.push(Row { comment, ..Row::default() });
        return;
    };
    let comment = trim(&text[last.end..line.range.end]);
    let indent = indent(line.statement);
    let whole = text[line.range.start..last.end].trim_start_matches(is_blank);
    // The layout of a comment of several lines within the code is kept.
    if whole.contains('\n') {
        let indent = if labels.is_empty() { indent } else { 0 };
        rows.push(Row { indent, code: whole.to_owned(), comment });
        return;
    }
    let code = labels_code(text, line, labels);
    if rest.is_empty() {
        rows.push(Row { indent: 0, code, comment });
        return;
    }
    let labels_end = labels.last().map_or(line.range.start, |it| it.end);
    let mut statement = String::new();
    spacing::statement(&mut statement, file, line, labels_end);
    if labels.is_empty() {
        rows.push(Row { indent, code: statement, comment });
    } else if matches!(line.statement, Statement::Instruction | Statement::Pseudo)
        // A backslash is part of a label only where there are parameters. Elsewhere such a line is
        // kept as a whole.
        && (has_parameters || !labels.iter().any(|it| is_backslash(text, it)))
    {
        rows.push(Row { indent: 0, code, comment: "" });
        rows.push(Row { indent, code: statement, comment });
    } else {
        rows.push(Row { indent: 0, code: format!("{code} {statement}"), comment });
    }
}

/// Returns the labels of a line with the formatter's white space.
fn labels_code(text: &str, line: &Line, labels: &[Token]) -> String {
    let mut code = String::new();
    let mut end = line.range.start;
    let mut after_colon = false;
    for label in labels {
        let is_colon = label.kind == Tok::Colon;
        let glued = is_colon || (end == label.start && !after_colon);
        spacing::push(&mut code, trim(&text[end..label.start]), !glued, token_text(text, label));
        (end, after_colon) = (label.end, is_colon);
    }
    code
}

fn indent(statement: Statement) -> usize {
    match statement {
        Statement::Instruction | Statement::Pseudo | Statement::Call => INDENT,
        Statement::Directive(directive) if directive.form == Form::Data => INDENT,
        Statement::None | Statement::Constant | Statement::Directive(_) => 0,
    }
}

/// Whether the lexer treats the character as white space within a line. Other Unicode white space
/// is part of names.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}')
}

fn trim(text: &str) -> &str {
    text.trim_matches(|it| is_blank(it) || it == '\n')
}

fn token_text<'a>(text: &'a str, token: &Token) -> &'a str {
    &text[token.start..token.end]
}

/// Indents comments on lines of their own like the line below, or else like the one above.
fn indent_comments(rows: &mut [Row<'_>]) {
    let mut below = None;
    for row in rows.iter_mut().rev() {
        if row.is_blank() {
            below = None;
        } else if row.is_comment() {
            row.indent = below.unwrap_or(usize::MAX);
        } else {
            below = Some(row.indent);
        }
    }
    let mut above = 0;
    for row in rows {
        if row.is_blank() {
            above = 0;
        } else if row.is_comment() && row.indent == usize::MAX {
            row.indent = above;
        } else {
            above = row.indent;
        }
    }
}

fn write(rows: &[Row<'_>], start: &str) -> String {
    let mut out = start.to_owned();
    let mut blanks = 0;
    for block in rows.chunk_by(|row, next| is_code(row) && is_code(next)) {
        let column = comment_column(block);
        for row in block {
            if row.is_blank() {
                blanks += 1;
                continue;
            }
            if blanks > 0 && out.len() > start.len() {
                out.push('\n');
            }
            blanks = 0;
            write_row(&mut out, row, column);
        }
    }
    out
}

/// Appends a row, with a comment after code at `column`.
fn write_row(out: &mut String, row: &Row<'_>, column: usize) {
    let start = out.len();
    out.extend(core::iter::repeat_n(' ', row.indent));
    out.push_str(&row.code);
    if !row.comment.is_empty() && !row.code.is_empty() {
        let gap = column.saturating_sub(row.end()).max(COMMENT_GAP);
        out.extend(core::iter::repeat_n(' ', gap));
    }
    out.push_str(row.comment);
    out.truncate(start + out[start..].trim_end_matches(is_blank).len());
    out.push('\n');
}

fn is_code(row: &Row<'_>) -> bool {
    !row.code.is_empty()
}

/// Returns the column at which comments after code are aligned in a block of lines.
fn comment_column(block: &[Row<'_>]) -> usize {
    let commented = block.iter().filter(|it| !it.comment.is_empty()).map(Row::end);
    let ends = commented.filter(|end| *end <= CODE_COLUMN_MAX);
    ends.max().map_or(0, |end| end + COMMENT_GAP)
}

/// Whether `code` has these tokens, with registers in any case.
fn is_same(code: &str, text: &str, tokens: &[Token]) -> bool {
    let mut lexer = Lexer::new(code.into(), 0);
    let same = |expected: &Token| {
        let found = lexer.next();
        found.kind == expected.kind
            && code[found.start..found.end].eq_ignore_ascii_case(token_text(text, expected))
    };
    tokens.iter().all(same) && lexer.next().kind == Tok::Eof
}
