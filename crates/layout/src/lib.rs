//! Layouts of builtin and well-known programs: their instructions, their accounts and their errors.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod account;
pub mod associated_token;
pub mod compute_budget;
mod declare;
#[cfg(feature = "idl")]
pub mod idl;
pub mod instruction;
pub mod kind;
pub mod loader;
pub mod lookup_table;
pub mod role;
pub mod stake;
pub mod system;
pub mod sysvar;
pub mod token;
pub mod vote;
pub mod wire;
