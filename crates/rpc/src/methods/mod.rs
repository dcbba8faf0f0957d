//! The methods: one row each, and how a request finds its row.

mod accounts;
mod call;
mod cheats;
mod cluster;
mod describe;
mod explain;
mod history;
mod schedules;
mod sending;
mod surfnet;
mod table;
mod tokens;
mod traces;
mod votes;
mod wire;

pub use call::{API_VERSION, Addresses};
pub(crate) use call::{Call, Subscribers, rank};
pub(crate) use history::confirmation;
pub(crate) use schedules::Schedules;
pub(crate) use table::{Access, find};
pub use table::{
    METHODS, Method, SUBSCRIPTIONS, SubscriptionRow, UNSUPPORTED, UnsupportedRow, Weight,
};
pub(crate) use wire::{TRANSACTION_BYTES_MAX, raw_transaction};
