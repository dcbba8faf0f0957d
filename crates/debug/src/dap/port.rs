//! The debug adapter on a port: any process of this machine can connect to it, and any page in a browser
//! can make one send a request.
//!
//! So a session begins with a token, which only the user has; requests over HTTP are refused where messages
//! are read; a client has a time to begin a session, and there are so many clients at once. A session reads
//! regular files alone, as all that opens files by `selkie_isa::input`, and no other server than the one
//! that the user has named.

use std::{
    cell::Cell,
    io::{self, BufReader, Read},
    net::{TcpListener, TcpStream},
    rc::Rc,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use selkie_isa::failure::Failure;

use super::{
    arguments::LaunchArguments,
    disk::{Disk, Fetcher},
    server::{Surroundings, serve},
};
use crate::session::Session;

/// The most clients at once.
const CLIENTS_MAX: usize = 8;
/// How long a client may take to begin a session.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// What the user has said about sessions.
#[derive(Debug)]
pub struct Terms {
    /// What a session has to know.
    pub token: String,
    /// Where transactions are taken from by their signatures.
    pub url: Option<String>,
    /// How they are.
    pub fetcher: Fetcher,
}

/// Serves the editors that connect, each on a thread, without end. `warn` is told what happens to them.
pub fn listen(listener: &TcpListener, terms: &Terms, warn: &(dyn Fn(&str) + Sync)) {
    let permit = Arc::new(());
    thread::scope(|scope| {
        for stream in listener.incoming() {
            // One is held here.
            let is_full = Arc::strong_count(&permit) > CLIENTS_MAX;
            match stream {
                Ok(_) if is_full => {
                    warn(&format!("a client was sent away: there are {CLIENTS_MAX} already"));
                }
                Ok(stream) => {
                    let permit = Arc::clone(&permit);
                    scope.spawn(move || {
                        // One editor's failure does not end the others' sessions.
                        if let Err(error) = serve_stream(&stream, terms) {
                            warn(&format!("a session ended: {error}"));
                        }
                        drop(permit);
                    });
                }
                Err(error) => warn(&format!("a client could not connect: {error}")),
            }
        }
    });
}

fn serve_stream(stream: &TcpStream, terms: &Terms) -> io::Result<()> {
    let has_begun = Rc::new(Cell::new(false));
    let input = Input { stream, has_begun: Rc::clone(&has_begun), until: launch_deadline() };
    let mut output = stream;
    let surroundings = Guarded {
        disk: Disk::new(terms.fetcher),
        token: terms.token.clone(),
        url: terms.url.clone(),
        has_begun,
    };
    serve(&mut BufReader::new(input), &mut output, Box::new(surroundings)).map(|_| ())
}

#[expect(clippy::disallowed_methods, reason = "clients have a time of this machine's clock")]
fn launch_deadline() -> Instant {
    Instant::now() + LAUNCH_TIMEOUT
}

/// What a client sends, for as long as it may take to begin a session, and then without end.
struct Input<'a> {
    stream: &'a TcpStream,
    has_begun: Rc<Cell<bool>>,
    until: Instant,
}

impl Read for Input<'_> {
    #[expect(clippy::disallowed_methods, reason = "clients have a time of this machine's clock")]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let late = || {
            let text = format!("the client began none in {} s", LAUNCH_TIMEOUT.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        };
        if self.has_begun.get() {
            self.stream.set_read_timeout(None)?;
            return self.stream.read(bytes);
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
            _ => error,
        })
    }
}

/// The files of this machine, for clients that know the token.
struct Guarded {
    disk: Disk,
    token: String,
    url: Option<String>,
    has_begun: Rc<Cell<bool>>,
}

impl Surroundings for Guarded {
    fn open(&mut self, arguments: &LaunchArguments) -> Result<Session, Failure> {
        let given = arguments.token.as_deref().unwrap_or_default();
        if !is_same(given.as_bytes(), self.token.as_bytes()) {
            let why = "the configuration has no `token`, or a wrong one: it is what `selkie dap --port` \
                       prints when it starts, or takes by --token";
            return Err(why.into());
        }
        if let Some(url) = arguments.url.as_ref().filter(|it| self.url.as_ref() != Some(*it)) {
            return Err(format!(
                "a session over a port takes no transactions from {url}: start the adapter with \
                 `selkie dap --port PORT --url {url}`"
            )
            .into());
        }
        let url = self.url.clone();
        let session = self.disk.open_from(arguments, url.as_deref())?;
        self.has_begun.set(true);
        Ok(session)
    }

    fn find_source(&self, path: &str) -> Option<String> {
        self.disk.find(path)
    }
}

/// Compares in a time that does not depend on where the texts differ.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    let difference = left.iter().zip(right).fold(0, |sum, (left, right)| sum | (left ^ right));
    left.len() == right.len() && difference == 0
}
