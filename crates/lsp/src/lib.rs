//! A language server for sBPF assembly: what the assembler and its tables know, in an editor.
//!
//! It keeps the texts of the documents that are open, assembles them when they change, and answers
//! from what came of it. It does no input or output but the protocol's and the reading of files
//! that sources include, and of the names of those beside them.
//!
//! | module | what it owns |
//! |---|---|
//! | `server` | messages: the order of things, requests, answers |
//! | `transport` | messages as bytes, and what is none |
//! | `text`, `uri` | places and names as the protocol has them |
//! | `documents` | the sources that are open, and those that belong to them |
//! | `index` | where names are defined and used, by the text alone |
//! | `analysis` | what the assembler says |
//! | `cost` | compute units |
//! | `complete`, `hover`, `hints`, `navigate`, `outline`, `signature` | the answers |
//! | `describe` | what the tables say, in Markdown |
//! | [`grammar`] | the grammar for highlighting |

#![forbid(unsafe_code)]
#![allow(clippy::mutable_key_type, reason = "`Uri` is compared by its text, which nothing changes")]

mod analysis;
mod complete;
mod cost;
mod describe;
mod documents;
pub mod grammar;
mod hints;
mod hover;
mod index;
mod navigate;
mod outline;
mod server;
mod signature;
mod text;
mod transport;
mod uri;

use std::{io, path::PathBuf};

use lsp_server::Connection;
use selkie_isa::Version;

use crate::transport::Transport;

/// How to assemble what is open.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sBPF version to assemble for.
    pub version: Version,
    /// Where included files are looked for, after the folder of the file that includes them.
    pub include_paths: Vec<PathBuf>,
    /// Constants that sources may use as if they had defined them.
    pub defines: Vec<(String, i64)>,
}

/// How serving came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The client said `shutdown`, then `exit`.
    Orderly,
    /// It said `exit` without that, or nothing any more.
    Abrupt,
}

/// Serves a client over a connection until it leaves.
#[must_use]
pub fn serve(connection: Connection, settings: Settings) -> Ended {
    server::run(connection, settings)
}

/// Serves a client over the standard input and output.
///
/// # Errors
/// If what comes has no header of the protocol, or answers cannot be written.
pub fn serve_stdio(settings: Settings) -> io::Result<Ended> {
    let input = io::BufReader::new(io::stdin());
    let (connection, transport) = Transport::start(input, io::stdout());
    let ended = serve(connection, settings);
    transport.join()?;
    Ok(ended)
}
