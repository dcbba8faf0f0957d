//! What runs programs, and when a program is compiled.
//!
//! The interpreter is the reference; machine code makes programs faster and changes nothing else.
//! A run that is observed is interpreted, since only the interpreter has something to show after
//! each instruction.
//!
//! **The rule of [`Engine::Auto`].** Compiling costs time in proportion to the code that is executed
//! at all, interpreting in proportion to how often that is. So a program starts on the interpreter,
//! the units that it uses there are counted, and it is compiled before the first run that finds more
//! of them than compiling costs: `UNITS_TO_COMPILE`, and `UNITS_TO_COMPILE_SLOT` for each slot, of
//! which few runs execute more than `SLOTS_COMPILED`. Then compiling has at most about doubled what
//! the program has cost so far. Besides, a budget that no
//! transaction can have says that a tool expects a long run, and the program is compiled at once.
//!
//! Machine code is made once and kept with its program. That it depends on nothing else is an
//! invariant: a program runs on machines of one `config`. It is hardened, as programs may be
//! hostile; what that strews in is random, but what the code does is not.

use core::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::sync::OnceLock;

use selkie_vm::{Config, JitError, JitOptions, MachineCode, MemoryCalls, SyscallId, Verified};

use crate::{
    chain::cost::{BYTES_PER_UNIT, MEM_OP_BASE, TRANSACTION_UNITS_MAX},
    programs::bindings::Bound,
};

/// What runs programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Engine {
    /// The interpreter, and machine code for programs that are worth compiling, where this host can
    /// run it.
    #[default]
    Auto,
    /// The interpreter: the reference.
    Interpreter,
    /// The compiler to machine code.
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
    /// What this host makes of the wish for an engine: where the compiler has no back end,
    /// [`Engine::Auto`] is the interpreter.
    ///
    /// # Errors
    /// If it cannot be had on this host.
    pub fn resolve(self) -> Result<Self, EngineError> {
        match self {
            Self::Auto if !MachineCode::SUPPORTED => Ok(Self::Interpreter),
            Self::Jit if !MachineCode::SUPPORTED => Err(EngineError::new(&JitError::NoBackEnd)),
            Self::Auto | Self::Interpreter | Self::Jit => Ok(self),
        }
    }
}

/// The engine that was asked for cannot be had.
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

/// The configuration of machines. Accounts that have regions of their own (SIMD-0460) share the
/// window of the input, and there are no gaps between stack frames.
pub(crate) fn config(has_account_regions: bool) -> Config {
    Config {
        aligned_memory: !has_account_regions,
        stack_frame_gaps: !has_account_regions,
        ..Config::default()
    }
}

/// How programs are compiled: syscalls on memory need no host.
pub(crate) fn options(memory_calls: MemoryCalls) -> JitOptions {
    JitOptions { memory_calls, ..JitOptions::default() }
}

/// Which of a program's syscalls are those on memory, if they are the table's.
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
        // As long as they cost no more than the least (`cost::mem_op`).
        bytes_max: u16::try_from((MEM_OP_BASE + 1) * BYTES_PER_UNIT - 1).expect("it is small"),
    }
}

/// What compiling the shortest program costs, in instructions interpreted: memory is mapped.
const UNITS_TO_COMPILE: u64 = 10_000;

/// What each slot of a program adds to that: some 50 ns, where an instruction takes one.
const UNITS_TO_COMPILE_SLOT: u64 = 50;

/// As many as a transfer by a large program executes, with what is compiled along with them.
const SLOTS_COMPILED: u64 = 4_000;

/// A program's machine code, once it is worth it.
#[derive(Default, Debug)]
pub(crate) struct Compiled {
    /// What machines it is compiled for.
    pub(crate) has_account_regions: bool,
    /// What machine code does without the host.
    pub(crate) memory_calls: MemoryCalls,
    code: OnceLock<Result<MachineCode, JitError>>,
    /// Units that the program used on the interpreter.
    units_interpreted: AtomicU64,
    /// Whether some run set out to compile the program, so that others need not wait for it.
    is_claimed: AtomicBool,
}

/// What a run is done with.
#[derive(Debug)]
pub(crate) enum Plan<'p> {
    Interpret,
    Run(&'p MachineCode),
    /// The interpreter too: there is no machine code, and this run is the first to find out.
    FallBack(&'p JitError),
}

impl Compiled {
    /// Nothing yet, for machines where accounts have regions of their own, or have not.
    pub(crate) fn new(has_account_regions: bool, memory_calls: MemoryCalls) -> Self {
        Self { has_account_regions, memory_calls, ..Self::default() }
    }

    /// The same with machine code that is there already.
    pub(crate) fn with(self, code: MachineCode) -> Self {
        Self { code: OnceLock::from(Ok(code)), ..self }
    }

    /// The machine code, if there is any yet.
    pub(crate) fn code(&self) -> Option<&MachineCode> {
        self.code.get()?.as_ref().ok()
    }

    /// What a run with a budget of `units` is done with.
    ///
    /// # Errors
    /// If there is no machine code though nothing else will do.
    pub(crate) fn plan(
        &self,
        engine: Engine,
        program: &Verified,
        units: u64,
    ) -> Result<Plan<'_>, EngineError> {
        match engine {
            Engine::Interpreter => Ok(Plan::Interpret),
            Engine::Jit => match self.compile(program) {
                Ok(code) => Ok(Plan::Run(code)),
                Err(why) => Err(EngineError::new(why)),
            },
            Engine::Auto => Ok(self.weigh(program, units)),
        }
    }

    fn weigh(&self, program: &Verified, units: u64) -> Plan<'_> {
        match self.code.get() {
            Some(Ok(code)) => return Plan::Run(code),
            Some(Err(_)) => return Plan::Interpret,
            None => {}
        }
        let is_worth_it = units > TRANSACTION_UNITS_MAX
            || self.units_interpreted.load(Ordering::Relaxed) > units_to_compile(program);
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
                MachineCode::compile(program, &config, &options(self.memory_calls))
            } else {
                Err(JitError::NoBackEnd)
            }
        };
        self.code.get_or_init(compile).as_ref()
    }

    /// Compiles all that is not compiled yet.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub(crate) fn complete(&self, program: &Verified) -> Result<(), EngineError> {
        let code = self.compile(program).map_err(EngineError::new)?;
        code.complete(program).map_err(|why| EngineError::new(&why))
    }

    /// Bytes that machine code takes by now.
    pub(crate) fn code_bytes(&self) -> usize {
        self.code().map_or(0, MachineCode::memory_bytes)
    }

    /// Counts what a run on the interpreter used.
    pub(crate) fn count(&self, units: u64) {
        // A syscall can take a budget of any size at once. The bound keeps the sum from wrapping.
        let units = units.min(u32::MAX.into());
        self.units_interpreted.fetch_add(units, Ordering::Relaxed);
    }
}

fn units_to_compile(program: &Verified) -> u64 {
    let slots = program.executable().text().len() / selkie_isa::layout::SLOT_BYTES;
    let slots = SLOTS_COMPILED.min(slots as u64);
    UNITS_TO_COMPILE_SLOT.saturating_mul(slots).saturating_add(UNITS_TO_COMPILE)
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
    fn programs_are_compiled_when_they_have_used_what_it_costs() {
        let program = program(100);
        let compiled = Compiled::default();
        let plan = || compiled.plan(Engine::Auto, &program, TRANSACTION_UNITS_MAX).unwrap();
        compiled.count(15_000);
        assert!(matches!(plan(), Plan::Interpret));
        compiled.count(1);
        assert_eq!(matches!(plan(), Plan::Run(_)), MachineCode::SUPPORTED);
        assert_eq!(matches!(plan(), Plan::Run(_)), MachineCode::SUPPORTED);
    }

    #[test]
    fn budgets_of_tools_are_worth_compiling() {
        let plan = Compiled::default();
        let plan = plan.plan(Engine::Auto, &program(1), TRANSACTION_UNITS_MAX + 1).unwrap();
        assert_eq!(matches!(plan, Plan::Run(_)), MachineCode::SUPPORTED);
    }

    #[test]
    fn others_do_not_wait_for_who_compiles() {
        let compiled = Compiled { is_claimed: true.into(), ..Compiled::default() };
        let plan = compiled.plan(Engine::Auto, &program(1), u64::MAX).unwrap();
        assert!(matches!(plan, Plan::Interpret));
    }

    #[test]
    fn without_machine_code_the_first_run_says_why() {
        let compiled = Compiled { code: Err(JitError::NoBackEnd).into(), ..Compiled::default() };
        let program = program(1);
        let plan = compiled.plan(Engine::Auto, &program, u64::MAX).unwrap();
        assert!(matches!(plan, Plan::Interpret), "an earlier run found out");
        let error = compiled.plan(Engine::Jit, &program, u64::MAX).unwrap_err();
        let text = "engine `jit` cannot run programs here: the JIT has no back end for this host";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn threads_can_share_programs() {
        fn check<T: Send + Sync>() {}
        check::<crate::Program>();
    }

    #[test]
    fn counts_do_not_wrap() {
        let mut compiled = Compiled::default();
        compiled.count(u64::MAX);
        compiled.count(u64::MAX);
        assert!(*compiled.units_interpreted.get_mut() > 1 << 32);
    }
}
