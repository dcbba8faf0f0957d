//! Dirty pages: the records of regions cover every store of a program, and machine code leaves the
//! same bytes as the interpreter.

use std::{fmt::Write as _, sync::Arc};

use proptest::prelude::*;
use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, SyscallId, Syscalls, load};
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_vm::{
    Config, Host, JitOptions, Machine, MachineCode, MemoryCalls, MemoryMap, Meter, Program, Region,
    SyscallError,
    dirty_pages::{any_dirty, dirty_pages_len, dirty_spans, mark_dirty},
    run,
};

const HEAP_BYTES: usize = 32 << 10;
const INPUT_BYTES: usize = 50_000;
const COMPUTE_UNITS: u64 = 100_000;

/// A host with `sol_memset_`, which charges like the runtime.
struct TestHost;

impl Host for TestHost {
    fn syscall(
        &mut self,
        _: SyscallId,
        [to, byte, len, _, _]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        meter.consume((len / 250).max(10)).map_err(|_| "out of compute units")?;
        if len > 0 {
            memory.slice_mut(to, len)?.fill(byte.to_le_bytes()[0]);
        }
        Ok(0)
    }
}

/// A part of a random program.
#[derive(Clone, Debug)]
enum Action {
    /// Stores `count` times from `at` on, `stride` bytes apart, and each time also at offset
    /// `other`.
    Store { size: &'static str, at: u64, other: i16, stride: i32, count: u16 },
    /// Fills memory.
    Set { at: u64, len: u16 },
}

fn address() -> impl Strategy<Value = u64> {
    let heap = HEAP_START..HEAP_START + HEAP_BYTES as u64 + 10;
    let end = HEAP_START + HEAP_BYTES as u64;
    let input = INPUT_START..INPUT_START + INPUT_BYTES as u64 + 10;
    prop_oneof![4 => heap, 4 => end - 2000..end, 6 => input, 1 => HEAP_START..HEAP_START + 16]
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![Just("stb"), Just("sth"), Just("stw"), Just("stdw")];
    let strides = prop_oneof![-700..700_i32, Just(8), Just(-8)];
    let others = prop_oneof![3 => Just(24_i16), 1 => -1100..1100_i16];
    let counts = prop_oneof![8 => 1..40_u16, 1 => 1..2000_u16];
    let store = (size, address(), others, strides, counts);
    prop_oneof![
        5 => store.prop_map(|(size, at, other, stride, count)| {
            Action::Store { size, at, other, stride, count }
        }),
        1 => (address(), 0..3000_u16).prop_map(|(at, len)| Action::Set { at, len }),
    ]
}

fn program(actions: &[Action], version: Version) -> Program {
    let mut source = ".globl entrypoint\nentrypoint:\n".to_owned();
    for (number, action) in actions.iter().enumerate() {
        match action {
            Action::Store { size, at, other, stride, count } => {
                write!(
                    source,
                    "lddw r1, {at}\nmov64 r2, {count}\nagain{number}:\n{size} [r1+0], 7\n\
                     {size} [r1+{other}], 5\nadd64 r1, {stride}\nadd64 r2, -1\njne r2, 0, again{number}\n"
                )
            }
            Action::Set { at, len } => {
                write!(source, "lddw r1, {at}\nmov64 r2, 3\nmov64 r3, {len}\ncall sol_memset_\n")
            }
        }
        .unwrap();
    }
    source.push_str("mov64 r0, 0\nexit\n");
    let output = assemble(&source, &Options { version, ..Options::default() });
    let assembly = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
    let syscalls = Arc::new(Syscalls::new(["sol_memset_"]));
    let environment = Environment { syscalls, ..Environment::default() };
    Program::new(load(&assembly.to_elf(), &environment).unwrap())
}

/// The state after a run.
#[derive(PartialEq, Eq, Debug)]
struct Left {
    result: Result<u64, String>,
    units: u64,
    heap: Vec<u8>,
    input: Vec<u8>,
}

/// Runs a program, as machine code if there is some, and checks that the records cover all nonzero
/// bytes.
fn left(
    program: &Program,
    config: &Config,
    code: Option<&MachineCode>,
    expected: [u64; 2],
    tail: usize,
) -> Left {
    let version = program.executable().version();
    let mut stack = vec![0; config.stack_bytes()];
    let (mut heap, mut input) = (vec![0; HEAP_BYTES], vec![0; INPUT_BYTES]);
    let (mut heap_pages, mut input_pages) =
        (vec![0; dirty_pages_len(HEAP_BYTES)], vec![0; dirty_pages_len(INPUT_BYTES)]);
    mark_dirty(&mut heap_pages, HEAP_BYTES - tail..HEAP_BYTES);
    let stack_region = Region::writable(STACK_START, &mut stack);
    let read_only = program.executable().read_only();
    let regions = vec![
        Region::readonly(read_only.vaddr, &read_only.bytes),
        match version.stack_frame_gaps() && config.stack_frame_gaps {
            true => stack_region.gapped(config.stack_frame_bytes),
            false => stack_region,
        },
        Region::writable(HEAP_START, &mut heap)
            .with_dirty_prefix(expected[0])
            .with_dirty_pages(&mut heap_pages),
        Region::writable(INPUT_START, &mut input)
            .with_dirty_prefix(expected[1])
            .with_dirty_pages(&mut input_pages),
    ];
    let memory = MemoryMap::new(regions, config, version).unwrap();
    let mut machine = Machine::new(program.executable(), config, memory, COMPUTE_UNITS);
    let outcome = match code {
        Some(code) => code.run(program, &mut machine, &mut TestHost),
        None => run(program, &mut machine, &mut TestHost),
    };
    let dirty_prefixes = [HEAP_START, INPUT_START].map(|vaddr| {
        let regions = machine.memory.regions();
        regions.iter().find(|region| region.vaddr() == vaddr).unwrap().dirty_prefix()
    });
    drop(machine);
    for (bytes, pages, dirty_prefix) in
        [(&heap, &heap_pages, dirty_prefixes[0]), (&input, &input_pages, dirty_prefixes[1])]
    {
        let mut rest = bytes.clone();
        for span in dirty_spans(usize::try_from(dirty_prefix).unwrap(), pages, bytes.len()) {
            rest[span].fill(0);
        }
        assert!(rest.iter().all(|byte| *byte == 0), "every store is recorded");
    }
    Left {
        result: outcome.result.map_err(|trap| trap.to_string()),
        units: outcome.consumed,
        heap,
        input,
    }
}

fn options() -> JitOptions {
    let memory_calls = MemoryCalls {
        copy: None,
        r#move: None,
        set: Some(SyscallId(0)),
        compare: None,
        compute_units: 10,
        bytes_max: 2749,
    };
    JitOptions { memory_calls, ..JitOptions::default() }
}

#[test]
fn few_stores_at_both_ends_of_the_heap_dirty_few_pages() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let end = HEAP_START + HEAP_BYTES as u64;
    let actions = [
        Action::Store { size: "stdw", at: HEAP_START, other: 16, stride: 0, count: 9 },
        Action::Store { size: "stdw", at: end - 40, other: 8, stride: -8, count: 30 },
    ];
    let program = program(&actions, Version::V3);
    let code = MachineCode::compile(&program, &Config::default(), &options()).unwrap();
    let mut heap = vec![0; HEAP_BYTES];
    let mut pages = vec![0; dirty_pages_len(HEAP_BYTES)];
    let config = Config::default();
    let mut stack = vec![0; config.stack_bytes()];
    let regions = vec![
        Region::writable(STACK_START, &mut stack),
        Region::writable(HEAP_START, &mut heap).with_dirty_prefix(0).with_dirty_pages(&mut pages),
    ];
    let memory = MemoryMap::new(regions, &config, Version::V3).unwrap();
    let mut machine = Machine::new(program.executable(), &config, memory, COMPUTE_UNITS);
    assert!(code.run(&program, &mut machine, &mut TestHost).result.is_ok());
    assert_eq!(machine.memory.regions()[1].dirty_prefix(), 0);
    drop(machine);
    assert!(any_dirty(&pages));
    let dirty: usize = dirty_spans(0, &pages, HEAP_BYTES).map(|span| span.len()).sum();
    assert!(dirty <= 4 * 512, "{dirty} bytes are dirty of {HEAP_BYTES}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn dirty_prefix_and_pages_cover_every_store(
        actions in prop::collection::vec(action(), 1..6),
        expected in [0..40_000_u64, 0..60_000_u64],
        near_start in any::<bool>(),
        tail in 0..3000_usize,
        is_new in any::<bool>(),
        aligned_memory in prop::bool::weighted(0.8),
    ) {
        let config = Config { aligned_memory, ..Config::default() };
        let version = if is_new { Version::V3 } else { Version::V0 };
        let expected = if near_start { expected.map(|it| it % 600) } else { expected };
        let program = program(&actions, version);
        let interpreted = left(&program, &config, None, expected, tail);
        if MachineCode::SUPPORTED {
            let code = MachineCode::compile(&program, &config, &options()).unwrap();
            for _ in 0..2 {
                prop_assert_eq!(&left(&program, &config, Some(&code), expected, tail), &interpreted);
            }
        }
    }
}
