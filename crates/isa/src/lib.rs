//! The sBPF instruction set, stated once.
//!
//! [`table`] holds one row per instruction and sBPF version range. The decoder, the encoder, the
//! assembler's look-up, the disassembler's text, the verifier's classes, the interpreter's
//! dispatch and `docs/isa.md` are all derived from those rows: to add an opcode is to add a row,
//! and the compiler names the rest.
//!
//! | module | what it owns |
//! |---|---|
//! | [`table`] | the rows, and the `for_each_op!` macro that hands them out |
//! | [`op`] | [`Op`], [`Kind`] and the vocabulary of a row; the decode tables |
//! | [`eval`] | what each ALU operation and condition computes |
//! | [`insn`] | [`Slot`] and [`Insn`]: eight-byte words, both ways |
//! | [`syntax`] | operand shapes, mnemonic look-up, the text of an instruction |
//! | [`layout`] | the guest's address space and limits |
//! | [`shown`] | names as people are shown them |
//! | [`symbol`] | the hashes that stand for names in bytecode |
//! | [`syscalls`] | the names, arguments and summaries of the syscalls, one row each |

pub mod eval;
pub mod insn;
pub mod layout;
pub mod op;
pub mod shown;
pub mod symbol;
pub mod syntax;
pub mod syscalls;
pub mod table;

pub use crate::{
    insn::{Insn, Slot},
    op::{Alu, Cond, Endian, Field, Kind, Op, Operand, Size, Version, Versions, Width},
    syntax::{NoNames, Shape},
};
