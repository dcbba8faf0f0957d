//! Results of instructions, and checks of them.

mod account_check;
pub mod check;
pub mod compare;
pub mod config;
pub mod types;

#[cfg(feature = "until-0-15")]
pub use crate::result::config::CheckContext;
#[cfg(not(feature = "until-0-15"))]
pub(crate) use crate::result::config::fail;
#[cfg(feature = "cpi-compute-units")]
pub use crate::result::types::CpiComputeUnits;
#[cfg(feature = "inner-instructions")]
pub use crate::result::types::InnerInstruction;
pub use crate::result::{
    check::{AccountCheckBuilder, Check},
    compare::Compare,
    config::Config,
    types::{InstructionResult, ProgramResult, TransactionProgramResult, TransactionResult},
};
