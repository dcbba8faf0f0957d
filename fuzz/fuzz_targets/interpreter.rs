//! Any program over any memory, verified or not, run and watched: both ways must agree.

#![no_main]

use libfuzzer_sys::{arbitrary::Arbitrary, fuzz_target};
use selkie_elf::{Executable, Functions, SyscallId, Syscalls};
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
    symbol::pc_key,
};
use selkie_vm::{
    Config, Host, Machine, MemoryMap, Meter, Observer, Outcome, Program, Region, SyscallError,
    observe, run,
};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    version: u8,
    call_depth: u8,
    gaps: bool,
    aligned: bool,
    budget: u16,
    registers: [u64; 10],
    functions: [u8; 3],
    heap: &'a [u8],
    input: [&'a [u8]; 3],
    text: &'a [u8],
}

/// Writes to the memory that it is given, and costs as much.
struct Fill;

impl Host for Fill {
    fn syscall(
        &mut self,
        _: SyscallId,
        [vaddr, len, byte, ..]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        meter.consume(len).map_err(|_| "too much")?;
        memory.slice_mut(vaddr, len)?.fill(byte as u8);
        Ok(len)
    }
}

struct Nothing;

impl Observer for Nothing {
    fn instruction(&mut self, _: usize, _: &[u64; 11]) {}
}

type Left = (Result<u64, String>, u64, usize, [u64; 11], usize, Vec<Vec<u8>>);

fn execute(input: &Input<'_>, program: &Program, config: &Config, watched: bool) -> Option<Left> {
    let version = program.executable().version();
    let mut buffers = vec![vec![0; config.stack_bytes()], input.heap.to_vec()];
    buffers.extend(input.input.iter().map(|bytes| bytes.to_vec()));
    let mut vaddrs = vec![STACK_START, HEAP_START, INPUT_START];
    vaddrs.push(vaddrs[2] + buffers[2].len() as u64);
    vaddrs.push(vaddrs[3] + buffers[3].len() as u64 + 1);
    let gaps = version.stack_frame_gaps() && config.stack_frame_gaps;
    let regions = vaddrs.iter().zip(&mut buffers).enumerate().map(|(index, (&vaddr, bytes))| {
        let region = Region::writable(vaddr, bytes);
        match index {
            0 if gaps => region.gapped(config.stack_frame_bytes),
            3 => region.protected(),
            _ => region,
        }
    });
    let regions = regions.collect();
    let memory = MemoryMap::new(regions, config, version).ok()?;
    let mut machine = Machine::new(program, config, memory, input.budget.into());
    machine.registers_mut()[..10].copy_from_slice(&input.registers);
    let Outcome { result, consumed } = if watched {
        observe(program, &mut machine, &mut Fill, &mut Nothing)
    } else {
        run(program, &mut machine, &mut Fill)
    };
    let (pc, registers, depth) = (machine.pc(), *machine.registers(), machine.call_depth());
    drop(machine);
    Some((result.map_err(|trap| trap.to_string()), consumed, pc, registers, depth, buffers))
}

fuzz_target!(|input: Input<'_>| {
    let version = Version::ALL[usize::from(input.version) % Version::ALL.len()];
    let config = Config {
        call_depth_max: usize::from(input.call_depth % 64) + 1,
        stack_frame_gaps: input.gaps,
        aligned_memory: input.aligned,
        ..Config::default()
    };
    let mut functions = Functions::default();
    for pc in input.functions.map(u32::from) {
        let _ = functions.register(pc_key(pc), pc, "");
    }
    let syscalls = Syscalls::new(["fill"]).into();
    let text = &input.text[..input.text.len() / 8 * 8];
    let Ok(executable) = Executable::from_text(version, text, 0, functions, syscalls) else {
        return;
    };
    let program = Program::new(executable);
    assert_eq!(execute(&input, &program, &config, false), execute(&input, &program, &config, true));
});
