//! The formatter: a source with the white space that everybody's sources have.
//!
//! It works on lines of tokens and changes what stands between them, and the case of registers.
//! What a change must keep: the assembler reads the same tokens before and after, and formatting
//! twice is formatting once. A line whose white space may mean something, such as a macro's
//! argument, keeps it.

use crate::{
    diagnostic::Diagnostic,
    directives::Form,
    lex::{Lexer, Tok, Token},
    options::Options,
    output::Output,
    parse,
    session::{Product, Session},
    source::Sources,
    syntax::{File, Line, Statement, is_backslash},
};

mod spacing;

/// What stands in front of an instruction.
const INDENT: usize = 4;
/// Code that reaches further than this does not move the comments of the lines around it.
const CODE_COLUMN_MAX: usize = 48;
/// What stands between code and a comment at least.
const COMMENT_GAP: usize = 2;

/// Formats a source. `name` is for messages.
///
/// ```
/// let source = "entrypoint:\nMOV64_IS_NO_MNEMONIC = 1\nldxw r1,[R2+8];size\n";
/// let formatted = selkie_asm::format(source, "program.s").unwrap();
/// assert_eq!(formatted, "entrypoint:\nMOV64_IS_NO_MNEMONIC = 1\n    ldxw r1, [r2 + 8]  ;size\n");
/// ```
///
/// # Errors
/// If the assembler cannot read some of the text: the findings. Names that are not defined and
/// instructions that a version does not have are no such findings.
pub fn format(source: &str, name: &str) -> Result<String, Box<Output>> {
    let output = syntax_errors(source, name);
    if output.diagnostics.is_empty() { Ok(reformat(source)) } else { Err(output.into()) }
}

/// The findings of what cannot be read in a text by itself, without the files that it includes.
fn syntax_errors(source: &str, name: &str) -> Output {
    let options = Options { name: name.to_owned(), ..Options::default() };
    let mut session = Session::new(&options, Product::Program);
    parse::parse(&mut session, name, source);
    let Session { sources, diagnostics, .. } = session;
    let is_written = |it: &Diagnostic, sources: &Sources| sources.expansions(it.span).is_empty();
    let diagnostics = diagnostics.into_sorted();
    let diagnostics =
        diagnostics.into_iter().filter(|it| it.syntax && is_written(it, &sources)).collect();
    Output { assembly: None, diagnostics, sources }
}

/// The text with the formatter's white space, whatever it says.
fn reformat(source: &str) -> String {
    let is_dos = source.find('\n').is_some_and(|at| source[..at].ends_with('\r'));
    let plain = if is_dos { source.replace("\r\n", "\n") } else { source.to_owned() };
    let file = File::read(&plain);
    let mut rows: Vec<Row<'_>> = Vec::new();
    // The blocks that a line is in: whether they have parameters.
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

/// A line to be written.
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

    /// The column behind the code.
    fn end(&self) -> usize {
        self.indent + self.code.chars().count()
    }
}

/// `has_parameters` says that the line is in the body of a macro or the like.
fn push_rows<'a>(rows: &mut Vec<Row<'a>>, file: &'a File, line: &Line, has_parameters: bool) {
    let (labels, rest) = (file.label_tokens(line), file.statement_tokens(line));
    let Some(last) = rest.last().or(labels.last()) else {
        let comment = trim(&file.text[line.range.clone()]);
        rows.push(Row { comment, ..Row::default() });
        return;
    };
    let text = &*file.text;
    let comment = trim(&text[last.end..line.range.end]);
    let indent = indent(line.statement);
    let whole = text[line.range.start..last.end].trim_start_matches(is_blank);
    // A comment over several lines within the code: nobody knows what it wants to look like.
    if whole.contains('\n') {
        let indent = if labels.is_empty() { indent } else { 0 };
        rows.push(Row { indent, code: whole.to_owned(), comment });
        return;
    }
    let labels_end = labels.last().map_or(line.range.start, |it| it.end);
    let mut code = String::new();
    for (at, label) in labels.iter().enumerate() {
        let before = at.checked_sub(1).map_or(line.range.start, |at| labels[at].end);
        let behind_colon = at > 0 && labels[at - 1].kind == Tok::Colon;
        let glued = label.kind == Tok::Colon || (before == label.start && !behind_colon);
        spacing::push(&mut code, trim(&text[before..label.start]), !glued, token_text(text, label));
    }
    if rest.is_empty() {
        rows.push(Row { indent: 0, code, comment });
        return;
    }
    let mut statement = String::new();
    spacing::statement(&mut statement, file, line, labels_end);
    if labels.is_empty() {
        rows.push(Row { indent, code: statement, comment });
    } else if matches!(line.statement, Statement::Instruction | Statement::Pseudo)
        // Elsewhere a backslash makes no label, and all of the line is one thing, whatever it is.
        && (has_parameters || !labels.iter().any(|it| is_backslash(text, it)))
    {
        rows.push(Row { indent: 0, code, comment: "" });
        rows.push(Row { indent, code: statement, comment });
    } else {
        rows.push(Row { indent: 0, code: format!("{code} {statement}"), comment });
    }
}

fn indent(statement: Statement) -> usize {
    match statement {
        Statement::Instruction | Statement::Pseudo | Statement::Call => INDENT,
        Statement::Directive(directive) if directive.form == Form::Data => INDENT,
        Statement::None | Statement::Constant | Statement::Directive(_) => 0,
    }
}

/// What the lexer takes for white space within a line. Other blanks of Unicode are names to it.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}')
}

fn trim(text: &str) -> &str {
    text.trim_matches(|it| is_blank(it) || it == '\n')
}

fn token_text<'a>(text: &'a str, token: &Token) -> &'a str {
    &text[token.start..token.end]
}

/// A comment on a line of its own goes with the line below, or else with the one above.
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
            let before = out.len();
            out.extend(core::iter::repeat_n(' ', row.indent));
            out.push_str(&row.code);
            if !row.comment.is_empty() && !row.code.is_empty() {
                let gap = column.saturating_sub(row.end()).max(COMMENT_GAP);
                out.extend(core::iter::repeat_n(' ', gap));
            }
            out.push_str(row.comment);
            out.truncate(before + out[before..].trim_end_matches(is_blank).len());
            out.push('\n');
        }
    }
    out
}

fn is_code(row: &Row<'_>) -> bool {
    !row.code.is_empty()
}

/// The column of the comments behind the lines of a block.
fn comment_column(block: &[Row<'_>]) -> usize {
    let commented = block.iter().filter(|it| !it.comment.is_empty()).map(Row::end);
    let ends = commented.filter(|end| *end <= CODE_COLUMN_MAX);
    ends.max().map_or(0, |end| end + COMMENT_GAP)
}

/// Whether the lexer takes `code` for these tokens; registers may differ in case.
fn is_same(code: &str, text: &str, tokens: &[Token]) -> bool {
    let mut lexer = Lexer::new(code.into(), 0);
    let same = |expected: &Token| {
        let found = lexer.next();
        found.kind == expected.kind
            && code[found.start..found.end].eq_ignore_ascii_case(token_text(text, expected))
    };
    tokens.iter().all(same) && lexer.next().kind == Tok::Eof
}
