//! Syscalls may read and change the meter, write to memory, fail, panic, and run programs.

use core::{fmt, ops::ControlFlow};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, SyscallId, Syscalls};
use selkie_isa::{
    Version,
    layout::{HEAP_START, STACK_START},
};
use selkie_vm::{
    Access, Config, Host, Interrupted, JitOptions, Machine, MachineCode, MemoryMap, Meter,
    Observer, Outcome, Program, Region, SyscallError, Trap, Violation, observe, run,
};

/// An error of the host.
#[derive(Debug, PartialEq)]
struct Refused(u64);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused {}", self.0)
    }
}

impl core::error::Error for Refused {}

type Engine = fn(&Program, &mut Machine<'_>, &mut dyn Host) -> Outcome;

/// Returns all engines of this host.
fn engines() -> Vec<Engine> {
    let mut engines: Vec<Engine> =
        vec![run, |program, machine, host| observe(program, machine, host, &mut ())];
    if MachineCode::SUPPORTED {
        engines.extend([hardened as Engine, plain]);
    }
    engines
}

fn hardened(program: &Program, machine: &mut Machine<'_>, host: &mut dyn Host) -> Outcome {
    compiled(program, machine, host, &JitOptions { seed: Some(7), ..JitOptions::default() })
}

fn plain(program: &Program, machine: &mut Machine<'_>, host: &mut dyn Host) -> Outcome {
    compiled(program, machine, host, &JitOptions::plain())
}

fn compiled(
    program: &Program,
    machine: &mut Machine<'_>,
    mut host: &mut dyn Host,
    options: &JitOptions,
) -> Outcome {
    let code = MachineCode::compile(program, &Config::default(), options).unwrap();
    assert!(code.fits(machine), "the interpreter must not run what is to be compiled");
    code.run(program, machine, &mut host)
}

/// A host that records the compute units left at each syscall. Its syscall `nest` runs a program.
struct TestHost {
    engine: Engine,
    nested: Option<Program>,
    left: Vec<u64>,
    violations: usize,
}

impl Host for TestHost {
    fn syscall(
        &mut self,
        SyscallId(id): SyscallId,
        [r1, r2, ..]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        self.left.push(meter.remaining());
        match NAMES[usize::from(id)] {
            "take" => meter.consume(r1).map_err(|_| Refused(r1).into()).map(|()| 0),
            "panic" => panic!("as asked"),
            "give" => {
                meter.set_remaining(r1);
                Ok(0)
            }
            "refuse" => Err(Refused(r1).into()),
            "trap" => Err(Trap::DivideByZero.into()),
            "write" => {
                memory.slice_mut(r1, r2)?.fill(7);
                Ok(0)
            }
            _ => {
                let program = self.nested.take().expect("it nests once");
                let engine = self.engine;
                let Outcome { result, consumed } =
                    execute(&program, meter.remaining(), self, engine);
                self.nested = Some(program);
                meter.consume(consumed).map_err(|_| Refused(consumed))?;
                Ok(result?)
            }
        }
    }

    fn access_violation(&mut self, _: &Violation, region: &mut Region<'_>) {
        self.violations += 1;
        region.make_writable();
    }
}

const NAMES: [&str; 7] = ["take", "give", "refuse", "trap", "write", "nest", "panic"];

fn program(source: &str) -> Program {
    let declared: String = NAMES.iter().map(|name| format!(".syscall {name}\n")).collect();
    let options = Options { version: Version::V3, ..Options::default() };
    let output = assemble(&(declared + "entrypoint:\n" + source), &options);
    let syscalls = Arc::new(Syscalls::new(NAMES));
    let environment = Environment { syscalls, ..Environment::default() };
    let file = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
    Program::new(selkie_elf::load(&file.to_elf(), &environment).unwrap())
}

fn execute(
    program: &Program,
    budget: u64,
    host: &mut TestHost,
    engine: impl FnOnce(&Program, &mut Machine<'_>, &mut dyn Host) -> Outcome,
) -> Outcome {
    let config = Config::default();
    let mut heap = [0; 8];
    let mut stack = vec![0; config.stack_bytes()];
    let regions = vec![
        Region::writable(STACK_START, &mut stack),
        Region::writable(HEAP_START, &mut heap).protected(),
    ];
    let memory = MemoryMap::new(regions, &config, Version::V3).unwrap();
    engine(program, &mut Machine::new(program.executable(), &config, memory, budget), host)
}

/// The outcome of a run: the result, consumed compute units, and the compute units left at each
/// syscall.
type Left = (Result<u64, Trap>, u64, Vec<u64>);

/// Runs a program, and those it nests, on each engine, and checks that all agree.
fn run_source(source: &str, budget: u64, nested: &str) -> Left {
    let program = program(source);
    let lefts = engines().into_iter().map(|engine| {
        let nested = Some(self::program(nested));
        let mut host = TestHost { engine, nested, left: vec![], violations: 0 };
        let Outcome { result, consumed } = execute(&program, budget, &mut host, engine);
        (result, consumed, host.left)
    });
    lefts
        .reduce(|first, next| {
            assert_eq!(format!("{first:?}"), format!("{next:?}"), "{source}");
            first
        })
        .expect("there are engines")
}

fn check(source: &str, budget: u64, result: &str, consumed: u64, left: &[u64]) {
    let got = run_source(source, budget, "exit");
    let text = match got.0 {
        Ok(r0) => format!("{r0}"),
        Err(trap) => trap.to_string(),
    };
    assert_eq!((text.as_str(), got.1, got.2.as_slice()), (result, consumed, left), "{source}");
}

const EXCEEDED: &str = "exceeded CUs meter at BPF instruction";

#[test]
fn a_syscall_sees_the_compute_units_left_after_its_call() {
    check("mov64 r1, 5\n call take\n call take\n exit", 20, "0", 14, &[18, 12]);
    // After a jump, within straight code, and as the last instruction.
    check("ja +0\n call take\n exit", 100, "Syscall error: refused 17179869184", 100, &[98]);
    check("mov64 r1, 0\n call take", 2, EXCEEDED, 2, &[0]);
}

#[test]
fn compute_units_consumed_by_a_syscall_are_gone() {
    let source = "mov64 r1, 7\n call take\n mov64 r0, 3\n exit";
    check(source, 11, "3", 11, &[9]);
    check(source, 10, EXCEEDED, 10, &[8]);
    check(source, 9, EXCEEDED, 9, &[7]);
    // If fewer are left, all are consumed.
    check(source, 8, "Syscall error: refused 7", 8, &[6]);
    check(source, 1, EXCEEDED, 1, &[]);
}

/// A syscall that empties the meter succeeds; the next instruction fails.
#[test]
fn a_syscall_may_consume_all_compute_units() {
    check("mov64 r1, 8\n call take\n exit", 10, EXCEEDED, 10, &[8]);
    check("mov64 r1, 8\n call take\n exit", 11, "0", 11, &[9]);
}

#[test]
fn a_syscall_may_raise_the_meter() {
    // More is left at the end than at the start: nothing counts as consumed.
    check("mov64 r1, 50\n call give\n exit", 10, "0", 0, &[8]);
    check("mov64 r1, 5\n call give\n exit", 10, "0", 6, &[8]);
    check("mov64 r1, 0\n call give\n exit", 10, EXCEEDED, 10, &[8]);
}

#[test]
fn a_nested_program_consumes_compute_units_of_its_caller() {
    let nested = "mov64 r1, 4\n call take\n mov64 r0, 9\n exit";
    let nest = |budget| {
        let (result, consumed, left) = run_source("call nest\n exit", budget, nested);
        (result.map_err(|trap| trap.to_string()), consumed, left)
    };
    assert_eq!(nest(100), (Ok(9), 10, vec![99, 97]));
    assert_eq!(nest(10), (Ok(9), 10, vec![9, 7]));
    assert_eq!(nest(9), (Err(EXCEEDED.to_owned()), 9, vec![8, 6]));
    let nested_error = format!("Syscall error: {EXCEEDED}");
    assert_eq!(nest(8), (Err(nested_error), 8, vec![7, 5]));
}

#[test]
fn errors_of_the_host_are_passed_through() {
    let (result, consumed, _) = run_source("mov64 r1, 42\n call refuse\n exit", 10, "exit");
    let Err(Trap::Syscall(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.downcast_ref(), Some(&Refused(42)));
    assert_eq!(consumed, 2);
    let trap = Trap::Syscall(error);
    let source = core::error::Error::source(&trap).and_then(|it| it.downcast_ref());
    assert_eq!((source, trap.discriminant()), (Some(&Refused(42)), 18));
}

#[test]
fn a_trap_returned_by_a_syscall_is_a_syscall_error() {
    let (result, ..) = run_source("call trap\n exit", 10, "exit");
    let Err(Trap::Syscall(error)) = result else { panic!("{result:?}") };
    assert!(matches!(error.downcast_ref(), Some(Trap::DivideByZero)));
}

/// Runs a program on an engine. Returns its result and the number of refused accesses passed to the
/// host.
fn violations(source: &str, budget: u64, engine: Engine) -> (Result<u64, Trap>, usize) {
    let mut host = TestHost { engine, nested: None, left: vec![], violations: 0 };
    let outcome = execute(&program(source), budget, &mut host, engine);
    (outcome.result, host.violations)
}

/// Only accesses of instructions are passed to the host, not those of syscalls.
#[test]
fn slices_refused_to_a_syscall_are_not_passed_to_the_host() {
    for engine in engines() {
        let source = "lddw r1, 0x300000000\n mov64 r2, 4\n call write\n exit";
        let (result, count) = violations(source, 100, engine);
        let Err(Trap::Syscall(error)) = result else { panic!("{result:?}") };
        assert!(matches!(
            error.downcast_ref(),
            Some(Trap::AccessViolation { access: Access::Store, len: 4, region: "heap", .. })
        ));
        assert_eq!(count, 0);

        let source = "lddw r1, 0x300000000\n stb [r1], 1\n mov64 r2, 4\n call write\n \
                      ldxw r0, [r1]\n exit";
        let (result, count) = violations(source, 100, engine);
        assert_eq!((result.unwrap(), count), (0x0707_0707, 1));
    }
}

/// A store that the budget does not reach is not passed to the host.
#[test]
fn accesses_beyond_the_budget_are_not_passed_to_the_host() {
    for engine in engines() {
        for (budget, expected) in [(1, 0), (2, 1), (3, 1)] {
            let source = "lddw r1, 0x300000000\n stb [r1], 1\n exit";
            let (result, count) = violations(source, budget, engine);
            assert_eq!((result.is_ok(), count), (budget == 3, expected));
        }
    }
}

/// An observer sees every executed instruction once, before it is executed.
#[test]
fn an_observer_sees_each_executed_instruction_once() {
    #[derive(Default)]
    struct Seen(Vec<(usize, u64)>);
    impl Observer for Seen {
        fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()> {
            self.0.push((machine.pc(), machine.registers()[0]));
            ControlFlow::Continue(())
        }
    }
    let source = "lddw r0, 5\n ja +1\n exit\n add64 r0, 1\n div64 r0, r2\n exit";
    for (budget, count) in [(10, 4), (3, 3), (0, 0)] {
        let mut host = TestHost { engine: run, nested: None, left: vec![], violations: 0 };
        let mut seen = Seen::default();
        let outcome = execute(&program(source), budget, &mut host, |program, machine, host| {
            observe(program, machine, host, &mut seen)
        });
        assert!(outcome.result.is_err());
        assert_eq!(seen.0, [(0, 0), (2, 5), (4, 5), (5, 6)][..count]);
    }
}

/// An observer that breaks off changes nothing, and the machine runs on from there.
#[test]
fn a_run_that_is_broken_off_goes_on() {
    struct BreakAt(usize);
    impl Observer for BreakAt {
        fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()> {
            match machine.pc() == self.0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let program = program("mov64 r0, 1\n add64 r0, 2\n add64 r0, 4\n exit");
    let mut host = TestHost { engine: run, nested: None, left: vec![], violations: 0 };
    let outcome = execute(&program, 10, &mut host, |program, machine, host| {
        let broken = observe(program, machine, host, &mut BreakAt(2));
        let Err(Trap::Syscall(error)) = broken.result else { panic!("it broke off") };
        assert!(error.is::<Interrupted>());
        assert_eq!((broken.consumed, machine.pc(), machine.registers()[0]), (2, 2, 3));
        run(program, machine, host)
    });
    assert_eq!((outcome.result.unwrap(), outcome.consumed), (7, 2));
}

/// The log has the writes of instructions and of the host, in order.
#[test]
fn writes_are_logged() {
    const STACK: u64 = 0x2_0000_0000;
    let source =
        "lddw r1, 0x200000000\n stb [r1], 1\n stdw [r1+8], 2\n mov64 r2, 3\n call write\n exit";
    let mut host = TestHost { engine: run, nested: None, left: vec![], violations: 0 };
    let outcome = execute(&program(source), 10, &mut host, |program, machine, host| {
        machine.memory.log_writes();
        let outcome = observe(program, machine, host, &mut ());
        let log = machine.memory.writes_mut().expect("writes are logged");
        assert_eq!(*log, [(STACK, 1), (STACK + 8, 8), (STACK, 3)]);
        outcome
    });
    assert!(outcome.result.is_ok());
}

/// A panic of the host unwinds past machine code and the frames of the program.
#[cfg(panic = "unwind")]
#[test]
fn a_panic_of_the_host_unwinds_through_machine_code() {
    let program = program("call inner\n exit\n inner:\n call panic\n exit");
    for engine in engines() {
        let mut host = TestHost { engine, nested: None, left: vec![], violations: 0 };
        let panicked = catch_unwind(AssertUnwindSafe(|| execute(&program, 100, &mut host, engine)));
        let payload = panicked.expect_err("the syscall panics");
        assert_eq!(payload.downcast_ref(), Some(&"as asked"));
        assert_eq!(host.left, [98]);
    }
}
