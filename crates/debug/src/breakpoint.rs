//! Breakpoints: where a run is to stop, and under what conditions.

use core::ops::Range;

use crate::expr::{Expr, ExprError};

/// Identifies a breakpoint in its session.
pub type BreakpointId = u32;

/// Where a breakpoint is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// At a line of a source file.
    Line(String, u32),
    /// At the start of functions.
    Function(String),
    /// At an instruction: index of the program, and slot.
    Instruction(usize, u32),
}

/// What a user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Where.
    pub place: Place,
    /// An expression that has to be true.
    pub condition: Option<String>,
    /// How many times the place is to be reached: `5`, `>= 5`, `% 5`.
    pub hits: Option<String>,
    /// A text to log in place of a stop, with expressions in braces.
    pub log: Option<String>,
}

impl Request {
    /// Makes a request without conditions.
    #[must_use]
    pub fn at(place: Place) -> Self {
        Self { place, condition: None, hits: None, log: None }
    }
}

/// A breakpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breakpoint {
    /// Its number.
    pub id: BreakpointId,
    /// Where it was asked for.
    pub place: Place,
    /// The line that it is at, if it was asked for at a line.
    pub line: Option<u32>,
    /// The instructions: index of the program, and slot. Empty if there are none.
    pub pcs: Vec<(usize, u32)>,
    pub(crate) condition: Option<Expr>,
    pub(crate) hits: Option<HitCount>,
    pub(crate) log: Option<LogText>,
}

/// Memory whose change is a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// Its number.
    pub id: BreakpointId,
    /// What is watched, as the user named it.
    pub name: String,
    /// The guest addresses.
    pub range: Range<u64>,
    /// The stack height of the instruction whose memory it is.
    pub height: u32,
    /// The instruction, since each has memory of its own.
    pub instruction: u32,
}

/// Happenings that are a stop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    /// A program is ended by the machine.
    pub trap: bool,
    /// A program returns an error.
    pub error: bool,
    /// A program logs a line with this text in it.
    pub log: Option<String>,
    /// An account changes whose address begins with this text.
    pub account: Option<String>,
    /// Fewer compute units than these are left.
    pub units_below: Option<u64>,
}

/// A condition on the number of times that a place was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HitCount {
    Equal(u64),
    AtLeast(u64),
    Multiple(u64),
}

impl HitCount {
    /// Parses `5`, `= 5`, `>= 5`, `> 5` and `% 5`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.trim_start_matches(['=', '>', '%', ' ']);
        let number: u64 = digits.parse().ok()?;
        Some(match text[..text.len() - digits.len()].trim() {
            "" | "=" | "==" => Self::Equal(number),
            ">=" => Self::AtLeast(number),
            ">" => Self::AtLeast(number.checked_add(1)?),
            "%" if number > 0 => Self::Multiple(number),
            _ => return None,
        })
    }

    pub(crate) fn is_met(self, hits: u64) -> bool {
        match self {
            Self::Equal(number) => hits == number,
            Self::AtLeast(number) => hits >= number,
            Self::Multiple(number) => hits.is_multiple_of(number),
        }
    }
}

/// The text of a log point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LogText {
    /// Texts, each followed by an expression except the last one.
    pub(crate) texts: Vec<String>,
    pub(crate) exprs: Vec<Expr>,
}

impl LogText {
    pub(crate) fn parse(source: &str) -> Result<Self, ExprError> {
        let (mut texts, mut exprs) = (Vec::new(), Vec::new());
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('{') {
            let end = source.len() - after.len();
            let unclosed = || ExprError::new(end - 1..end, "the brace is not closed");
            let (expr, after) = after.split_once('}').ok_or_else(unclosed)?;
            texts.push(text.to_owned());
            exprs.push(Expr::parse(expr)?);
            rest = after;
        }
        texts.push(rest.to_owned());
        Ok(Self { texts, exprs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_counts_have_operators() {
        let parse = |text| HitCount::parse(text).unwrap();
        assert_eq!(parse("5"), HitCount::Equal(5));
        assert_eq!(parse(">= 5"), HitCount::AtLeast(5));
        assert_eq!(parse("> 5"), HitCount::AtLeast(6));
        assert_eq!(parse("%2"), HitCount::Multiple(2));
        for bad in ["", "x", "% 0", "< 5", "= = 5"] {
            assert_eq!(HitCount::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn log_texts_contain_expressions() {
        let text = LogText::parse("count {count, x} of {max}!").unwrap();
        assert_eq!(text.texts, ["count ", " of ", "!"]);
        assert_eq!(text.exprs.len(), 2);
        assert!(LogText::parse("a {b").is_err());
    }
}
