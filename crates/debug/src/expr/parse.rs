//! Words to expressions.

use core::ops::Range;

use super::{
    ExprError,
    lex::{Token, Word, words},
};

/// The length of an expression.
const SOURCE_BYTES_MAX: usize = 4096;

/// The operators, names and numbers of an expression.
const NODES_MAX: usize = 256;

/// How deep brackets and prefixes may be nested.
const NESTING_MAX: usize = 64;

/// A part of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) at: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NodeKind {
    Number(i128),
    Text(String),
    Name(String),
    Register(String),
    Field(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Slice(Box<Node>, Box<Node>, Box<Node>),
    Deref(Box<Node>),
    AddressOf(Box<Node>),
    Cast(TypeName, Box<Node>),
    Prefix(&'static str, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
}

/// A type in a cast: a name and how many pointers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypeName {
    pub(super) name: String,
    pub(super) pointers: usize,
}

/// Operators by precedence, the weakest first.
const PRECEDENCE: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["==", "!=", "<", "<=", ">", ">="],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The names of plain types.
pub(super) const PLAIN_TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "bool",
    "char", "f32", "f64",
];

/// Parses a whole expression.
pub(super) fn parse(source: &str) -> Result<Node, ExprError> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(ExprError::new(0..0, "the expression is too long"));
    }
    let words = words(source)?;
    let end = source.len();
    let mut parser = Parser { words: &words, next: 0, end, nodes: 0, nesting: 0 };
    let node = parser.binary(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(word) => Err(ExprError::new(word.at.clone(), "expected an operator")),
    }
}

/// Whether a word follows the star of a pointer's type in Rust.
fn is_pointer_kind(word: &Word) -> bool {
    matches!(&word.token, Token::Name(name) if name == "const" || name == "mut")
}

struct Parser<'a> {
    words: &'a [Word],
    next: usize,
    /// The length of the source.
    end: usize,
    nodes: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.next)
    }

    fn sign(&self) -> Option<&'static str> {
        match self.peek()?.token {
            Token::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    /// Takes a sign, if it is the next word.
    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.sign() == Some(sign);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExprError> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.error(&format!("expected `{sign}`"))),
        }
    }

    fn error(&self, message: &str) -> ExprError {
        let at = self.peek().map_or(self.end..self.end, |word| word.at.clone());
        ExprError::new(at, message)
    }

    fn node(&mut self, kind: NodeKind, start: usize) -> Result<Node, ExprError> {
        self.nodes += 1;
        let end = self.next.checked_sub(1).map_or(start, |last| self.words[last].at.end);
        match self.nodes > NODES_MAX {
            true => Err(self.error("the expression has too many parts")),
            false => Ok(Node { kind, at: start..end }),
        }
    }

    fn binary(&mut self, level: usize) -> Result<Node, ExprError> {
        let Some(signs) = PRECEDENCE.get(level) else { return self.cast_after() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.sign().filter(|it| signs.contains(it)) {
            self.next += 1;
            let right = self.binary(level + 1)?;
            let start = left.at.start;
            left = self.node(NodeKind::Binary(sign, Box::new(left), Box::new(right)), start)?;
        }
        Ok(left)
    }

    /// Parses `value as type`.
    fn cast_after(&mut self) -> Result<Node, ExprError> {
        let mut node = self.prefix()?;
        while self.peek().is_some_and(|it| it.token == Token::Name("as".to_owned())) {
            self.next += 1;
            let ty = self.type_name().ok_or_else(|| self.error("expected a type"))?;
            let start = node.at.start;
            node = self.node(NodeKind::Cast(ty, Box::new(node)), start)?;
        }
        Ok(node)
    }

    fn prefix(&mut self) -> Result<Node, ExprError> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(self.error("the expression is nested too deeply"));
        }
        let node = self.prefixed();
        self.nesting -= 1;
        node
    }

    fn prefixed(&mut self) -> Result<Node, ExprError> {
        let start = self.peek().map_or(self.end, |word| word.at.start);
        if let Some(ty) = self.cast() {
            let value = Box::new(self.prefix()?);
            return self.node(NodeKind::Cast(ty, value), start);
        }
        let Some(sign) = self.sign().filter(|it| ["*", "&", "-", "!", "~"].contains(it)) else {
            return self.postfix();
        };
        self.next += 1;
        let value = Box::new(self.prefix()?);
        let kind = match sign {
            "*" => NodeKind::Deref(value),
            "&" => NodeKind::AddressOf(value),
            _ => NodeKind::Prefix(sign, value),
        };
        self.node(kind, start)
    }

    /// Takes `(type)`, if that is next: a plain type or a pointer.
    fn cast(&mut self) -> Option<TypeName> {
        let start = self.next;
        let is_open = self.take("(");
        // `(*const name)` is a type, and `(*name)` what a pointer points to.
        let is_target =
            self.sign() == Some("*") && !self.words.get(self.next + 1).is_some_and(is_pointer_kind);
        let ty = (is_open && !is_target).then(|| self.type_name()).flatten();
        let ty = ty.map(|it| self.pointers_after(it));
        let ty = ty.filter(|it| it.pointers > 0 || PLAIN_TYPES.contains(&it.name.as_str()));
        if ty.is_none() || !self.take(")") {
            self.next = start;
            return None;
        }
        ty
    }

    /// Takes a type, as `u64` or `*const u64`.
    fn type_name(&mut self) -> Option<TypeName> {
        let mut pointers = 0;
        while self.take("*") {
            pointers += 1;
            self.next += usize::from(self.peek().is_some_and(is_pointer_kind));
        }
        let Token::Name(name) = &self.peek()?.token else { return None };
        self.next += 1;
        Some(TypeName { name: name.clone(), pointers })
    }

    /// Takes the stars after a type, as in C. After `as`, a star is a product.
    fn pointers_after(&mut self, mut ty: TypeName) -> TypeName {
        while self.take("*") {
            ty.pointers += 1;
        }
        ty
    }

    fn postfix(&mut self) -> Result<Node, ExprError> {
        let mut node = self.primary()?;
        loop {
            let start = node.at.start;
            let kind = if self.take(".") || self.take("->") {
                NodeKind::Field(Box::new(node), self.name()?)
            } else if self.take("[") {
                self.index(node)?
            } else {
                return Ok(node);
            };
            node = self.node(kind, start)?;
        }
    }

    fn index(&mut self, node: Node) -> Result<NodeKind, ExprError> {
        let first = Box::new(self.binary(0)?);
        let node = Box::new(node);
        let kind = match self.take("..") {
            true => NodeKind::Slice(node, first, Box::new(self.binary(0)?)),
            false => NodeKind::Index(node, first),
        };
        self.expect("]")?;
        Ok(kind)
    }

    fn name(&mut self) -> Result<String, ExprError> {
        match self.peek().map(|word| &word.token) {
            Some(Token::Name(name)) => {
                self.next += 1;
                Ok(name.clone())
            }
            _ => Err(self.error("expected the name of a field")),
        }
    }

    fn primary(&mut self) -> Result<Node, ExprError> {
        let Some(word) = self.peek() else { return Err(self.error("expected a value")) };
        if self.take("(") {
            self.nesting += 1;
            if self.nesting > NESTING_MAX {
                return Err(self.error("the expression is nested too deeply"));
            }
            let node = self.binary(0)?;
            self.nesting -= 1;
            self.expect(")")?;
            return Ok(node);
        }
        let kind = match &word.token {
            Token::Number(value) => NodeKind::Number(*value),
            Token::Text(text) => NodeKind::Text(text.clone()),
            Token::Name(name) => NodeKind::Name(name.clone()),
            Token::Register(name) => NodeKind::Register(name.clone()),
            Token::Sign(_) => return Err(self.error("expected a value")),
        };
        self.next += 1;
        self.node(kind, word.at.start)
    }
}
