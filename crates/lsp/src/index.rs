//! The names in a source: where each is defined and where it is used.
//!
//! The index is made from the tokens alone. So it includes macros and conditional blocks that are not
//! assembled, and works while the rest of the source has errors. Names that macros concatenate are not
//! in it.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use selkie_asm::syntax::{Class, File, Line, Statement, Token, register_number};

/// What a name refers to. Equal keys refer to the same thing in all sources of a unit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    /// A label, a constant or a field.
    Symbol(String),
    Macro(String),
    /// A parameter of the macro or loop that starts on a line.
    Parameter {
        line: usize,
        name: String,
    },
    /// A numeric local label, by the offset of its definition.
    Local(usize),
}

impl Key {
    /// Whether it refers to the same thing in other files.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Symbol(_) | Self::Macro(_))
    }
}

/// The role of an occurrence of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Label,
    Constant,
    Macro,
    /// A field: the key is `NAME.field`, the range is that of `field`.
    Field,
    /// A structure: the key is `NAME.SIZE`, the range is that of `NAME`.
    Structure,
    Parameter,
    Reference,
}

/// An occurrence of a name.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence {
    pub(crate) key: Key,
    pub(crate) role: Role,
    pub(crate) range: Range<usize>,
    /// The line, from 0.
    pub(crate) line: usize,
}

impl Occurrence {
    pub(crate) fn defines(&self) -> bool {
        self.role != Role::Reference
    }
}

/// The names in a source, in the order of their offsets.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) occurrences: Vec<Occurrence>,
    /// Names that `.globl` or `.type` declare to be functions.
    pub(crate) functions: BTreeSet<String>,
    /// The files of `.include` directives.
    pub(crate) includes: Vec<(String, Range<usize>)>,
}

impl Index {
    pub(crate) fn new(file: &File) -> Self {
        let mut indexer = Indexer {
            file,
            line: 0,
            found: Vec::new(),
            functions: BTreeSet::new(),
            includes: Vec::new(),
            bodies: Vec::new(),
            structure: None,
            local_definitions: BTreeMap::new(),
            local_references: Vec::new(),
        };
        for (number, line) in file.lines().iter().enumerate() {
            indexer.line = number;
            indexer.line(line);
        }
        indexer.finish()
    }

    /// Returns the name at an offset, or the one that ends there.
    pub(crate) fn at(&self, offset: usize) -> Option<&Occurrence> {
        let after = self.occurrences.partition_point(|it| it.range.start <= offset);
        let near = self.occurrences[..after].last()?;
        (offset <= near.range.end).then_some(near)
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter().filter(|it| it.defines())
    }
}

struct Indexer<'a> {
    file: &'a File,
    line: usize,
    found: Vec<Occurrence>,
    functions: BTreeSet<String>,
    includes: Vec<(String, Range<usize>)>,
    /// The macros and loops around the line: the line that they start on, and their parameters.
    bodies: Vec<(usize, Vec<String>)>,
    structure: Option<String>,
    local_definitions: BTreeMap<String, Vec<usize>>,
    local_references: Vec<(String, Range<usize>, usize)>,
}

impl Indexer<'_> {
    fn add(&mut self, key: Key, role: Role, range: Range<usize>) {
        self.found.push(Occurrence { key, role, range, line: self.line });
    }

    /// Returns the name that a word or a quoted text spells; quoted names with escapes are ignored.
    fn name(&self, token: &Token) -> Option<String> {
        let text = self.file.slice(token);
        match token.class {
            Class::Word => Some(text.to_owned()),
            Class::Text => {
                let inner = text.get(1..text.len() - 1)?;
                (!inner.contains('\\') && !inner.is_empty()).then(|| inner.to_owned())
            }
            _ => None,
        }
    }

    fn line(&mut self, line: &Line) {
        let file = self.file;
        let labels: Vec<Token> = file.labels(line).collect();
        self.labels(&labels);
        let operands: Vec<Token> = file.operands(line).collect();
        let word = file.word(line);
        match line.statement {
            Statement::None => {}
            Statement::Instruction => self.uses(&operands, false, true),
            Statement::Pseudo => self.uses(&operands, true, true),
            Statement::Constant => {
                if let Some(name) = &word {
                    self.define(name, Role::Constant);
                }
                self.uses(&operands, false, true);
            }
            Statement::Call => {
                if let Some(word) = word
                    && !file.slice(&word).contains('\\')
                {
                    let key = Key::Macro(file.slice(&word).to_owned());
                    self.add(key, Role::Reference, word.range);
                }
                self.uses(&operands, false, false);
            }
            Statement::Directive(directive) => self.directive(directive.names[0], &operands),
        }
    }

    fn labels(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let is_first = at == 0 || tokens[at - 1].class == Class::Colon;
            let is_last = tokens.get(at + 1).is_some_and(|it| it.class == Class::Colon);
            match token.class {
                Class::Word | Class::Text if is_first && is_last => self.define(token, Role::Label),
                Class::Number if is_first && is_last => {
                    let start = token.range.start;
                    let number = self.file.slice(token).to_owned();
                    self.local_definitions.entry(number).or_default().push(start);
                    self.add(Key::Local(start), Role::Label, token.range.clone());
                }
                Class::Word => self.parameter(tokens, at),
                _ => {}
            }
        }
    }

    fn define(&mut self, token: &Token, role: Role) {
        if let Some(name) = self.name(token) {
            self.add(Key::Symbol(name), role, token.range.clone());
        }
    }

    fn directive(&mut self, name: &str, operands: &[Token]) {
        let first = operands.first();
        match name {
            ".equ" | ".set" => {
                if let Some(first) = first {
                    self.define(first, Role::Constant);
                }
                self.uses(operands.get(1..).unwrap_or_default(), false, true);
            }
            ".globl" => {
                self.uses(operands, false, true);
                let names: Vec<String> = operands.iter().filter_map(|it| self.name(it)).collect();
                self.functions.extend(names);
            }
            ".type" => {
                let names_function = operands.iter().any(|it| self.file.slice(it) == "function");
                if let Some(first) = first {
                    self.uses(core::slice::from_ref(first), false, true);
                    self.functions.extend(self.name(first).filter(|_| names_function));
                }
            }
            ".purgem" => {
                if let Some(name) = first {
                    let key = Key::Macro(self.file.slice(name).to_owned());
                    self.add(key, Role::Reference, name.range.clone());
                }
            }
            ".macro" | ".rept" | ".irp" | ".irpc" => self.block(name, operands),
            ".endm" | ".endr" => drop(self.bodies.pop()),
            ".struct" | ".field" => self.structure(name, operands),
            ".ends" => self.structure = None,
            ".include" => {
                if let Some(token) = first
                    && let Some(name) = self.name(token)
                {
                    self.includes.push((name, token.range.clone()));
                }
            }
            ".section" | ".pushsection" | ".ifc" | ".ifnc" => self.uses(operands, false, false),
            _ => self.uses(operands, false, name == ".quad"),
        }
    }

    /// Begins the body of a macro or loop.
    fn block(&mut self, directive: &str, operands: &[Token]) {
        match directive {
            ".macro" => self.macro_head(operands),
            ".rept" => {
                self.uses(operands, false, false);
                self.bodies.push((self.line, Vec::new()));
            }
            _ => {
                self.bodies.push((self.line, Vec::new()));
                if let Some(first) = operands.first().filter(|it| it.class == Class::Word) {
                    self.define_parameter(first);
                }
                self.uses(operands.get(1..).unwrap_or_default(), false, false);
            }
        }
    }

    fn structure(&mut self, directive: &str, operands: &[Token]) {
        let first = operands.first();
        let name = first.and_then(|it| self.name(it));
        let named = |outer: &str, part: &str| Key::Symbol(format!("{outer}.{part}"));
        match (directive, first, &name, &self.structure) {
            (".struct", Some(first), Some(name), _) => {
                self.add(named(name, "SIZE"), Role::Structure, first.range.clone());
            }
            (".field", Some(first), Some(name), Some(outer)) => {
                self.add(named(outer, name), Role::Field, first.range.clone());
            }
            _ => {}
        }
        if directive == ".struct" {
            self.structure = name;
        }
        self.uses(operands.get(1..).unwrap_or_default(), false, false);
    }

    fn macro_head(&mut self, operands: &[Token]) {
        self.bodies.push((self.line, Vec::new()));
        let Some((name, params)) = operands.split_first() else { return };
        if name.class != Class::Word {
            return;
        }
        self.add(Key::Macro(self.file.slice(name).to_owned()), Role::Macro, name.range.clone());
        // `=` starts a default, which ends at the next comma; `:` is followed by one word.
        let (mut in_default, mut skips_word) = (false, false);
        for token in params {
            match (token.class, self.file.slice(token)) {
                (Class::Comma, _) => (in_default, skips_word) = (false, false),
                (Class::Colon, _) => skips_word = true,
                (Class::Other, "=") => in_default = true,
                (Class::Word, _) if skips_word => skips_word = false,
                (Class::Word, _) if !in_default => self.define_parameter(token),
                _ => {}
            }
        }
    }

    fn define_parameter(&mut self, token: &Token) {
        let name = self.file.slice(token).to_owned();
        let line = self.line;
        if let Some((_, params)) = self.bodies.last_mut() {
            params.push(name.clone());
        }
        self.add(Key::Parameter { line, name }, Role::Parameter, token.range.clone());
    }

    /// Adds the names in operands. `texts` says whether a quoted text is a name there.
    fn uses(&mut self, tokens: &[Token], pseudo: bool, texts: bool) {
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let is_glued = |it: Option<&Token>, place: usize| {
                it.is_some_and(|it| {
                    it.class == Class::Backslash
                        && (it.range.start == place || it.range.end == place)
                })
            };
            match token.class {
                Class::Word if is_glued(before, token.range.start) => self.parameter(tokens, at),
                Class::Word if is_glued(next, token.range.end) => {}
                Class::Word => {
                    let word = self.file.slice(token);
                    let is_other = word == "." || register_number(word).is_some();
                    // `name=value` in the call of a macro.
                    let names_argument =
                        !texts && next.is_some_and(|it| self.file.slice(it) == "=");
                    let is_keyword = pseudo && self.is_keyword(tokens, at);
                    if !(is_other || names_argument || is_keyword) {
                        self.add(
                            Key::Symbol(word.to_owned()),
                            Role::Reference,
                            token.range.clone(),
                        );
                    }
                }
                Class::Text if texts => {
                    if let Some(name) = self.name(token) {
                        self.add(Key::Symbol(name), Role::Reference, token.range.clone());
                    }
                }
                Class::LocalLabel => {
                    let text = self.file.slice(token).to_owned();
                    self.local_references.push((text, token.range.clone(), self.line));
                }
                _ => {}
            }
        }
    }

    /// Whether a word is a keyword of pseudo-C.
    fn is_keyword(&self, tokens: &[Token], at: usize) -> bool {
        let text = |at: usize| tokens.get(at).map(|it| self.file.slice(it));
        let before = at.checked_sub(1).and_then(text);
        match self.file.slice(&tokens[at]) {
            "goto" | "ll" => true,
            "u8" | "u16" | "u32" | "u64" => text(at + 1) == Some("*"),
            "s" => before.is_none_or(|it| register_number(it).is_some()),
            "be16" | "be32" | "be64" | "le16" | "le32" | "le64" | "bswap16" | "bswap32"
            | "bswap64" => before == Some("="),
            _ => false,
        }
    }

    /// Adds a word after a backslash.
    fn parameter(&mut self, tokens: &[Token], at: usize) {
        let is_parameter = at.checked_sub(1).is_some_and(|it| tokens[it].class == Class::Backslash);
        let token = &tokens[at];
        let word = self.file.slice(token);
        let name = word.split(['.', '$']).next().unwrap_or(word);
        let body = self.bodies.iter().rev().find(|(_, params)| params.iter().any(|it| it == name));
        if let (true, Some(&(line, _))) = (is_parameter, body) {
            let range = token.range.start..token.range.start + name.len();
            let key = Key::Parameter { line, name: name.to_owned() };
            self.add(key, Role::Reference, range);
        }
    }

    fn finish(mut self) -> Index {
        for (text, range, line) in core::mem::take(&mut self.local_references) {
            let (number, direction) = text.split_at(text.len() - 1);
            let Some(places) = self.local_definitions.get(number) else { continue };
            let after = places.partition_point(|it| *it < range.start);
            let place = match direction {
                "f" => places.get(after),
                _ => after.checked_sub(1).and_then(|at| places.get(at)),
            };
            if let Some(&place) = place {
                self.found.push(Occurrence {
                    key: Key::Local(place),
                    role: Role::Reference,
                    range,
                    line,
                });
            }
        }
        self.found.sort_by_key(|it| it.range.start);
        Index { occurrences: self.found, functions: self.functions, includes: self.includes }
    }
}
