//! The engine that runs programs, by its name.

use pyo3::{exceptions::PyValueError, prelude::*};
use selkie::Engine;

use crate::errors::exception;

/// Returns the engine of a name, if this host supports it.
pub(crate) fn engine(name: &str) -> PyResult<Engine> {
    let engines = [Engine::Auto, Engine::Interpreter, Engine::Jit];
    let named = engines.into_iter().find(|engine| engine.to_string() == name);
    let unknown = || format!("no engine is named `{name}`: there are auto, interpreter and jit");
    let engine = named.ok_or_else(|| PyValueError::new_err(unknown()))?;
    engine.resolve().map_err(exception)
}
