//! Questions of the explorer about the steps of a transaction, as JSON.
//!
//! Invariant: an answer has a bounded size, whatever the transaction does: lists have parts, and text is cut.
//! Source files are read only if they end as sources do, and debug information of a program that was built
//! here names them.

mod code;
mod go;
mod moment;
mod run;

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_replay::query;
use serde_json::Value;

use crate::session::Session;

/// The transactions whose sessions are kept.
const SESSIONS_MAX: usize = 4;
/// The longest text of a value, a name or a line.
const TEXT_CHARS_MAX: usize = 400;

/// A question.
#[derive(Debug)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// Its parameters and what it returns.
    pub about: &'static str,
    answer: fn(&mut Session, &Value) -> Result<Value, Failure>,
    /// Whether it is about the run as a whole: the answer takes a pass over all steps, and is kept.
    is_kept: bool,
}

/// The questions, besides those of [`query::METHODS`] that are about memory, accounts, writes and searches.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "run",
        about: "{}: steps, result, programs, invocations, events, and where the failure and the first own line are",
        answer: |session, _| Ok(run::overview(session)),
        is_kept: true,
    },
    Question {
        name: "calls",
        about: "{}: the calls of functions that take the most steps, with their compute units",
        answer: |session, _| Ok(run::calls(session)),
        is_kept: true,
    },
    Question {
        name: "step",
        about: "{step, frame}: registers, frames, a frame's variables, regions, and what the step before wrote",
        answer: |session, params| {
            session.go_to(query::number(params, "step")?);
            moment::here(session, params)
        },
        is_kept: false,
    },
    Question {
        name: "go",
        about: "{step, to}: `step` after `in`, `over` or `out`, by `by`: `own`, `line` or `instruction`, forward or `back`; or at \
                the next `syscall`, the `failure`, or a `place`: FILE:LINE, a function, *SLOT",
        answer: |session, params| {
            go::go(session, params)?;
            moment::here(session, params)
        },
        is_kept: false,
    },
    Question {
        name: "variable",
        about: "{step, frame, path, start}: the parts of a variable of a frame, each index of the path one of the list before",
        answer: moment::variable,
        is_kept: false,
    },
    Question {
        name: "code",
        about: "{program, from, count}: instructions of a program with functions and lines",
        answer: |session, params| code::instructions(session, params),
        is_kept: false,
    },
    Question {
        name: "source",
        about: "{file, from, count}: lines of a source file, and which of them have instructions",
        answer: |session, params| code::source(session, params),
        is_kept: false,
    },
    Question {
        name: "input",
        about: "{step, from}: the fields of the innermost program's input",
        answer: |session, params| code::input(session, params),
        is_kept: false,
    },
];

/// The sessions of the transactions that were asked about last.
#[derive(Default)]
pub struct Debugger {
    sessions: Mutex<Vec<(String, Arc<Mutex<Opened>>)>>,
}

/// A session, and the answers that are kept, by their questions.
struct Opened {
    session: Session,
    kept: Vec<(&'static str, Value)>,
}

impl fmt::Debug for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debugger").finish_non_exhaustive()
    }
}

impl Debugger {
    /// Answers a question about the transaction with a name: `{"ask": NAME, …}`. `open` opens its session if
    /// none is kept, and gives `None` if there is no such transaction; then the answer is null.
    ///
    /// # Errors
    /// If the session cannot be opened, there is no such question, or its parameters are not as they should be.
    pub fn ask(
        &self,
        name: &str,
        open: &dyn Fn() -> Result<Option<Session>, Failure>,
        question: &Value,
    ) -> Result<Value, Failure> {
        let asked = question.get("ask").and_then(Value::as_str).ok_or("`ask` is not text")?;
        let Some(opened) = self.opened(name, open)? else { return Ok(Value::Null) };
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(it) = QUESTIONS.iter().find(|it| it.name == asked) else {
            return query::run(opened.session.history().timeline(), asked, question);
        };
        if let Some((_, answer)) = opened.kept.iter().find(|(name, _)| *name == it.name) {
            return Ok(answer.clone());
        }
        let answer = (it.answer)(&mut opened.session, question)?;
        if it.is_kept {
            opened.kept.push((it.name, answer.clone()));
        }
        Ok(answer)
    }

    fn opened(
        &self,
        name: &str,
        open: &dyn Fn() -> Result<Option<Session>, Failure>,
    ) -> Result<Option<Arc<Mutex<Opened>>>, Failure> {
        if let Some(known) = self.known(name) {
            return Ok(Some(known));
        }
        let Some(session) = open()? else { return Ok(None) };
        let opened = Arc::new(Mutex::new(Opened { session, kept: Vec::new() }));
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(0, (name.to_owned(), Arc::clone(&opened)));
        sessions.truncate(SESSIONS_MAX);
        Ok(Some(opened))
    }

    /// Returns a session that is kept, which becomes the one that was asked about last.
    fn known(&self, name: &str) -> Option<Arc<Mutex<Opened>>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let at = sessions.iter().position(|(it, _)| it == name)?;
        sessions[..=at].rotate_right(1);
        sessions.first().map(|(_, opened)| Arc::clone(opened))
    }
}

/// Returns text of the program or the user, cut if it is long.
fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// Returns a number of the parameters, or another one if it is absent.
fn number_or(params: &Value, name: &str, absent: u64) -> Result<u64, Failure> {
    params.get(name).map_or(Ok(absent), |_| query::number(params, name))
}

fn index_or(params: &Value, name: &str, absent: usize) -> Result<usize, Failure> {
    usize::try_from(number_or(params, name, absent as u64)?)
        .map_err(|_| format!("`{name}` is too large"))
        .or_failure()
}
