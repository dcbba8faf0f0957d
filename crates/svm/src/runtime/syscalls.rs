//! The handlers of syscalls.
//!
//! `table` assigns a handler to each row of the protocol's table; a family of handlers is a module
//! here. The order in which a syscall charges, checks and accesses memory is part of the protocol: it
//! decides the error, and how many compute units remain.

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
mod table;

use selkie_protocol::features::Feature;
pub use selkie_protocol::syscalls::{Gate, SYSCALLS, Syscall, find, find_hash, names};
use selkie_vm::{MemoryMap, Meter, SyscallError as Error};
use solana_instruction_error::InstructionError;

use self::guest::Guest;
pub(crate) use self::table::run;
use crate::runtime::context::InvokeContext;

/// r0 after cryptography on invalid input.
const FAILED: u64 = 1;

/// A call of a syscall: what its handler works on.
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

    fn charge(&mut self, compute_units: u64) -> Result<(), Error> {
        charge(self.meter, compute_units)
    }

    /// Writes the result of a computation; r0 is 1 if there is none.
    fn write_result(&mut self, out: u64, result: Option<&[u8]>) -> Result<u64, Error> {
        let Some(bytes) = result else { return Ok(FAILED) };
        self.memory.check_output(self.context, out, bytes.len() as u64)?;
        self.memory.write(out, bytes)?;
        Ok(0)
    }
}

/// Consumes compute units.
///
/// # Errors
/// If fewer remain; they are consumed then.
pub(crate) fn charge(meter: &mut Meter, compute_units: u64) -> Result<(), Error> {
    meter.consume(compute_units).map_err(|_| InstructionError::ComputationalBudgetExceeded.into())
}

/// Explains a call of the syscall whose name hashes to `key`, which the program's environment does not
/// have: why it does not, in a sentence. `None` if there is no such syscall.
#[must_use]
pub fn explain_unknown(key: u32) -> Option<String> {
    let Syscall { name, gate, .. } = find_hash(key)?;
    let switched = |feature: Feature, way: &str| {
        let address = feature.address();
        format!("syscall `{name}` is not there: feature {feature:?} ({address}) is switched {way}")
    };
    Some(match gate {
        Gate::Feature(feature) => switched(*feature, "off"),
        Gate::Without(feature) => switched(*feature, "on"),
        Gate::Always | Gate::ExecutionOnlyWith(_) => {
            format!("syscall `{name}` is not part of the environment of this program")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_a_syscall_that_the_environment_lacks_is_explained() {
        let explain = |name: &str| explain_unknown(selkie_isa::symbol::murmur3(name.as_bytes()));
        assert_eq!(explain("sol_nonsense"), None);
        let text = explain("sol_get_fees_sysvar").unwrap();
        assert!(
            text.ends_with("(JAN1trEUEtZjgXYzNBYHU9DYd7GnThhXfFP7SzPXkPsG) is switched on"),
            "{text}"
        );
        let text = explain("sol_alloc_free_").unwrap();
        assert!(text.ends_with("is not part of the environment of this program"), "{text}");
        assert!(
            explain("sol_blake3")
                .unwrap()
                .contains("feature Blake3 (HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3)")
        );
    }
}
