//! Command lines and project files of other Solana tools, in Selkie's terms.
//!
//! | module | what it reads |
//! |---|---|
//! | [`flags`] | a command line, by a table of the flags of a tool |
//! | [`sbf`] | `cargo build-sbf` and `cargo test-sbf` |
//! | [`surfpool`] | `surfpool start` |
//! | [`anchor`] | Anchor.toml, Test.toml, and the programs and accounts that they name |
//! | [`lock`] | what `cargo update` says of a lock file that it cannot change |
//! | [`links`] | the names under which `selkie` stands for these tools |
//! | [`project`] | a project that uses other tools, and the edits that put Selkie behind their names |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod anchor;
pub mod flags;
mod kept;
pub mod links;
pub mod lock;
mod pins;
pub mod project;
pub mod sbf;
pub mod surfpool;
