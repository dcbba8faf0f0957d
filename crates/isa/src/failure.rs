//! Failures to do what a user has asked for: what could not be done, why, and what to do about it.
//!
//! Libraries that open files, start programs or ask servers return a [`Failure`]; the command prints it with
//! its causes, and the help below.

use core::fmt;
use std::error::Error;

/// The cause of a failure.
type Cause = Box<dyn Error + Send + Sync>;

/// Something that could not be done, as a chain of sentences: each is the cause of the one before.
#[derive(Debug)]
pub struct Failure {
    what: String,
    cause: Option<Cause>,
    help: Option<String>,
}

/// A value, or what could not be done.
pub type Result<T, E = Failure> = core::result::Result<T, E>;

impl Failure {
    /// Makes a failure of a sentence: lower case, without a full stop.
    #[must_use]
    pub fn new(what: impl fmt::Display) -> Self {
        Self { what: what.to_string(), cause: None, help: None }
    }

    /// Makes a failure of an error, with its text and its causes.
    #[must_use]
    pub fn of(error: impl Into<Cause>) -> Self {
        let error = match error.into().downcast::<Self>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        Self { what: String::new(), cause: Some(error), help: None }
    }

    /// Adds what to do about it, in place of what another failure below says.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Returns what to do about it, or about the first of its causes that says so.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        let mut cause = self.cause.as_deref().map(|it| it as &(dyn Error + 'static));
        let mut help = self.help.as_deref();
        while let (None, Some(error)) = (help, cause) {
            help = error.downcast_ref::<Self>().and_then(|it| it.help.as_deref());
            cause = error.source();
        }
        help
    }

    /// Returns the sentences in one: each after the one that it is the cause of.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        text
    }

    /// Returns the first of its causes that is an error of this type.
    #[must_use]
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        let mut cause = self.cause.as_deref().map(|it| it as &(dyn Error + 'static));
        while let Some(error) = cause {
            if let Some(found) =
                error.downcast_ref::<Self>().map(Self::find).unwrap_or_else(|| error.downcast_ref())
            {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Returns the last cause: the text of what went wrong first.
    #[must_use]
    pub fn root_cause(&self) -> String {
        let mut error: &(dyn Error + 'static) = self;
        while let Some(cause) = error.source() {
            error = cause;
        }
        error.to_string()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            // One that was made of an error has the error's text.
            Some(cause) if self.what.is_empty() => cause.fmt(f),
            _ => f.write_str(&self.what),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref().map(|it| it as &(dyn Error + 'static));
        if self.what.is_empty() { cause.and_then(Error::source) } else { cause }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::of(error)
    }
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self { what, cause: None, help: None }
    }
}

impl From<&str> for Failure {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

/// Says what could not be done, of an error that tells why or of a value that is not there.
pub trait Context<T>: Sized {
    /// Returns the value, or a failure with this sentence.
    ///
    /// # Errors
    /// If there is no value. The error becomes the cause.
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.with_context(|| what)
    }

    /// As [`context`](Self::context), with a sentence that is made if it is needed.
    ///
    /// # Errors
    /// If there is no value.
    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Cause>> Context<T> for core::result::Result<T, E> {
    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| Failure {
            what: what().to_string(),
            cause: Some(error.into()),
            help: None,
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.ok_or_else(|| Failure::new(what()))
    }
}

/// Makes failures of errors.
pub trait OrFailure<T>: Sized {
    /// Returns the value, or a failure with the error's text.
    ///
    /// # Errors
    /// If it is an error.
    fn or_failure(self) -> Result<T>;

    /// Returns the value, or a failure with the error's text and what to do about it.
    ///
    /// # Errors
    /// If it is an error.
    fn advise(self, help: impl Into<String>) -> Result<T> {
        self.or_failure().map_err(|failure| failure.with_help(help))
    }
}

impl<T, E: Into<Cause>> OrFailure<T> for core::result::Result<T, E> {
    fn or_failure(self) -> Result<T> {
        self.map_err(Failure::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once_and_help_is_found_below() {
        let missing = Err::<(), _>(std::io::Error::other("it is gone"));
        let failure = missing.advise("look elsewhere").context("cannot read a.so").unwrap_err();
        assert_eq!(failure.chain(), "cannot read a.so: it is gone");
        assert_eq!(failure.help(), Some("look elsewhere"));
        assert_eq!(failure.root_cause(), "it is gone");
        assert_eq!(failure.with_help("stop").help(), Some("stop"));
    }
}
