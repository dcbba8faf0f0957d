//! The work of compiling is bounded for every program.

use selkie_elf::{Executable, Functions};
use selkie_isa::{Op, Slot, Version};
use selkie_vm::{
    Config, JitOptions, JitWork, Machine, MachineCode, MemoryMap, NoHost, Program, Region, run,
};

/// Slots of the largest program that fits an account.
const SLOTS: i32 = (10 << 20) / 8;
/// Calls of functions of one slot, each of which becomes a compilation unit.
const UNITS: i32 = 255;

fn slot(op: Op, dst: u8, src: u8, off: i16, imm: i32) -> Slot {
    Slot { code: op.code(), dst, src, off, imm }
}

/// Returns a program that makes all compilation units but one out of functions of one slot, and
/// then calls something else. The rest of the program, which a branch might lead to, consists of
/// calls. Their callees take long to scan, since they neither end nor write to a register.
fn hostile() -> Program {
    const FUNCTIONS: i32 = 64;
    const BODY: i32 = 0x1000;
    let mut text = vec![
        slot(Op::Lddw, 6, 0, 0, FUNCTIONS * 8),
        Slot { code: 0, dst: 0, src: 0, off: 0, imm: 1 },
        slot(Op::Mov64Imm, 7, 0, 0, UNITS),
        slot(Op::CallxDst, 6, 0, 0, 0),
        slot(Op::Add64Imm, 6, 0, 0, 16),
        slot(Op::Sub64Imm, 7, 0, 0, 1),
        slot(Op::Jne64Imm, 7, 0, -4, 0),
        slot(Op::Jeq64Imm, 0, 0, 1, 0),
        slot(Op::Ja, 0, 0, 0x4000, 0),
        slot(Op::CallxDst, 6, 0, 0, 0),
        slot(Op::Exit, 0, 0, 0, 0),
    ];
    text.resize(0x800, slot(Op::Exit, 0, 0, 0, 0));
    // Addresses of code in the text, which is read-only data too.
    for number in 0..0x800 {
        let at = BODY + number * ((SLOTS - BODY) / 0x800);
        text.push(Slot::from_word((1 << 32) + u64::from(at.unsigned_abs()) * 8));
    }
    for at in BODY..SLOTS {
        let target = BODY + at % 1021 * 997 % (SLOTS - BODY) + at / 1021;
        text.push(slot(Op::CallStatic, 0, 1, 0, target.min(SLOTS - 1) - at - 1));
    }
    let bytes: Vec<u8> = text.iter().flat_map(|slot| slot.to_word().to_le_bytes()).collect();
    let executable =
        Executable::from_text(Version::V3, bytes, 0, Functions::default(), <_>::default());
    Program::new(executable.expect("no names, no collision"))
}

/// Runs a program on the interpreter and as machine code `runs` times, and returns the work of
/// compiling.
fn check(program: &Program, options: &JitOptions, runs: usize) -> JitWork {
    let config = Config::default();
    let code = MachineCode::compile(program, &config, options).expect("it is supported");
    let seen = |code: Option<&MachineCode>| {
        let mut stack = vec![0; config.stack_bytes()];
        let stack = vec![Region::writable(selkie_isa::layout::STACK_START, &mut stack)];
        let memory = MemoryMap::new(stack, &config, Version::V3).expect("it is alone");
        let mut machine = Machine::new(program.executable(), &config, memory, 5_000);
        let outcome = match code {
            Some(code) => code.run(program, &mut machine, &mut NoHost),
            None => run(program, &mut machine, &mut NoHost),
        };
        (format!("{outcome:?}"), *machine.registers(), machine.pc())
    };
    for _ in 0..runs {
        assert_eq!(seen(Some(&code)), seen(None));
    }
    code.work()
}

#[test]
fn compiling_a_large_program_lazily_stays_within_limits() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let program = hostile();
    let options = JitOptions::default();
    let work = check(&program, &options, 3);
    assert!(work.units <= 256, "{work:?}");
    // Without limits, slots would be ten times as many, and scans a thousand times.
    assert!(work.slots > 1 << 17 && work.scanned > 1 << 21, "{work:?}");
    // All units that begin with few slots, and the last one.
    assert!(work.slots <= 512 * 1024 + options.unit_slots_max as u64, "{work:?}");
    assert!(work.scanned <= 16 * work.slots + 256 * 8 * 1024, "{work:?}");
    assert!(work.bytes <= options.code_bytes_max + (64 << 10), "{work:?}");
}

/// Compiling everything at once is bounded too.
#[test]
fn compiling_a_large_program_at_once_stays_within_limits() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let program = hostile();
    let options = JitOptions { slots_at_once: usize::MAX, ..JitOptions::default() };
    let work = check(&program, &options, 1);
    assert!(work.slots <= 2 * options.unit_slots_max as u64 + 1024, "{work:?}");
    assert!(work.bytes <= options.code_bytes_max + (64 << 10), "{work:?}");
}

#[test]
fn machine_code_stays_within_code_bytes_max() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let program = hostile();
    for code_bytes_max in [0, 1, 5_000, 20_000, 300_000, 1 << 20] {
        let options = JitOptions { code_bytes_max, runs_until_joined: 1, ..JitOptions::plain() };
        let work = check(&program, &options, 4);
        // The first unit always contains the routines; the last one ends with a block.
        assert!(work.bytes <= code_bytes_max + 20_000, "{code_bytes_max}: {work:?}");
    }
}
