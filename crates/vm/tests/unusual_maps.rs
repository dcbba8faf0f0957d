//! Memory maps that no runtime makes: interpreter and machine code treat them alike.

use std::sync::Arc;

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, SyscallId, Syscalls};
use selkie_isa::{
    Version,
    layout::{HEAP_START, STACK_START},
};
use selkie_vm::{
    Config, Host, JitOptions, Machine, MachineCode, MemoryMap, Meter, NoHost, Program, Region,
    SyscallError, run,
};

fn program(source: &str, version: Version) -> Program {
    let source = format!(".syscall replace\n.globl entrypoint\nentrypoint:\n{source}");
    let output = assemble(&source, &Options { version, ..Options::default() });
    let syscalls = Arc::new(Syscalls::new(["replace"]));
    let environment = Environment { syscalls, ..Environment::default() };
    let file = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
    Program::new(selkie_elf::load(&file.to_elf(), &environment).expect("the file is right"))
}

/// Everything observable of a run: its result, the registers, the slot, the compute units left.
type Seen = (String, [u64; 11], usize, u64);

/// Runs a program on the interpreter, or as machine code.
fn see<H: Host>(
    program: &Program,
    code: Option<&MachineCode>,
    mut machine: Machine<'_>,
    host: &mut H,
) -> Seen {
    let outcome = match code {
        Some(code) => {
            assert!(code.fits(&machine), "the interpreter must not run what is to be compiled");
            code.run(program, &mut machine, host)
        }
        None => run(program, &mut machine, host),
    };
    let left = machine.meter.remaining();
    (format!("{:?}", outcome.result), *machine.registers(), machine.pc(), left)
}

/// A host that replaces the map of the machine, as many times as r1 says. The heap of each map
/// holds another byte.
struct Replacing {
    config: Config,
    version: Version,
    byte: u8,
}

impl Replacing {
    fn map(&mut self) -> MemoryMap<'static> {
        let heap: &'static mut [u8] = Box::leak(Box::new([self.byte; 64]));
        self.byte += 1;
        let stack = Box::leak(vec![0; self.config.stack_bytes()].into_boxed_slice());
        let regions =
            vec![Region::writable(STACK_START, stack), Region::writable(HEAP_START, heap)];
        MemoryMap::new(regions, &self.config, self.version).expect("nothing overlaps")
    }
}

impl Host for Replacing {
    fn syscall(
        &mut self,
        _: SyscallId,
        [count, ..]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        _: &mut Meter,
    ) -> Result<u64, SyscallError> {
        for _ in 0..count {
            *memory = self.map();
        }
        Ok(0)
    }
}

/// After that, machine code continues with dynamic frames, and the interpreter with fixed ones.
#[test]
fn a_syscall_may_replace_the_memory_map() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let source = "lddw r6, 0x300000000\n stb [r6], 77\n ldxb r7, [r6+8]\n mov64 r1, 1\n \
                  call replace\n ldxb r8, [r6]\n stb [r6+1], 78\n mov64 r1, 2\n call replace\n \
                  ldxb r9, [r6+1]\n ldxb r5, [r6+63]\n ldxb r4, [r6+64]\n exit";
    for version in [Version::V0, Version::V1, Version::V3] {
        for aligned_memory in [false, true] {
            let config = Config { aligned_memory, stack_frame_gaps: false, ..Config::default() };
            let program = program(source, version);
            let code = MachineCode::compile(&program, &config, &JitOptions::plain());
            let code = code.expect("it is supported");
            let seen = [None, Some(&code)].map(|code| {
                let mut host = Replacing { config: config.clone(), version, byte: 1 };
                let map = host.map();
                let machine = Machine::new(program.executable(), &config, map, 1000);
                see(&program, code, machine, &mut host)
            });
            assert_eq!(seen[0], seen[1], "{version:?} aligned: {aligned_memory}");
            let (result, registers, ..) = &seen[0];
            assert!(result.contains("AccessViolation"), "{result}");
            assert_eq!(registers[5..10], [4, HEAP_START, 1, 2, 4]);
        }
    }
}

/// Machine code checks accesses off one base together, up to the length of a frame: no gap may lie
/// between two of them.
#[test]
fn both_engines_agree_on_gaps_of_any_length() {
    if !MachineCode::SUPPORTED {
        return;
    }
    const HEAP: usize = 3 * 4096;
    let sizes = [8, 16, 32, 64, 512, 4096, 8192];
    for frame_bytes in [8, 64, 1024, 4096] {
        let config =
            Config { stack_frame_bytes: frame_bytes, call_depth_max: 3, ..Config::default() };
        for offsets in
            [[0, 8, 16], [0, 16, 32], [0, 32, 16], [0, 24, 64], [0, 512, 1024], [8, 0, 4]]
        {
            let [a, b, c] = offsets;
            let source = format!(
                "stxdw [r6+{a}], r6\n ldxdw r7, [r6+{b}]\n stxdw [r6+{c}], r7\n \
                 ldxdw r8, [r6+{a}]\n ldxw r9, [r6+{c}]\n exit"
            );
            let program = program(&source, Version::V0);
            let code = MachineCode::compile(&program, &config, &JitOptions::plain());
            let code = code.expect("it is supported");
            for gap in sizes.into_iter().chain([1 << 33]) {
                for at in [0, 4, 8, 15, 16, 24, 48, 64, 500, 512, 4000, 4096, 8192, 12288] {
                    let seen = [None, Some(&code)].map(|code| {
                        let mut heap: Vec<u8> = (0..=250).cycle().take(HEAP).collect();
                        let mut stack = vec![0; config.stack_bytes()];
                        let regions = vec![
                            Region::writable(STACK_START, &mut stack).gapped(frame_bytes),
                            Region::writable(HEAP_START, &mut heap).gapped(gap),
                        ];
                        let map = MemoryMap::new(regions, &config, Version::V0);
                        let map = map.expect("nothing overlaps");
                        let mut machine = Machine::new(program.executable(), &config, map, 100);
                        machine.registers_mut()[6] = HEAP_START + at;
                        (see(&program, code, machine, &mut NoHost), heap)
                    });
                    assert!(seen[0] == seen[1], "{frame_bytes} {offsets:?} {gap} {at}");
                }
            }
        }
    }
}
