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
mod bytes;
mod error;
mod transaction;

#[cfg(not(feature = "sdk-2"))]
pub use solana_address::Address;
#[cfg(feature = "sdk-2")]
pub use solana_instruction::error::InstructionError;
#[cfg(not(feature = "sdk-2"))]
pub use solana_instruction_error::InstructionError;
#[cfg(feature = "sdk-2")]
pub use solana_pubkey::Pubkey as Address;

pub use crate::{
    account::{from_account, from_shared_account, to_account, to_shared_account},
    bytes::{from_address, from_hash, from_signature, to_address, to_hash, to_signature},
    error::{from_instruction_error, from_transaction_error, to_instruction_error},
    transaction::{
        from_inner_instructions, from_instruction, to_instruction, to_message, to_transaction,
    },
};
