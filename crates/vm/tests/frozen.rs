//! Frozen programs and machine code behave like the originals, and changed bytes do no harm.

#![allow(unsafe_code, reason = "machine code has to be trusted")]

use std::{fs, sync::Arc};

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, Functions, SyscallId, Syscalls, load};
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_vm::{
    Config, Executable, Host, JitOptions, Machine, MachineCode, MemoryMap, Meter, Outcome, Program,
    Region, SyscallError, ThawError, Verified, run,
};

/// Syscalls that real programs use.
const SYSCALLS: [&str; 8] = [
    "sol_log_",
    "sol_log_64_",
    "sol_memcpy_",
    "sol_memset_",
    "sol_memcmp_",
    "sol_get_rent_sysvar",
    "abort",
    "sol_panic_",
];

fn environment() -> Environment {
    Environment { syscalls: Arc::new(Syscalls::new(SYSCALLS)), ..Environment::default() }
}

/// A host that charges for syscalls, records their arguments and fails some.
struct TestHost(Vec<[u64; 6]>);

impl Host for TestHost {
    fn syscall(
        &mut self,
        SyscallId(id): SyscallId,
        [a, b, c, d, e]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        self.0.push([id.into(), a, b, c, d, e]);
        meter.consume(10).map_err(|_| "out of compute units")?;
        match SYSCALLS[usize::from(id)] {
            "sol_memcpy_" => memory.copy(a, b, c)?,
            "sol_memset_" => memory.slice_mut(a, c)?.fill(b.to_le_bytes()[0]),
            "abort" | "sol_panic_" => return Err("as asked".into()),
            _ => {}
        }
        Ok(0)
    }
}

/// Everything observable of a run.
type Seen = (Result<u64, String>, u64, usize, [u64; 11], Vec<[u64; 6]>, Vec<Vec<u8>>);

/// Runs a program with an input.
fn seen(
    program: &Program,
    input: &[u8],
    budget: u64,
    engine: impl FnOnce(&Program, &mut Machine<'_>, &mut TestHost) -> Outcome,
) -> Seen {
    let config = Config::default();
    let executable = program.executable();
    let mut memory = vec![vec![0; config.stack_bytes()], vec![0; 32 * 1024], input.to_vec()];
    let mut host = TestHost(Vec::new());
    let [stack, heap, input] = &mut memory[..] else { unreachable!("there are three") };
    let mut stack = Region::writable(STACK_START, stack);
    if executable.version().stack_frame_gaps() {
        stack = stack.gapped(config.stack_frame_bytes);
    }
    let regions = vec![
        Region::readonly(executable.read_only().vaddr, &executable.read_only().bytes),
        stack,
        Region::writable(HEAP_START, heap),
        Region::writable(INPUT_START, input),
    ];
    let map = MemoryMap::new(regions, &config, executable.version()).unwrap();
    let mut machine = Machine::new(program.executable(), &config, map, budget);
    let Outcome { result, consumed } = engine(program, &mut machine, &mut host);
    let (pc, registers) = (machine.pc(), *machine.registers());
    drop(machine);
    (result.map_err(|trap| trap.to_string()), consumed, pc, registers, host.0, memory)
}

fn interpret(program: &Program, machine: &mut Machine<'_>, host: &mut TestHost) -> Outcome {
    run(program, machine, host)
}

fn thaw_code(code: &MachineCode, thawed: &Program, options: &JitOptions) -> MachineCode {
    // SAFETY: the bytes are fresh, and the program was thawed from those of the code's own program.
    unsafe { MachineCode::thaw(&code.freeze(), thawed, &Config::default(), options) }.unwrap()
}

/// Freezes and thaws a program and its code in all states, and compares their runs.
fn check(name: &str, elf: &[u8], verified: &Verified, inputs: &[Vec<u8>]) {
    let syscalls = verified.executable().syscalls();
    let frozen = verified.freeze(elf);
    let again = Verified::thaw(&frozen, elf, syscalls).unwrap();
    assert_eq!(again.executable(), verified.executable(), "{name}");
    // Any other bytes work in place of the file.
    for other in [&[][..], &frozen] {
        let again = Verified::thaw(&verified.freeze(other), other, syscalls).unwrap();
        assert_eq!(again.executable(), verified.executable(), "{name}");
    }
    let budget = 20_000;
    let exact: Vec<_> = inputs.iter().map(|it| seen(verified, it, budget, interpret)).collect();
    let config = Config::default();
    let options = JitOptions { runs_until_joined: 1, ..JitOptions::default() };
    let codes = MachineCode::SUPPORTED.then(|| {
        let whole = JitOptions { slots_at_once: usize::MAX, ..options.clone() };
        [&options, &whole].map(|options| MachineCode::compile(verified, &config, options).unwrap())
    });
    for code in codes.iter().flatten() {
        let mut states = vec![("new", thaw_code(code, &again, &options))];
        for (input, exact) in inputs.iter().zip(&exact) {
            let ours = seen(verified, input, budget, |program, machine, host| {
                code.run(program, machine, host)
            });
            assert_eq!(&ours, exact, "{name}");
            states.push(("used", thaw_code(code, &again, &options)));
        }
        code.complete(verified).unwrap();
        let frozen = code.freeze();
        let complete = thaw_code(code, &again, &options);
        complete.complete(&again).unwrap();
        assert_eq!(complete.freeze(), frozen, "{name}: there was something to complete");
        states.push(("complete", complete));
        for (state, code) in states {
            for (input, exact) in inputs.iter().zip(&exact) {
                let ours = seen(&again, input, budget, |program, machine, host| {
                    code.run(program, machine, host)
                });
                assert!(&ours == exact, "{name}: {state}: {:?} {:?}", ours.0, exact.0);
            }
        }
    }
    for (input, exact) in inputs.iter().zip(&exact) {
        assert_eq!(&seen(&again, input, budget, interpret), exact, "{name}");
    }
}

/// Returns inputs: without accounts, with instruction data, and random bytes.
fn inputs() -> Vec<Vec<u8>> {
    let mut plain = vec![vec![0; 64]];
    plain.extend([0_u8, 3, 7].map(|number| {
        let mut input = vec![0; 8];
        input.extend(9_u64.to_le_bytes());
        input.push(number);
        input.extend([number; 40]);
        input
    }));
    plain.push((0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect());
    plain
}

#[test]
fn programs_of_the_ecosystem_run_alike_after_thawing() {
    let mut count = 0;
    for path in selkie_testdata::elfs() {
        let elf = fs::read(&path).unwrap();
        for labels in [false, true] {
            let environment = Environment { labels, ..environment() };
            let Ok(executable) = load(&elf, &environment) else { continue };
            let Ok(verified) = Verified::new(executable) else { continue };
            let name = path.display().to_string();
            check(&name, &elf, &verified, &if labels { Vec::new() } else { inputs() });
            count += 1;
        }
    }
    assert!(count > 10, "only {count} programs are accepted");
}

const SOURCE: &str = r#"
.globl entrypoint
entrypoint:
    mov64 r6, r1
    lddw r1, text
    mov64 r2, 5
    call sol_log_
    ldxdw r3, [r6+0]
    call double
    stxdw [r10-8], r0
    mov64 r1, r10
    add64 r1, -8
    mov64 r2, r10
    add64 r2, -8
    mov64 r3, 8
    call sol_memcpy_
    ldxdw r0, [r10-8]
    exit
double:
    mov64 r0, r3
    add64 r0, r3
    jgt r0, 100, over
    exit
over:
    mov64 r0, 100
    exit
.rodata
text:
    .ascii "hello"
"#;

/// Assembles the program for each version.
fn sources() -> impl Iterator<Item = (Vec<u8>, Verified)> {
    Version::ALL.into_iter().map(|version| {
        let output = assemble(SOURCE, &Options { version, ..Options::default() });
        let elf = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
        let elf = elf.to_elf();
        let verified = Verified::new(load(&elf, &environment()).unwrap()).unwrap();
        (elf, verified)
    })
}

#[test]
fn programs_of_every_version_run_alike_after_thawing() {
    for (elf, verified) in sources() {
        check(&verified.executable().version().to_string(), &elf, &verified, &inputs());
    }
}

#[test]
fn programs_without_a_file_run_alike_after_thawing() {
    for version in Version::ALL {
        let text = [0xb7, 0, 0, 0, 7, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let syscalls = environment().syscalls;
        let executable =
            Executable::from_text(version, text, 0, Functions::default(), syscalls).unwrap();
        let Ok(verified) = Verified::new(executable) else { continue };
        check(&version.to_string(), &[], &verified, &inputs());
    }
}

/// Programs thawed from changed bytes can be run, and both engines agree on them.
fn check_changed(frozen: &[u8], elf: &[u8], verified: &Verified) {
    if let Ok(program) = Program::thaw(frozen, elf, verified.executable().syscalls())
        && program.executable().read_only().vaddr < STACK_START
    {
        let interpreted = seen(&program, &[0; 64], 300, interpret);
        if MachineCode::SUPPORTED {
            let options = JitOptions::default();
            let code = MachineCode::compile(&program, &Config::default(), &options).unwrap();
            let compiled = seen(&program, &[0; 64], 300, |program, machine, host| {
                code.run(program, machine, host)
            });
            assert_eq!(compiled, interpreted);
        }
    }
}

#[test]
fn changed_bytes_neither_panic_nor_split_the_engines() {
    for (elf, verified) in sources() {
        let syscalls = verified.executable().syscalls();
        for elf in [&elf[..], &elf[..elf.len() / 2], &[]] {
            let frozen = verified.freeze(elf);
            for len in 0..frozen.len() {
                let thawed = Program::thaw(&frozen[..len], elf, syscalls);
                assert!(matches!(thawed, Err(ThawError::Malformed)), "{len} bytes of it");
            }
            let longer = [&frozen[..], &[0]].concat();
            assert!(Program::thaw(&longer, elf, syscalls).is_err());
            for at in 0..frozen.len() {
                for change in [1, 0x80, 0xff] {
                    let mut changed = frozen.clone();
                    changed[at] ^= change;
                    check_changed(&changed, elf, &verified);
                }
            }
            // With another file, the result is another program.
            check_changed(&frozen, &elf[..elf.len().saturating_sub(1)], &verified);
        }
    }
}

#[test]
fn machine_code_for_another_program_or_configuration_is_refused() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let config = Config::default();
    let options = JitOptions::default();
    let programs: Vec<_> = sources().collect();
    let (_, program) = &programs[0];
    let frozen = MachineCode::compile(program, &config, &options).unwrap().freeze();
    // SAFETY: the code is never run.
    let thaw = |frozen: &[u8], program: &Program, config: &Config, options: &JitOptions| unsafe {
        MachineCode::thaw(frozen, program, config, options).map(|_| ())
    };
    assert!(thaw(&frozen, program, &config, &options).is_ok());
    let others = [
        thaw(&frozen, program, &Config { metered: false, ..config.clone() }, &options),
        thaw(&frozen, program, &Config { call_depth_max: 3, ..config.clone() }, &options),
        thaw(&frozen, program, &config, &JitOptions::plain()),
    ];
    for other in others {
        assert!(matches!(other, Err(ThawError::Other)), "{other:?}");
    }
    for len in 0..frozen.len() {
        assert!(thaw(&frozen[..len], program, &config, &options).is_err(), "{len} bytes of it");
    }
    assert!(thaw(&program.freeze(&[]), program, &config, &options).is_err());
}
