//! The language of `SBF_TRACE_FILTER`: conditions on the signatures of a transaction and on a program.
//!
//! ```text
//! any       = all ( "||" all )*
//! all       = factor ( "&&" factor )*
//! factor    = "(" any ")" | condition
//! condition = word ( "==" | "!=" ) word
//! ```
//!
//! A field has several values: `==` holds if one of them is equal, `!=` if none is. A field of another name
//! than `txsig` and `program_id` has none. What cannot be parsed passes everything, as with LiteSVM
//! (`litesvm` 0.18.1, `src/register_tracing_filter.rs`).

/// How deep parentheses may nest.
const DEPTH_MAX: usize = 64;

/// A filter.
#[derive(Debug)]
pub(crate) enum RegisterFilter {
    Everything,
    Condition { field: String, is_equal: bool, value: String },
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl RegisterFilter {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let filter = parser.any().filter(|_| parser.rest.is_empty());
        filter.unwrap_or(Self::Everything)
    }

    /// Returns whether a transaction with these signatures, of whose programs these are asked about, passes.
    pub(crate) fn passes(&self, signatures: &[String], programs: &[String]) -> bool {
        match self {
            Self::Everything => true,
            Self::Condition { field, is_equal, value } => {
                let values = match field.as_str() {
                    "txsig" => signatures,
                    "program_id" => programs,
                    _ => &[],
                };
                values.contains(value) == *is_equal
            }
            Self::All(filters) => filters.iter().all(|it| it.passes(signatures, programs)),
            Self::Any(filters) => filters.iter().any(|it| it.passes(signatures, programs)),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn any(&mut self) -> Option<RegisterFilter> {
        let mut filters = vec![self.all()?];
        while self.take("||") {
            filters.push(self.all()?);
        }
        Some(RegisterFilter::Any(filters))
    }

    fn all(&mut self) -> Option<RegisterFilter> {
        let mut filters = vec![self.factor()?];
        while self.take("&&") {
            filters.push(self.factor()?);
        }
        Some(RegisterFilter::All(filters))
    }

    fn factor(&mut self) -> Option<RegisterFilter> {
        if !self.take("(") {
            return self.condition();
        }
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= DEPTH_MAX)?;
        let filter = self.any()?;
        self.depth = self.depth.saturating_sub(1);
        self.take(")").then_some(filter)
    }

    fn condition(&mut self) -> Option<RegisterFilter> {
        let field = self.word()?;
        let is_equal = self.take("==");
        if !is_equal && !self.take("!=") {
            return None;
        }
        Some(RegisterFilter::Condition { field, is_equal, value: self.word()? })
    }

    fn word(&mut self) -> Option<String> {
        let is_part = |it: char| it.is_alphanumeric() || "_-.".contains(it);
        let end = self.rest.find(|it| !is_part(it)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).filter(|(word, _)| !word.is_empty())?;
        self.rest = rest.trim_start();
        Some(word.to_owned())
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_choose_as_litesvm_does() {
        let passes = |filter: &str| {
            let (signatures, programs) = (["S".to_owned(), "T".to_owned()], ["P".to_owned()]);
            RegisterFilter::parse(filter).passes(&signatures, &programs)
        };
        for filter in [
            "",
            "txsig == T",
            "  txsig==S&&program_id!=Q ",
            "program_id == Q || (program_id == P)",
            "program_id == Q && txsig == Q || txsig == S",
            "other != 1",
            "txsig == Q trailing",
            "(program_id == Q",
            "program_id = Q",
        ] {
            assert!(passes(filter), "{filter}");
        }
        for filter in ["txsig != T", "program_id == Q", "other == 1", "txsig == S && txsig == Q"] {
            assert!(!passes(filter), "{filter}");
        }
        assert!(passes(&format!("{}txsig == Q{}", "(".repeat(100), ")".repeat(100))));
    }
}
