//! Link errors: location, cause and what to do.

use core::fmt;

use selkie_isa::truncate::truncated;

/// An error in an input: where it is, what is wrong, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError {
    /// The file; for a member of an archive, both names: `libcore.a(memchr.o)`.
    pub object: Option<String>,
    /// The section of the object.
    pub section: Option<String>,
    /// The function or variable, demangled.
    pub symbol: Option<String>,
    /// The offset in the section, in bytes.
    pub offset: Option<u64>,
    /// Source file, line and column, if the object has debug information.
    pub source: Option<String>,
    /// What keeps the function or variable in the program: what refers to it, what refers to that, and
    /// so on up to the entry.
    pub kept_by: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Whether the message is reported only once per object.
    once: bool,
    /// Whether a stack frame is too large.
    is_large_frame: bool,
    /// The indices of object and section, by which the source line is looked up.
    section_index: Option<(usize, usize)>,
}

impl LinkError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            object: None,
            section: None,
            symbol: None,
            offset: None,
            source: None,
            kept_by: Vec::new(),
            message: truncated(message.into()),
            help: None,
            once: false,
            is_large_frame: false,
            section_index: None,
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

    /// Marks the error as one about a stack frame that is too large.
    pub(crate) fn large_frame(mut self) -> Self {
        self.is_large_frame = true;
        self
    }

    /// Returns whether the error is that a function needs more stack than a frame has. The compiler may get
    /// by with less when it inlines less.
    #[must_use]
    pub fn is_about_frame(&self) -> bool {
        self.is_large_frame
    }

    /// Sets the indices of the object and the section.
    pub(crate) fn section_index(mut self, object: usize, section: usize) -> Self {
        self.section_index = Some((object, section));
        self
    }

    /// Sets source line and users from functions of object, section and offset, if these are known.
    pub(crate) fn find_origin(
        &mut self,
        line: impl FnOnce(usize, usize, u64) -> Option<String>,
        users: impl FnOnce(usize, usize, u64) -> Vec<String>,
    ) {
        let Some((object, section)) = self.section_index else { return };
        if self.kept_by.is_empty() {
            self.kept_by = users(object, section, self.offset.unwrap_or(0));
        }
        if let (Some(offset), None) = (self.offset, &self.source) {
            self.source = line(object, section, offset);
        }
    }

    /// Returns the way to the entry as a note, which names at most four functions and the entry.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        // An error in the entry itself, or in what it calls, needs no explanation.
        let [users @ .., entry] = self.kept_by.as_slice() else { return None };
        let (first, rest) = users.split_at(users.len().min(USERS_MAX));
        let between = if rest.is_empty() { vec![] } else { vec!["…"] };
        let names: Vec<&str> =
            first.iter().map(String::as_str).chain(between).chain([entry.as_str()]).collect();
        if users.is_empty() { None } else { Some(format!("used by {}", names.join(" ← "))) }
    }

    /// Marks the error as one to report only once per object.
    pub(crate) fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Returns the location as text: object, section, offset, function and source line, as far as
    /// they are known; `None` if the error has no location.
    #[must_use]
    pub fn location(&self) -> Option<String> {
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
        match self.location() {
            Some(location) => write!(f, "{location}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl core::error::Error for LinkError {}

/// The number of functions between an error and the entry that [`LinkError::note`] names.
const USERS_MAX: usize = 4;

/// The help for objects that no compiler writes.
pub(crate) const CORRUPT: &str = "the file is truncated or corrupt: compile it again";

/// The errors collected so far.
#[derive(Default, Debug)]
pub(crate) struct Errors(Vec<LinkError>);

/// The number of errors that are kept.
const ERRORS_MAX: usize = 200;

impl Errors {
    pub(crate) fn push(&mut self, error: LinkError) {
        let same = |it: &LinkError| it.message == error.message && it.object == error.object;
        let is_repeated = error.once && self.0.iter().any(same);
        if self.0.len() < ERRORS_MAX && !is_repeated {
            self.0.push(error);
        }
    }

    /// Returns the errors as `Err`, if there are any.
    pub(crate) fn check(&mut self) -> Result<(), Vec<LinkError>> {
        if self.0.is_empty() { Ok(()) } else { Err(core::mem::take(&mut self.0)) }
    }
}
