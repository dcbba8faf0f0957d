//! Machine code on the processors that have a back end.
//!
//! Each module uses only those above it in this list:
//!
//! | module | what it owns |
//! |---|---|
//! | `instruction_cache` | written code becomes visible to the processor |
//! | `buffer`, `single_buffer` | pages that are writable or executable, never both |
//! | `code_buffer` | code while it is written |
//! | `units` | the units that are compiled |
//! | `exits` | what machine code calls |
//! | `context` | what machine code and Rust share during a run |
//! | `shape` | what is the same for all units of a program |
//! | `writer` | the writer of a unit's code, as far as it is the same for all processors |
//! | `back_end` | operations as instructions of the processor, and the shared routines |
//! | `machine_code` | the machine code of a program, compiled unit by unit |
//! | `entry` | entering machine code; exits to the interpreter and to syscalls |
//! | `frozen` | machine code as bytes that can be stored |
//!
//! A back end is a folder of the name of its processor. Other modules use what its `mod.rs` exports,
//! and do not know which it is.

#[cfg(unix)]
mod buffer;
#[cfg(not(unix))]
mod single_buffer;
#[cfg(not(unix))]
use single_buffer as buffer;

mod code_buffer;
mod context;
mod exits;
mod instruction_cache;
mod memory_operation;
mod shape;
mod units;
mod writer;

#[cfg(target_arch = "aarch64")]
mod arm64;
#[cfg(target_arch = "aarch64")]
use arm64 as back_end;
#[cfg(target_arch = "x86_64")]
mod x64;
#[cfg(target_arch = "x86_64")]
use x64 as back_end;

mod machine_code;

mod entry;
mod frozen;

pub use self::machine_code::MachineCode;
