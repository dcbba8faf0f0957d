//! What programs can ask of the runtime.
//!
//! [`table`] has a row for each syscall; a family of them is a module here. The order in which a
//! syscall charges, checks and touches memory is part of the protocol: it decides the error, and
//! whether compute units are left.

mod big_mod_exp;
mod bn254;
mod cpi;
mod curve;
pub mod custom;
pub(crate) mod guest;
mod hash;
mod log;
mod memory;
mod misc;
pub(crate) mod pda;
mod poseidon;
mod return_data;
mod secp256k1;
mod sysvar;
pub mod table;

use selkie_vm::{MemoryMap, Meter, SyscallError as Error};
use solana_instruction_error::InstructionError;

use self::guest::Guest;
pub use self::table::{Gate, SYSCALLS, Syscall, UNSUPPORTED, explain_unknown};
use crate::runtime::context::InvokeContext;

/// What is in r0 after cryptography that its input was wrong for.
const FAILED: u64 = 1;

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

    /// Writes what was computed, or says in r0 that there is nothing to compute.
    fn answer(&mut self, out: u64, result: Option<&[u8]>) -> Result<u64, Error> {
        let Some(bytes) = result else { return Ok(FAILED) };
        self.memory.check_output(self.context, out, bytes.len() as u64)?;
        self.memory.write(out, bytes)?;
        Ok(0)
    }
}

/// Takes compute units, or all that are left if they are not enough.
pub(crate) fn charge(meter: &mut Meter, units: u64) -> Result<(), Error> {
    meter.consume(units).map_err(|_| InstructionError::ComputationalBudgetExceeded.into())
}
