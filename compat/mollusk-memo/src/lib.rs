//! The API of Mollusk's memo program helpers on [Selkie](selkie).
//!
//! ```toml
//! [dev-dependencies]
//! mollusk-svm = { package = "selkie-mollusk", path = "../selkie/compat/mollusk" }
//! mollusk-svm-programs-memo = { package = "selkie-mollusk-memo", path = "../selkie/compat/mollusk-memo" }
//! ```
//!
//! ```
//! use selkie_mollusk::{Mollusk, result::Check};
//! use selkie_mollusk_memo::memo;
//! use solana_instruction::Instruction;
//!
//! let mut mollusk = Mollusk::default();
//! memo::add_program(&mut mollusk);
//! let hello = Instruction { program_id: memo::ID, accounts: vec![], data: b"hello".to_vec() };
//! mollusk.process_and_validate_instruction(&hello, &[], &[Check::success()]);
//! ```

pub mod memo;
pub mod memo_v1;
