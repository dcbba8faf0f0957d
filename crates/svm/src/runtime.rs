//! Running instructions: the accounts they share, cross-program invocation, the input region,
//! syscalls, and one program's run on the virtual machine.

pub(crate) mod buffers;
pub mod context;
pub(crate) mod host;
pub mod input;
pub mod instruction;
pub(crate) mod instruction_context;
pub(crate) mod instructions_sysvar;
pub(crate) mod invocation;
pub(crate) mod invoke;
pub(crate) mod logs;
pub(crate) mod observed;
pub(crate) mod on_curve;
pub(crate) mod run;
pub mod stop;
pub mod syscalls;
pub mod transaction_accounts;
