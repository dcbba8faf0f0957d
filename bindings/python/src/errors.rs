//! Exceptions, and panics as exceptions.

use std::{
    any::Any,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use pyo3::{create_exception, exceptions::PyRuntimeError, prelude::*};

create_exception!(selkie, SelkieError, PyRuntimeError, "Something that Selkie cannot do.");
create_exception!(
    selkie,
    EngineCrash,
    SelkieError,
    "A bug in Selkie: an assertion of the engine failed. What was being changed is undefined."
);

/// Makes an exception of an error.
pub(crate) fn exception(error: impl Display) -> PyErr {
    SelkieError::new_err(error.to_string())
}

/// Runs `work` without the interpreter's lock. A panic becomes an exception.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let ended = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    ended.map_err(|panic| EngineCrash::new_err(message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
