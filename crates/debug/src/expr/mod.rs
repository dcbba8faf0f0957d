//! Expressions of the debugger: values of the program, and calculations with them.
//!
//! An expression reads the program's state and never changes it, and reads nothing outside the guest's
//! memory. Its length, nesting and number of parts are limited, so evaluation takes bounded time.
//!
//! | form | meaning |
//! |---|---|
//! | `count`, `self.owner`, `pair.0`, `list[2]`, `list[0..8]`, `*pointer`, `&value` | variables and their parts |
//! | `held->first` | the same as `(*held).first`; a dot leads through pointers as well |
//! | `$r1`, `$pc`, `$sp` | registers |
//! | `*(u64*)0x400000000`, `value as u32`, `(Vault*)$r1` | memory, and values as another type |
//! | `+ - * / % & \| ^ << >> ~ -` | arithmetic that wraps as the type does |
//! | `== != < <= > >= && \|\| !` | conditions; texts compare with addresses and strings |
//! | `value, x` | as hexadecimal; `d` decimal, `t` binary, `o` octal, `c` characters |

mod arithmetic;
mod eval;
mod lex;
mod parse;

use core::{fmt, ops::Range};

pub use self::eval::{Operand, Operands};
use self::parse::Node;
use crate::value::{Format, View};

/// A parsed expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    source: String,
    node: Node,
    /// How the value is to be shown.
    pub format: Format,
}

impl Expr {
    /// Parses an expression, with a format after a comma if there is one.
    ///
    /// # Errors
    /// If the text is no expression.
    pub fn parse(source: &str) -> Result<Self, ExprError> {
        let (text, format) = match source.rsplit_once(',') {
            Some((text, letter)) => match Format::from_letter(letter.trim()) {
                Some(format) => (text, format),
                None => (source, Format::Natural),
            },
            None => (source, Format::Natural),
        };
        Ok(Self { node: parse::parse(text)?, source: source.to_owned(), format })
    }

    /// Returns the text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates the expression in the state of a stopped program.
    ///
    /// # Errors
    /// If a name is unknown, a value cannot be read, or an operation cannot be applied.
    pub fn evaluate(&self, view: View<'_>, names: &dyn Operands) -> Result<Operand, ExprError> {
        eval::evaluate(&self.node, view, names)
    }

    /// Evaluates the expression and returns its value as text.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn text(&self, view: View<'_>, names: &dyn Operands) -> Result<String, ExprError> {
        Ok(match self.evaluate(view, names)? {
            Operand::Text(text) => format!("{text:?}"),
            Operand::Value(value) => view.text(&value, self.format),
        })
    }

    /// Evaluates the expression as a condition: whether its value is not 0.
    ///
    /// # Errors
    /// As [`Self::evaluate`], and if the value is not a number.
    pub fn is_true(&self, view: View<'_>, names: &dyn Operands) -> Result<bool, ExprError> {
        let whole = 0..self.source.len();
        match self.evaluate(view, names)? {
            Operand::Text(_) => Err(ExprError::new(whole, "a text is no condition")),
            Operand::Value(value) => {
                let number = view.number(&value);
                let number = number.map_err(|it| ExprError::new(whole, &it.to_string()))?;
                Ok(number.integer() != 0)
            }
        }
    }
}

/// Why an expression has no value, and the part of it that is the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExprError {
    /// The bytes of the expression.
    pub at: Range<usize>,
    /// The reason.
    pub message: String,
}

impl ExprError {
    pub(crate) fn new(at: Range<usize>, message: &str) -> Self {
        Self { at, message: message.to_owned() }
    }

    /// Returns the expression with a mark below the part, and the reason.
    #[must_use]
    pub fn explain(&self, source: &str) -> String {
        let before = source.get(..self.at.start).unwrap_or(source).chars().count();
        let part = source.get(self.at.clone()).unwrap_or_default().chars().count().max(1);
        let (space, mark) = (" ".repeat(before), "^".repeat(part));
        format!("{source}\n{space}{mark} {}", self.message)
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at column {})", self.message, self.at.start + 1)
    }
}

impl core::error::Error for ExprError {}
