//! The protocol's data and rules: accounts, transactions, fees, rent, sysvars, features, costs and
//! errors. Nothing in this layer runs a program.

pub mod account;
pub mod blockhash_queue;
pub mod budget;
pub mod cost;
pub mod error;
pub mod features;
pub(crate) mod key_map;
pub(crate) mod message_id;
pub mod nonce;
pub(crate) mod recent_blockhashes;
pub(crate) mod rent;
pub(crate) mod reward;
pub(crate) mod signed;
pub mod sysvars;
pub mod transaction;
