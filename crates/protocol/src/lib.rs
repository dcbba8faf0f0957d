//! The tables of Solana's protocol, as data: which syscalls there are and what they cost, which
//! features exist and which of them mainnet has activated, costs and limits.
//!
//! Nothing here runs a program. The runtime takes what it charges from these rows, the assembler
//! resolves names by them, and the language server and `docs/` show them.
//!
//! | module | what it owns |
//! |---|---|
//! | [`syscalls`] | one row per syscall: arguments, gate, cost, summary |
//! | [`cost`] | costs in compute units, and limits; [`Cost`](cost::Cost), a syscall's cost as data |
//! | [`features`] | one row per feature: account, activation on mainnet, summary |
//! | [`rules`] | [`Rules`](rules::Rules): features and a release; one row per change that a release brought |
//! | [`docs`] | `docs/syscalls.md` and `docs/features.md`, made from the rows |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod cost;
pub mod docs;
pub mod feature_names;
pub mod features;
pub mod rules;
pub mod syscalls;
