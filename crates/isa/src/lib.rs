//! The sBPF instruction set, declared once.
//!
//! [`table`] has one row per instruction and sBPF version range. The decoder, the encoder, the
//! assembler's look-up, the disassembler's text, the verifier's classes, the interpreter's
//! dispatch and `docs/isa.md` are all derived from these rows. To add an opcode, add a row; the
//! compiler then points at every `match` that needs an arm.
//!
//! | module | what it owns |
//! |---|---|
//! | [`table`] | the instruction table, as the macro `for_each_op!` |
//! | [`op`] | [`Op`], [`Kind`] and the other types of a row; the decode tables |
//! | [`eval`] | what each ALU operation and condition computes |
//! | [`insn`] | [`Slot`] and [`Insn`]: decoding and encoding of eight-byte words |
//! | [`syntax`] | operand shapes, mnemonic look-up, disassembly |
//! | [`layout`] | the guest address space, limits of the stack and heap |
//! | [`failure`] | what could not be done, why, and what to do about it |
//! | [`suggest`] | suggestions for misspelt names |
//! | [`truncate`] | truncation of long names in messages |
//! | [`symbol`] | the hashes by which bytecode refers to names |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod eval;
pub mod failure;
pub mod input;
pub mod insn;
pub mod layout;
pub mod op;
pub mod plain;
pub mod plural;
pub mod suggest;
pub mod symbol;
pub mod syntax;
pub mod table;
pub mod truncate;

pub use crate::{
    insn::{Insn, Slot},
    op::{Alu, Cond, Endian, Field, Kind, Op, Operand, Size, Version, Versions, Width},
    syntax::{NoNames, Shape},
};
