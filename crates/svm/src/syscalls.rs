//! What programs can ask of the runtime.
//!
//! [`table`] has a row for each syscall; a family of them is a module here. The order in which a
//! syscall charges, checks and touches memory is part of the protocol: it decides the error, and
//! whether compute units are left.

mod cpi;
pub(crate) mod guest;
mod hash;
mod log;
mod memory;
mod misc;
pub(crate) mod pda;
mod return_data;
mod sysvar;
pub mod table;

use selkie_vm::{MemoryMap, Meter, SyscallError as Error};
use solana_instruction_error::InstructionError;

use self::guest::Guest;
pub use self::table::{
    Gate, SYSCALLS, Syscall, UNSUPPORTED, UNSUPPORTED_INACTIVE, explain_unknown,
};
use crate::context::InvokeContext;

/// A call of a syscall: everything that its handler works on.
pub(crate) struct Call<'c, 'e, 'm> {
    pub(crate) context: &'c mut InvokeContext<'e>,
    pub(crate) memory: Guest<'c, 'm>,
    pub(crate) meter: &'c mut Meter,
}

impl<'c, 'e, 'm> Call<'c, 'e, 'm> {
    pub(crate) fn new(
        context: &'c mut InvokeContext<'e>,
        memory: &'c mut MemoryMap<'m>,
        meter: &'c mut Meter,
    ) -> Self {
        let program = context.frame().program.as_ref();
        let aligned = program.is_none_or(|program| program.loader().checks_alignment());
        Self { context, memory: Guest { map: memory, aligned }, meter }
    }

    fn charge(&mut self, units: u64) -> Result<(), Error> {
        charge(self.meter, units)
    }
}

/// Takes compute units, or all that are left if they are not enough.
pub(crate) fn charge(meter: &mut Meter, units: u64) -> Result<(), Error> {
    meter.consume(units).map_err(|_| InstructionError::ComputationalBudgetExceeded.into())
}
