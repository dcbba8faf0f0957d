//! Cases as Firedancer's fixtures in protobuf (`.fix`): transactions and single instructions.

mod account;
mod difference;
mod error;
mod harness;
mod instruction;
mod later_rules;
mod transaction;

pub use self::{
    difference::Difference,
    error::Inexpressible,
    harness::{environment, features},
    instruction::{instruction_case, instruction_differences, instruction_fixture},
    transaction::{later_rule, transaction_case, transaction_differences, transaction_fixture},
};
