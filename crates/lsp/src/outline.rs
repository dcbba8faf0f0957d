//! Document symbols, folding ranges and semantic tokens.

use lsp_types::{
    DocumentSymbol, FoldingRange, FoldingRangeKind, SemanticToken, SemanticTokenType, SymbolKind,
};
use selkie_asm::syntax::{Class, Line, Statement, Token, register_number};
use selkie_isa::symbol::ENTRYPOINT;

use crate::{
    index::{Key, Occurrence, Role},
    source::Source,
};

/// Returns the definitions of a source, in order. The range of a label ends at the next one.
pub(crate) fn symbols(source: &Source) -> Vec<DocumentSymbol> {
    let wanted = |it: &&Occurrence| !matches!(it.role, Role::Parameter | Role::Reference);
    let found: Vec<&Occurrence> =
        source.index.definitions().filter(wanted).filter(|it| it.key.is_shared()).collect();
    let mut symbols: Vec<DocumentSymbol> = Vec::new();
    for (at, it) in found.iter().enumerate() {
        let line = &source.file.lines()[it.line];
        let next = found[at + 1..].iter().find(|it| it.role == Role::Label);
        let end = match it.role {
            Role::Label => next.map_or(source.text().len(), |next| {
                source.file.lines()[next.line].range.start.saturating_sub(1)
            }),
            _ => line.range.end,
        };
        let symbol = symbol(source, it, line.range.start..end.max(it.range.end));
        // Fields are children of the structure before them.
        let outer = symbols.last_mut().filter(|it| it.kind == SymbolKind::STRUCT);
        match outer {
            Some(outer) if it.role == Role::Field => {
                outer.range.end = symbol.range.end;
                outer.children.get_or_insert_default().push(symbol);
            }
            _ => symbols.push(symbol),
        }
    }
    symbols
}

fn symbol(source: &Source, it: &Occurrence, range: core::ops::Range<usize>) -> DocumentSymbol {
    let text = source.text()[it.range.clone()].trim_matches('"').to_owned();
    let kind = match it.role {
        Role::Label if text == ENTRYPOINT || source.index.functions.contains(&text) => {
            SymbolKind::FUNCTION
        }
        Role::Label => SymbolKind::KEY,
        Role::Macro => SymbolKind::METHOD,
        Role::Field => SymbolKind::FIELD,
        Role::Structure => SymbolKind::STRUCT,
        _ => SymbolKind::CONSTANT,
    };
    #[allow(deprecated, reason = "the struct has no other constructor")]
    DocumentSymbol {
        name: text,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: source.range(range),
        selection_range: source.range(it.range.clone()),
        children: None,
    }
}

/// Returns what can be folded: macros, loops, conditions, structures, the code after each label, and
/// comments of several lines.
pub(crate) fn folds(source: &Source) -> Vec<FoldingRange> {
    let mut folds = Folds::default();
    let lines = source.file.lines();
    for (number, line) in lines.iter().enumerate() {
        folds.comment(number, is_comment(source, line));
        folds.code(number, line, source.file.labels(line).len() > 0);
        if let Statement::Directive(directive) = line.statement {
            folds.directive(number, directive.names[0]);
        }
    }
    folds.end_label();
    folds.end_comment(lines.len());
    folds.found
}

/// The folds found so far, and the first lines of those that have not ended.
#[derive(Default)]
struct Folds {
    found: Vec<FoldingRange>,
    /// Of directives, the innermost last.
    open: Vec<usize>,
    comment: Option<usize>,
    label: Option<usize>,
    last_code: usize,
}

impl Folds {
    fn comment(&mut self, number: usize, is_comment: bool) {
        if is_comment {
            self.comment.get_or_insert(number);
        } else {
            self.end_comment(number);
        }
    }

    /// Ends a comment before the line `number`.
    fn end_comment(&mut self, number: usize) {
        if let Some(start) = self.comment.take() {
            self.push(start, number - 1, Some(FoldingRangeKind::Comment));
        }
    }

    fn code(&mut self, number: usize, line: &Line, has_label: bool) {
        if has_label {
            self.end_label();
            self.label = Some(number);
        }
        if has_label || !matches!(line.statement, Statement::None) {
            self.last_code = number;
        }
    }

    /// Ends the code after a label with the last line of code.
    fn end_label(&mut self) {
        if let Some(start) = self.label.take() {
            self.push(start, self.last_code, None);
        }
    }

    fn directive(&mut self, number: usize, name: &str) {
        match name {
            ".macro" | ".rept" | ".irp" | ".irpc" | ".struct" => self.open.push(number),
            ".else" | ".elseif" => {
                self.close(number.saturating_sub(1));
                self.open.push(number);
            }
            ".endm" | ".endr" | ".ends" | ".endif" => self.close(number),
            name if name.starts_with(".if") => self.open.push(number),
            _ => {}
        }
    }

    fn close(&mut self, end: usize) {
        if let Some(start) = self.open.pop() {
            self.push(start, end, None);
        }
    }

    fn push(&mut self, start: usize, end: usize, kind: Option<FoldingRangeKind>) {
        let narrow = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        if end > start {
            self.found.push(FoldingRange {
                start_line: narrow(start),
                end_line: narrow(end),
                kind,
                ..FoldingRange::default()
            });
        }
    }
}

fn is_comment(source: &Source, line: &Line) -> bool {
    let is_bare = source.file.labels(line).len() == 0 && matches!(line.statement, Statement::None);
    is_bare && !source.text()[line.range.clone()].trim().is_empty()
}

/// The kinds of semantic tokens, in the order of their numbers.
pub(crate) const TOKEN_TYPES: [SemanticTokenType; 7] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::MACRO,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::PROPERTY,
];

/// Returns the semantic tokens: what each word is, where the grammar cannot tell.
pub(crate) fn tokens(source: &Source) -> Vec<SemanticToken> {
    let mut out: Vec<SemanticToken> = Vec::new();
    let mut before = lsp_types::Position::default();
    let roles: std::collections::BTreeMap<&Key, Role> =
        source.index.definitions().map(|it| (&it.key, it.role)).collect();
    for line in source.file.lines() {
        let word = source.file.word(line);
        let all = source.file.labels(line).chain(word.clone()).chain(source.file.operands(line));
        for token in all {
            let kind = kind(source, line, word.as_ref(), &token, &roles);
            let Some(kind) = kind.and_then(|it| TOKEN_TYPES.iter().position(|known| *known == it))
            else {
                continue;
            };
            let range = source.range(token.range.clone());
            let delta_line = range.start.line - before.line;
            let column = if delta_line == 0 { before.character } else { 0 };
            out.push(SemanticToken {
                delta_line,
                delta_start: range.start.character - column,
                length: range.end.character.saturating_sub(range.start.character),
                token_type: u32::try_from(kind).unwrap_or_default(),
                token_modifiers_bitset: 0,
            });
            before = range.start;
        }
    }
    out
}

fn kind(
    source: &Source,
    line: &Line,
    word: Option<&Token>,
    token: &Token,
    roles: &std::collections::BTreeMap<&Key, Role>,
) -> Option<SemanticTokenType> {
    let text = source.file.slice(token);
    if token.class != Class::Word {
        return None;
    }
    if register_number(text).is_some() {
        return Some(SemanticTokenType::VARIABLE);
    }
    let found = source.index.at(token.range.start).filter(|it| it.range.start == token.range.start);
    if let Some(found) = found {
        let role = roles.get(&found.key).copied().unwrap_or(found.role);
        return Some(match role {
            Role::Label => SemanticTokenType::FUNCTION,
            Role::Macro => SemanticTokenType::MACRO,
            Role::Parameter => SemanticTokenType::PARAMETER,
            Role::Field => SemanticTokenType::PROPERTY,
            Role::Constant | Role::Structure => SemanticTokenType::ENUM_MEMBER,
            Role::Reference => match found.key {
                Key::Macro(_) => return None,
                _ if selkie_protocol::syscalls::find(text).is_some() => SemanticTokenType::FUNCTION,
                _ => SemanticTokenType::ENUM_MEMBER,
            },
        });
    }
    let is_first = word.is_some_and(|it| it.range == token.range);
    match line.statement {
        Statement::Instruction | Statement::Directive(_) if is_first => {
            Some(SemanticTokenType::KEYWORD)
        }
        Statement::Pseudo => Some(SemanticTokenType::KEYWORD),
        _ => None,
    }
}
