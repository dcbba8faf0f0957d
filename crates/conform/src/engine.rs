//! What runs the programs of vectors.

use selkie_vm::{Config, Host, JitOptions, Machine, MachineCode, Outcome, Program, Trap, run};

use crate::{BadVector, Check};

/// What runs the programs of vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The interpreter.
    Interpreter,
    /// Machine code.
    Jit,
    /// Each of them. Verdicts must hold for both, and they must not differ in anything else.
    Both,
}

/// Both, where there is machine code.
impl Default for Engine {
    fn default() -> Self {
        if MachineCode::SUPPORTED { Self::Both } else { Self::Interpreter }
    }
}

impl Engine {
    /// The ways to run a program that this asks for, one after the other.
    pub(crate) fn ways(self) -> &'static [Way] {
        match self {
            Self::Interpreter => &[Way::Interpreter],
            Self::Jit => &[Way::Jit],
            Self::Both => &[Way::Interpreter, Way::Jit],
        }
    }
}

impl Engine {
    /// Runs a program each way, and compares what the ways leave. Where memory cannot be mapped,
    /// a run leaves nothing.
    pub(crate) fn run_each(
        self,
        check: &mut Check,
        mut run: impl FnMut(&mut Check, Way) -> Result<Option<Left>, BadVector>,
    ) -> Result<(), BadVector> {
        let mut first: Option<Left> = None;
        for &way in self.ways() {
            check.prefix(way.prefix());
            let Some(left) = run(check, way)? else { continue };
            match &first {
                Some(first) => first.compare(check, &left),
                None => first = Some(left),
            }
        }
        Ok(())
    }
}

/// One way to run a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Interpreter,
    Jit,
}

impl Way {
    /// What stands before the names of fields that differ.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Interpreter => "",
            Self::Jit => "jit: ",
        }
    }

    /// Runs a program.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub(crate) fn run(
        self,
        program: &Program,
        config: &Config,
        machine: &mut Machine<'_>,
        host: &mut dyn Host,
    ) -> Result<Outcome, String> {
        if self == Self::Interpreter {
            return Ok(run(program, machine, host));
        }
        // A verdict must not depend on chance.
        let options = JitOptions { seed: Some(0x5e1c_1e00), ..JitOptions::default() };
        let code = MachineCode::compile(program, config, &options);
        Ok(code.map_err(|error| error.to_string())?.run(program, machine, &mut { host }))
    }
}

/// All that a run leaves behind.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) result: Result<u64, String>,
    pub(crate) consumed: u64,
    pub(crate) remaining: u64,
    pub(crate) pc: u64,
    pub(crate) registers: [u64; 11],
    pub(crate) depth: u64,
    pub(crate) return_pcs: Vec<usize>,
    pub(crate) memory: Vec<Vec<u8>>,
}

impl Left {
    /// What a machine shows; memory is still to come.
    pub(crate) fn new(machine: &Machine<'_>, result: &Result<u64, Trap>, consumed: u64) -> Self {
        Self {
            result: result.as_ref().copied().map_err(|trap| format!("{trap:?}")),
            consumed,
            remaining: machine.meter.remaining(),
            pc: machine.pc() as u64,
            registers: *machine.registers(),
            depth: machine.call_depth() as u64,
            return_pcs: machine.return_pcs().collect(),
            memory: Vec::new(),
        }
    }

    /// Notes in what a later run, by another engine, differs from this one.
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

    fn left() -> Left {
        Left {
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
    fn whatever_engines_differ_in_is_told() {
        let others = [
            ("result", Left { result: Err("Trap".to_owned()), ..left() }),
            ("consumed", Left { consumed: 0, ..left() }),
            ("remaining", Left { remaining: 0, ..left() }),
            ("pc", Left { pc: 0, ..left() }),
            ("registers", Left { registers: [0; 11], ..left() }),
            ("depth", Left { depth: 0, ..left() }),
            ("return_pcs", Left { return_pcs: vec![], ..left() }),
            ("region 0 at 0x1", Left { memory: vec![vec![8, 0]], ..left() }),
        ];
        for (field, other) in others {
            let mut check = Check::default();
            left().compare(&mut check, &other);
            let Ok(Verdict::Failed(differences)) = check.finish() else { panic!("{field}") };
            assert_eq!(differences.len(), 1);
            assert_eq!(differences[0].field, format!("engines differ: {field}"));
        }
        let mut check = Check::default();
        check.same("something", 0, 0);
        left().compare(&mut check, &left());
        assert_eq!(check.finish(), Ok(Verdict::Passed));
    }
}
