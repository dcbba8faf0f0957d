//! Solana's JSON-RPC for a local node, over HTTP and WebSocket.
//!
//! The server holds no state but connections: all that clients see is in [`selkie_node::Node`].
//!
//! | item | what it is |
//! |---|---|
//! | [`LocalNode`] | a node and a server in one value, for tests |
//! | [`Server`] | a running server |
//! | [`Service`] | what answers requests, without sockets |
//! | [`Options`], [`Limits`] | where it listens, and what clients may ask for |
//! | [`Explainer`] | what looks into transactions and programs for the explorer |
//! | [`Interface`] | the description of a program's interface, which an explainer finds |
//! | [`METHODS`], [`SUBSCRIPTIONS`] | one row per method and subscription, from which `docs/rpc.md` is made |
//! | [`ERRORS`] | numbers and texts of errors |
//! | [`documentation`] | the text of `docs/rpc.md` |
//!
//! | module | what it owns |
//! |---|---|
//! | `parsed` | the encoding `jsonParsed`: names of accounts and instructions |
//! | `token_amount` | token amounts as clients see them |
//! | `encode` | accounts, transactions and blocks as JSON |
//! | `interfaces` | descriptions of programs, by which their instructions and accounts have names |
//! | `budget` | the memory that clients can make the server hold |
//! | `params`, `config` | parameters, and the objects among them |
//! | `methods` | the table of methods, and a function for each |
//! | `server` | connections, dispatch, subscriptions, metrics |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod budget;
mod config;
mod document;
mod encode;
mod error;
mod ids;
mod interfaces;
mod local;
mod methods;
mod options;
mod params;
mod parsed;
mod server;
mod stats;
mod token_amount;

pub use crate::{
    document::documentation,
    error::{ERRORS, ErrorRow, RpcError},
    interfaces::Interface,
    local::{LocalNode, StartError},
    methods::{
        API_VERSION, Addresses, METHODS, Method, SUBSCRIPTIONS, SubscriptionRow, UNSUPPORTED,
        UnsupportedRow, Weight,
    },
    options::{Asked, Explainer, Limits, Options},
    server::{BindError, Server, Service},
};
