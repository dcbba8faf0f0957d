//! Why objects cannot be linked: the place, the reason, and what to do.

use core::fmt;

use selkie_isa::truncate::truncated;

/// A reason why there is no program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError {
    /// The file, and of an archive its member: `libcore.a(memchr.o)`.
    pub object: Option<String>,
    /// The section of the object.
    pub section: Option<String>,
    /// The function or variable, demangled.
    pub symbol: Option<String>,
    /// Bytes from the start of the section.
    pub offset: Option<u64>,
    /// The file and line of source, where the object's debug information has them.
    pub source: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Whether one such message for each object says it all.
    once: bool,
    /// The object's number and the section's, where debug information may have the line.
    compiled: Option<(usize, usize)>,
}

impl LinkError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            object: None,
            section: None,
            symbol: None,
            offset: None,
            source: None,
            message: truncated(message.into()),
            help: None,
            once: false,
            compiled: None,
        }
    }

    pub(crate) fn object(mut self, name: impl Into<String>) -> Self {
        self.object = Some(truncated(name.into()));
        self
    }

    pub(crate) fn section(mut self, name: impl Into<String>) -> Self {
        self.section = Some(truncated(name.into()));
        self
    }

    pub(crate) fn symbol(mut self, name: &str) -> Self {
        self.symbol = Some(selkie_inspect::demangle(name));
        self
    }

    pub(crate) fn offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(truncated(help.into()));
        self
    }

    /// What section `section` of object `object` is to blame for.
    pub(crate) fn compiled(mut self, object: usize, section: usize) -> Self {
        self.compiled = Some((object, section));
        self
    }

    /// Looks for the line, if it can be found by object, section and offset.
    pub(crate) fn find_line(&mut self, find: impl FnOnce(usize, usize, u64) -> Option<String>) {
        if let (Some((object, section)), Some(offset), None) =
            (self.compiled, self.offset, &self.source)
        {
            self.source = find(object, section, offset);
        }
    }

    pub(crate) fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Where it is: object, section, function and offset, as far as they are known.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.object.clone());
        parts.extend(match (&self.section, self.offset) {
            (Some(section), Some(offset)) => Some(format!("{section}+{offset:#x}")),
            (Some(section), None) => Some(section.clone()),
            (None, Some(offset)) => Some(format!("offset {offset:#x}")),
            (None, None) => None,
        });
        parts.extend(self.symbol.as_ref().map(|name| format!("in `{name}`")));
        parts.extend(self.source.as_ref().map(|line| format!("at {line}")));
        if parts.is_empty() { None } else { Some(parts.join(", ")) }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl core::error::Error for LinkError {}

/// What was found wrong so far. All of it is reported, but for what would only repeat itself.
#[derive(Default, Debug)]
pub(crate) struct Errors(Vec<LinkError>);

/// More errors than this help nobody.
const ERRORS_MAX: usize = 200;

impl Errors {
    pub(crate) fn push(&mut self, error: LinkError) {
        let same = |it: &LinkError| it.message == error.message && it.object == error.object;
        let is_known = error.once && self.0.iter().any(same);
        if self.0.len() < ERRORS_MAX && !is_known {
            self.0.push(error);
        }
    }

    pub(crate) fn check(&mut self) -> Result<(), Vec<LinkError>> {
        if self.0.is_empty() { Ok(()) } else { Err(core::mem::take(&mut self.0)) }
    }
}
