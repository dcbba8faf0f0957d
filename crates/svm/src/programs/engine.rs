//! The engines that run programs, and the decision when to compile a program.
//!
//! The interpreter is the reference; machine code has the same results, faster. Runs with an observer
//! are interpreted, since only the interpreter can report each instruction.
//!
//! **The rule of [`Engine::Auto`].** The time to compile is proportional to the code that is executed at
//! all, the time to interpret to the number of executed instructions. So a program starts on the
//! interpreter, which counts the compute units that it uses. It is compiled before the first run after
//! the count exceeds the cost of compiling: `COMPILE_COST`, plus `SLOT_COMPILE_COST` for each
//! slot up to `SLOTS_COMPILED`, more than which few runs execute. Compiling thus at most about doubles
//! what the program has cost so far. With a compute unit limit above that of any transaction, a tool
//! expects a long run, and the program is compiled at once.
//!
//! Machine code is compiled once and kept with its program. Invariant: it depends on nothing but the
//! program and its one `config`. It is hardened against hostile programs; the hardening is random, but
//! does not affect results.

use core::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::sync::{Arc, OnceLock};

use selkie_vm::{
    BranchCounters, Config, JitError, JitOptions, MachineCode, MemoryCalls, SyscallId, Verified,
};

use crate::{
    chain::cost::{BYTES_PER_COMPUTE_UNIT, MEM_OP_BASE, TRANSACTION_COMPUTE_UNITS_MAX},
    programs::bindings::Bound,
};

/// The way of running programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Engine {
    /// The interpreter, and the JIT for programs that are worth compiling, if this host supports it.
    #[default]
    Auto,
    /// The interpreter, which is the reference.
    Interpreter,
    /// The JIT compiler.
    Jit,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Interpreter => "interpreter",
            Self::Jit => "jit",
        })
    }
}

impl Engine {
    /// Returns the engine that this host uses: where the JIT has no back end, [`Engine::Auto`] is the
    /// interpreter.
    ///
    /// # Errors
    /// If this host does not support the engine.
    pub fn resolve(self) -> Result<Self, EngineError> {
        match self {
            Self::Auto if !MachineCode::SUPPORTED => Ok(Self::Interpreter),
            Self::Jit if !MachineCode::SUPPORTED => Err(EngineError::new(&JitError::NoBackEnd)),
            Self::Auto | Self::Interpreter | Self::Jit => Ok(self),
        }
    }
}

/// The error of an engine that this host does not support.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineError(String);

impl EngineError {
    pub(crate) fn new(why: &JitError) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine `{}` cannot run programs here: {}", Engine::Jit, self.0)
    }
}

impl core::error::Error for EngineError {}

/// Returns the configuration of machines. If each account's data are a region (SIMD-0460), these regions
/// share the window of the input, and there are no gaps between stack frames.
pub(crate) fn config(has_account_regions: bool) -> Config {
    Config {
        aligned_memory: !has_account_regions,
        stack_frame_gaps: !has_account_regions,
        ..Config::default()
    }
}

/// Returns the options of the JIT: machine code performs memory syscalls without calling the host.
pub(crate) fn options(memory_calls: MemoryCalls) -> JitOptions {
    JitOptions { memory_calls, ..JitOptions::default() }
}

/// Returns the options for a program whose branches are counted.
fn counted(memory_calls: MemoryCalls, counters: Option<Arc<BranchCounters>>) -> JitOptions {
    JitOptions { counters, ..options(memory_calls) }
}

/// Returns the ids of a program's memory syscalls, unless custom syscalls replace them.
pub(crate) fn memory_calls(syscalls: &[Bound]) -> MemoryCalls {
    let find = |name: &str| {
        let is_it = |bound: &Bound| matches!(bound, Bound::Row(row) if row.name == name);
        u16::try_from(syscalls.iter().position(is_it)?).ok().map(SyscallId)
    };
    MemoryCalls {
        copy: find("sol_memcpy_"),
        r#move: find("sol_memmove_"),
        set: find("sol_memset_"),
        compare: find("sol_memcmp_"),
        compute_units: u8::try_from(MEM_OP_BASE).expect("it is small"),
        // The most bytes at the minimum cost (`cost::mem_op`).
        bytes_max: u16::try_from((MEM_OP_BASE + 1) * BYTES_PER_COMPUTE_UNIT - 1)
            .expect("it is small"),
    }
}

/// The cost of compiling the shortest program, in interpreted instructions: mapping memory.
const COMPILE_COST: u64 = 10_000;

/// The additional cost of each slot: about 50 ns, where an interpreted instruction takes 1 ns.
const SLOT_COMPILE_COST: u64 = 50;

/// The number of slots that a transfer by a large program causes to be compiled.
const SLOTS_COMPILED: u64 = 4_000;

/// A program's machine code, once it was worth compiling.
#[derive(Default, Debug)]
pub(crate) struct Compiled {
    /// The machines that it is compiled for: see [`config`].
    pub(crate) has_account_regions: bool,
    /// The memory syscalls that machine code performs itself.
    pub(crate) memory_calls: MemoryCalls,
    /// The counters of the program's branches, if they are counted.
    pub(crate) counters: Option<Arc<BranchCounters>>,
    code: OnceLock<Result<MachineCode, JitError>>,
    /// The compute units that the program has used on the interpreter.
    compute_units_interpreted: AtomicU64,
    /// Whether a run has begun to compile the program. Other runs do not wait for it.
    is_claimed: AtomicBool,
}

/// The engine of one run.
#[derive(Debug)]
pub(crate) enum Plan<'p> {
    Interpret,
    Run(&'p MachineCode),
    /// The interpreter, under observation; machine code runs what the observer skips.
    Observe(Option<&'p MachineCode>),
    /// The interpreter, because compiling has just failed.
    FallBack(&'p JitError),
}

impl Compiled {
    /// Creates a program that is not compiled yet.
    pub(crate) fn new(has_account_regions: bool, memory_calls: MemoryCalls) -> Self {
        Self { has_account_regions, memory_calls, ..Self::default() }
    }

    /// Adds machine code from a store.
    pub(crate) fn with(self, code: MachineCode) -> Self {
        Self { code: OnceLock::from(Ok(code)), ..self }
    }

    /// Returns the machine code, if the program was compiled.
    pub(crate) fn code(&self) -> Option<&MachineCode> {
        self.code.get()?.as_ref().ok()
    }

    /// Returns the engine of a run with `compute_units` remaining, and compiles the program if necessary.
    ///
    /// # Errors
    /// If the engine is [`Engine::Jit`] and this host does not support it.
    pub(crate) fn plan(
        &self,
        engine: Engine,
        program: &Verified,
        compute_units: u64,
    ) -> Result<Plan<'_>, EngineError> {
        match engine {
            Engine::Interpreter => Ok(Plan::Interpret),
            Engine::Jit => match self.compile(program) {
                Ok(code) => Ok(Plan::Run(code)),
                Err(why) => Err(EngineError::new(why)),
            },
            Engine::Auto => Ok(self.plan_auto(program, compute_units)),
        }
    }

    fn plan_auto(&self, program: &Verified, compute_units: u64) -> Plan<'_> {
        match self.code.get() {
            Some(Ok(code)) => return Plan::Run(code),
            Some(Err(_)) => return Plan::Interpret,
            None => {}
        }
        let is_worth_it = self.counters.is_some()
            || compute_units > TRANSACTION_COMPUTE_UNITS_MAX
            || self.compute_units_interpreted.load(Ordering::Relaxed) > compile_cost(program);
        if !is_worth_it || self.is_claimed.swap(true, Ordering::Relaxed) {
            return Plan::Interpret;
        }
        match self.compile(program) {
            Ok(code) => Plan::Run(code),
            Err(why) => Plan::FallBack(why),
        }
    }

    fn compile(&self, program: &Verified) -> Result<&MachineCode, &JitError> {
        let compile = || {
            if MachineCode::SUPPORTED {
                let config = config(self.has_account_regions);
                let options = counted(self.memory_calls, self.counters.clone());
                MachineCode::compile(program, &config, &options)
            } else {
                Err(JitError::NoBackEnd)
            }
        };
        self.code.get_or_init(compile).as_ref()
    }

    /// Compiles all compilation units that are not compiled yet.
    ///
    /// # Errors
    /// If this host does not support the JIT.
    pub(crate) fn complete(&self, program: &Verified) -> Result<(), EngineError> {
        let code = self.compile(program).map_err(EngineError::new)?;
        code.complete(program).map_err(|why| EngineError::new(&why))
    }

    /// Returns the memory that machine code uses so far, in bytes.
    pub(crate) fn code_bytes(&self) -> usize {
        self.code().map_or(0, MachineCode::memory_bytes)
    }

    /// Adds the compute units of a run on the interpreter.
    pub(crate) fn count(&self, compute_units: u64) {
        // One syscall can consume a limit of any size. The bound keeps the sum from wrapping.
        let compute_units = compute_units.min(u32::MAX.into());
        self.compute_units_interpreted.fetch_add(compute_units, Ordering::Relaxed);
    }
}

fn compile_cost(program: &Verified) -> u64 {
    let slots = program.executable().text().len() / selkie_isa::layout::SLOT_BYTES;
    let slots = SLOTS_COMPILED.min(slots as u64);
    SLOT_COMPILE_COST.saturating_mul(slots).saturating_add(COMPILE_COST)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selkie_elf::{Executable, Functions};
    use selkie_isa::Version;

    use super::*;

    /// `exit`, many times.
    fn program(slots: usize) -> Verified {
        let text = [0x95, 0, 0, 0, 0, 0, 0, 0].repeat(slots);
        let executable =
            Executable::from_text(Version::V0, text, 0, Functions::default(), Arc::default());
        Verified::new(executable.unwrap()).unwrap()
    }

    #[test]
    fn programs_are_compiled_after_interpreting_has_cost_as_much_as_compiling() {
        let program = program(100);
        let compiled = Compiled::default();
        let plan = || compiled.plan(Engine::Auto, &program, TRANSACTION_COMPUTE_UNITS_MAX).unwrap();
        compiled.count(15_000);
        assert!(matches!(plan(), Plan::Interpret));
        compiled.count(1);
        assert_eq!(matches!(plan(), Plan::Run(_)), MachineCode::SUPPORTED);
        assert_eq!(matches!(plan(), Plan::Run(_)), MachineCode::SUPPORTED);
    }

    #[test]
    fn a_limit_above_that_of_transactions_compiles_at_once() {
        let plan = Compiled::default();
        let plan = plan.plan(Engine::Auto, &program(1), TRANSACTION_COMPUTE_UNITS_MAX + 1).unwrap();
        assert_eq!(matches!(plan, Plan::Run(_)), MachineCode::SUPPORTED);
    }

    #[test]
    fn other_runs_are_interpreted_while_one_compiles() {
        let compiled = Compiled { is_claimed: true.into(), ..Compiled::default() };
        let plan = compiled.plan(Engine::Auto, &program(1), u64::MAX).unwrap();
        assert!(matches!(plan, Plan::Interpret));
    }

    #[test]
    fn without_a_back_end_auto_interprets_and_jit_fails() {
        let compiled = Compiled { code: Err(JitError::NoBackEnd).into(), ..Compiled::default() };
        let program = program(1);
        let plan = compiled.plan(Engine::Auto, &program, u64::MAX).unwrap();
        assert!(matches!(plan, Plan::Interpret), "an earlier run reported the error");
        let error = compiled.plan(Engine::Jit, &program, u64::MAX).unwrap_err();
        let text = "engine `jit` cannot run programs here: the JIT has no back end for this host";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn programs_are_send_and_sync() {
        fn check<T: Send + Sync>() {}
        check::<crate::Program>();
    }

    #[test]
    fn interpreted_units_do_not_wrap() {
        let mut compiled = Compiled::default();
        compiled.count(u64::MAX);
        compiled.count(u64::MAX);
        assert!(*compiled.compute_units_interpreted.get_mut() > 1 << 32);
    }
}
