//! Running instructions: the accounts they share, cross-program invocation, the input region,
//! syscalls, and one program's run on the virtual machine.

pub(crate) mod buffers;
pub mod builtin;
pub mod context;
pub(crate) mod cpi;
pub mod environment;
pub mod input;
pub mod instruction;
pub(crate) mod invocation;
pub(crate) mod invoke;
pub(crate) mod logs;
pub mod run;
pub mod stop;
pub mod syscalls;
pub mod transaction_accounts;
pub(crate) mod workspace;
