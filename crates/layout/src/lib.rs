//! Layouts of builtin and well-known programs: their instructions, their accounts and their errors.
//!
//! Each is declared once, as a row: names, fields with types, roles of accounts. From the row follow a Rust
//! type with reader and writer, the offsets of fields at fixed places, and a description as data, by which
//! JSON-RPC, receipts and the command show bytes. The crate `selkie-idl` reads interface descriptions of
//! other programs into the same rows.
//!
//! ```
//! use selkie_layout::{system::{self, SystemInstruction}, token::{ACCOUNT, TokenAccount}};
//! use solana_pubkey::Pubkey;
//!
//! let [from, to] = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
//! let transfer = system::transfer(&from, &to, 7);
//! assert_eq!(SystemInstruction::read(&transfer.data), Ok(SystemInstruction::Transfer { lamports: 7 }));
//! assert_eq!(SystemInstruction::ROWS[2].read(&transfer.data).unwrap()[0].field.name, "lamports");
//!
//! let account = TokenAccount::new(from, to, 500).bytes();
//! assert_eq!((ACCOUNT.amount.offset, ACCOUNT.amount.get(&account)), (64, Some(500)));
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`kind`], [`wire`] | types of fields: as data, and as Rust types that are read and written |
//! | [`instruction`], [`role`], [`account`] | rows of instructions, roles of their accounts, rows of accounts |
//! | [`place`] | the fields of an account with their offsets, to be changed by text |
//! | `declare` | the notation of rows |
//! | [`system`], [`loader`], [`vote`], [`stake`], [`compute_budget`], [`lookup_table`], [`config`], [`zk_elgamal`], [`sysvar`], [`alpenglow`] | programs of the cluster, sysvars, accounts of the runtime |
//! | [`token`], [`associated_token`], [`memo`] | well-known programs |
//! | [`program`] | all programs, by their addresses |
//! | [`interface`] | accounts that describe programs |
//! | [`errors`] | the names of custom errors |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod account;
pub mod alpenglow;
pub mod associated_token;
pub mod compute_budget;
pub mod config;
mod declare;
pub mod errors;
pub mod instruction;
pub mod interface;
pub mod kind;
pub mod loader;
pub mod lookup_table;
pub mod memo;
pub mod place;
pub mod program;
mod reader;
pub mod role;
pub mod stake;
pub mod system;
pub mod sysvar;
pub mod token;
pub mod vote;
pub mod wire;
pub mod zk_elgamal;
