//! The methods: one row each, and how a request finds its row.

mod accounts;
mod address_history;
mod bundles;
mod call;
mod cheats;
mod cluster;
mod describe;
mod explain;
mod held;
mod history;
mod inflation;
mod schedules;
mod sending;
mod surfnet;
mod surfnet_confidential;
mod surfnet_idls;
mod surfnet_kept;
mod surfnet_profiles;
mod surfnet_programs;
mod surfnet_scenario;
mod surfnet_settings;
mod surfnet_snapshot;
mod table;
mod tokens;
mod traces;
mod votes;
mod wire;

pub use call::{API_VERSION, Addresses};
pub(crate) use call::{Call, Subscribers, rank};
pub(crate) use history::confirmation;
pub(crate) use schedules::Schedules;
pub(crate) use surfnet_settings::Settings;
pub(crate) use table::{Access, find, surfnet_names};
pub use table::{
    METHODS, Method, SUBSCRIPTIONS, SubscriptionRow, UNSUPPORTED, UnsupportedRow, Weight,
};
pub(crate) use wire::{TRANSACTION_BYTES_MAX, raw_transaction};
