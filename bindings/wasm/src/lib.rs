//! Selkie in a browser: a source is assembled, run and stepped through, by questions and answers in JSON.
//!
//! ```
//! use selkie_wasm::Workbench;
//!
//! let source = "entrypoint:\n    mov64 r0, 0\n    exit\n.globl entrypoint\n";
//! let question = serde_json::json!({ "method": "run", "params": [{ "source": source }] });
//! let answer = Workbench::default().answer(&question.to_string());
//! assert!(answer.contains("\"units\":2"), "{answer}");
//! ```
//!
//! Invariant: an answer to any text is JSON, `{"result": …}` or `{"error": {"message": …}}`, and ends within the
//! limits of the runtime.
//!
//! | module | what it owns |
//! |---|---|
//! | `workbench` | the methods: their names, parameters and results |
//! | `program` | sources and ELF files to programs, with diagnostics |
//! | `input` | the instruction and the accounts that a page gives |
//! | `run` | runs of a program: result, changes of accounts, compute units by line |
//! | `abi` | what the module exports in WebAssembly |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod abi;
mod input;
mod program;
mod run;
mod workbench;

pub use crate::workbench::Workbench;
