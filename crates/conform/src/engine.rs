//! The engines that run the programs of vectors.

use core::fmt;

use selkie_vm::{Config, Host, JitOptions, Machine, MachineCode, Outcome, Program, Trap, run};

use crate::{BadVector, Check};

/// The choice of engines that run the programs of vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The interpreter.
    Interpreter,
    /// The JIT.
    Jit,
    /// One after the other. Both must meet the expectations, and their complete end states must be
    /// equal.
    Both,
}

/// `Both`, where the JIT is supported.
impl Default for Engine {
    fn default() -> Self {
        if MachineCode::SUPPORTED { Self::Both } else { Self::Interpreter }
    }
}

impl Engine {
    /// Returns the chosen engines in order.
    pub(crate) fn each(self) -> &'static [SingleEngine] {
        match self {
            Self::Interpreter => &[SingleEngine::Interpreter],
            Self::Jit => &[SingleEngine::Jit],
            Self::Both => &[SingleEngine::Interpreter, SingleEngine::Jit],
        }
    }

    /// Returns the chosen engines in order, each with the runtime's own name for it. `Both` includes
    /// the JIT only where it is supported.
    pub(crate) fn each_of_runtime(
        self,
    ) -> impl Iterator<Item = (SingleEngine, selkie_svm::Engine)> {
        let engines = self.each().iter().map(|&engine| match engine {
            SingleEngine::Interpreter => (engine, selkie_svm::Engine::Interpreter),
            SingleEngine::Jit => (engine, selkie_svm::Engine::Jit),
        });
        engines.filter(move |(_, engine)| self != Self::Both || engine.resolve().is_ok())
    }

    /// Calls `run` with each engine, and compares the end states. `run` returns `None` if memory
    /// cannot be mapped.
    pub(crate) fn run_each(
        self,
        check: &mut Check,
        mut run: impl FnMut(&mut Check, SingleEngine) -> Result<Option<EndState>, BadVector>,
    ) -> Result<(), BadVector> {
        let mut first: Option<EndState> = None;
        for &engine in self.each() {
            check.set_prefix(engine.prefix());
            let Some(state) = run(check, engine)? else { continue };
            match &first {
                Some(first) => first.compare(check, &state),
                None => first = Some(state),
            }
        }
        Ok(())
    }
}

/// One engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SingleEngine {
    Interpreter,
    Jit,
}

impl SingleEngine {
    /// Returns the text put before the names of fields that differ.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Interpreter => "",
            Self::Jit => "jit: ",
        }
    }

    /// Runs a program.
    ///
    /// # Errors
    /// If the JIT is not supported on this host.
    pub(crate) fn run(
        self,
        program: &Program,
        config: &Config,
        machine: &mut Machine<'_>,
        host: &mut dyn Host,
    ) -> Result<Outcome, BadVector> {
        if self == Self::Interpreter {
            return Ok(run(program, machine, host));
        }
        // A fixed seed, so that verdicts do not depend on chance.
        let options = JitOptions { seed: Some(0x5e1c_1e00), ..JitOptions::default() };
        let code = MachineCode::compile(program, config, &options);
        Ok(code.map_err(BadVector::of)?.run(program, machine, &mut { host }))
    }
}

/// What `Debug` says of a trap: traps themselves cannot be compared.
#[derive(PartialEq, Eq)]
pub(crate) struct TrapText(String);

impl fmt::Debug for TrapText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The complete state at the end of a run.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct EndState {
    pub(crate) result: Result<u64, TrapText>,
    pub(crate) consumed: u64,
    pub(crate) remaining: u64,
    pub(crate) pc: u64,
    pub(crate) registers: [u64; 11],
    pub(crate) depth: u64,
    pub(crate) return_pcs: Vec<usize>,
    pub(crate) memory: Vec<Vec<u8>>,
}

impl EndState {
    /// Returns the state of a machine, without memory.
    pub(crate) fn new(machine: &Machine<'_>, result: &Result<u64, Trap>, consumed: u64) -> Self {
        Self {
            result: result.as_ref().copied().map_err(|trap| TrapText(format!("{trap:?}"))),
            consumed,
            remaining: machine.meter.remaining(),
            pc: machine.pc() as u64,
            registers: *machine.registers(),
            depth: machine.call_depth() as u64,
            return_pcs: machine.return_pcs().collect(),
            memory: Vec::new(),
        }
    }

    /// Records the differences of the JIT's end state from this one, the interpreter's.
    pub(crate) fn compare(&self, check: &mut Check, other: &Self) {
        let mut same = |field: &str, differ: bool, this: &dyn core::fmt::Debug, other| {
            if differ {
                let other: &dyn core::fmt::Debug = other;
                let this = format_args!("{this:?}, as the interpreter");
                check.differ(&format!("engines differ: {field}"), this, format_args!("{other:?}"));
            }
        };
        macro_rules! compare {
            ($($field:ident)*) => {
                $(same(
                    stringify!($field),
                    self.$field != other.$field,
                    &self.$field,
                    &other.$field,
                );)*
            };
        }
        compare!(result consumed remaining pc registers depth return_pcs);
        for (index, (this, other)) in self.memory.iter().zip(&other.memory).enumerate() {
            if let Some(at) = this.iter().zip(other).position(|(a, b)| a != b) {
                same(&format!("region {index} at {at:#x}"), true, &this[at], &other[at]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn state() -> EndState {
        EndState {
            result: Ok(1),
            consumed: 2,
            remaining: 3,
            pc: 4,
            registers: [5; 11],
            depth: 6,
            return_pcs: vec![7],
            memory: vec![vec![8, 9]],
        }
    }

    #[test]
    fn every_difference_between_engines_is_reported() {
        let others = [
            ("result", EndState { result: Err(TrapText("Trap".to_owned())), ..state() }),
            ("consumed", EndState { consumed: 0, ..state() }),
            ("remaining", EndState { remaining: 0, ..state() }),
            ("pc", EndState { pc: 0, ..state() }),
            ("registers", EndState { registers: [0; 11], ..state() }),
            ("depth", EndState { depth: 0, ..state() }),
            ("return_pcs", EndState { return_pcs: vec![], ..state() }),
            ("region 0 at 0x1", EndState { memory: vec![vec![8, 0]], ..state() }),
        ];
        for (field, other) in others {
            let mut check = Check::default();
            state().compare(&mut check, &other);
            let Ok(Verdict::Failed(differences)) = check.finish() else { panic!("{field}") };
            assert_eq!(differences.len(), 1);
            assert_eq!(differences[0].field, format!("engines differ: {field}"));
        }
        let mut check = Check::default();
        check.same("something", 0, 0);
        state().compare(&mut check, &state());
        assert_eq!(check.finish(), Ok(Verdict::Passed));
    }
}
