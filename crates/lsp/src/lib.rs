//! A language server for sBPF assembly: diagnostics, completion, hover, costs and navigation.
//!
//! It keeps the texts of the open documents, assembles them when they change, and answers requests
//! from the result. Besides the protocol's messages, its only input and output is reading the files
//! that sources include, and the names of the files beside a source.
//!
//! | module | what it owns |
//! |---|---|
//! | `server` | the message loop: life cycle, requests, published diagnostics |
//! | `transport` | messages as bytes, with bounds |
//! | `text`, `uri` | positions and document names as the protocol encodes them |
//! | `source` | the text, lines, tokens and names of a source |
//! | `documents` | open documents, and the sources that they include |
//! | `index` | where names are defined and used, found without assembling |
//! | `analysis` | the result of assembling a document |
//! | `cost` | compute units of code |
//! | `complete`, `hover`, `hints`, `navigate`, `outline`, `signature` | the responses to requests |
//! | `describe` | rows of the tables as Markdown |
//! | [`grammar`] | the grammar for highlighting |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
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
mod source;
mod text;
mod transport;
mod uri;

use std::{io, path::PathBuf};

use lsp_server::Connection;
use selkie_isa::Version;

use crate::transport::Transport;

/// How open documents are assembled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sBPF version to assemble for.
    pub version: Version,
    /// The folders in which included files are searched, after that of the including file.
    pub include_paths: Vec<PathBuf>,
    /// Constants that are defined in every source.
    pub defines: Vec<(String, i64)>,
}

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The client sent `shutdown`, then `exit`.
    Orderly,
    /// The client sent `exit` without `shutdown`, or closed the connection.
    Abrupt,
}

/// Serves a client over a connection until the session ends.
#[must_use]
pub fn serve(connection: Connection, settings: Settings) -> Ended {
    server::run(connection, settings)
}

/// Serves a client over the standard input and output.
///
/// # Errors
/// If the input has no header of the protocol, or if responses cannot be written.
pub fn serve_stdio(settings: Settings) -> io::Result<Ended> {
    let input = io::BufReader::new(io::stdin());
    let (connection, transport) = Transport::start(input, io::stdout());
    let ended = serve(connection, settings);
    transport.join()?;
    Ok(ended)
}
