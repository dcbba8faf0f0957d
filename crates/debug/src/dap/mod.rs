//! The Debug Adapter Protocol: an editor's requests to a session.
//!
//! Requests are answered one after the other: each takes milliseconds, also those that go back in
//! time, so that there is nothing to interrupt. Everything in a message is outside input.
//!
//! | module | what it owns |
//! |---|---|
//! | `message` | messages and their framing |
//! | `arguments` | the arguments of requests |
//! | `disk` | what an adapter reads |
//! | `port` | adapters on a port |
//! | `server` | the loop, the phases of a session, and the table of requests |
//! | `breakpoints`, `motion`, `state` | the requests of these groups |

mod arguments;
mod breakpoints;
mod code;
mod disk;
mod message;
mod motion;
mod port;
mod server;
mod state;

pub use self::{
    arguments::LaunchArguments,
    disk::{Disk, Fetcher},
    port::{Terms, listen},
    server::{Ended, Surroundings, serve},
};
