//! Converts between the versions of the `solana-*` crates that LiteSVM and Mollusk use, and those
//! that Selkie uses.
//!
//! The types are the same in all but their version: each function moves or copies one value,
//! without looking at it. `to_*` makes a value of Selkie's version, `from_*` one of the others'.
//!
//! ```
//! use selkie::{InstructionError, TransactionError};
//!
//! let error = TransactionError::InstructionError(1, InstructionError::Custom(6001));
//! let converted = selkie_convert::from_transaction_error(error);
//! assert_eq!(converted.to_string(), "Error processing Instruction 1: custom program error: 0x1771");
//! ```

mod account;
mod error;
mod transaction;

pub use crate::{
    account::{from_account, from_shared_account, to_account, to_shared_account},
    error::{from_instruction_error, from_transaction_error, to_instruction_error},
    transaction::{
        from_inner_instructions, from_instruction, to_instruction, to_message, to_transaction,
    },
};
