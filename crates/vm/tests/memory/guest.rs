//! Regions for tests, and programs of one access.

use core::cell::Cell;
use std::sync::Arc;

use selkie_elf::{Executable, Functions};
use selkie_isa::Version;
use selkie_vm::{
    Access, Config, Host, JitOptions, Machine, MachineCode, MemoryMap, Program, Region, Trap, run,
};

/// The description of a region, whose bytes all have its number, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) vaddr: u64,
    pub(crate) len: usize,
    pub(crate) writable: bool,
    pub(crate) gap: Option<u64>,
}

/// Describes a writable region.
pub(crate) fn rw(vaddr: u64, len: usize) -> Spec {
    Spec { vaddr, len, writable: true, gap: None }
}

/// Describes a read-only region.
pub(crate) fn ro(vaddr: u64, len: usize) -> Spec {
    Spec { writable: false, ..rw(vaddr, len) }
}

impl Spec {
    pub(crate) fn gapped(self, frame_bytes: u64) -> Self {
        Self { gap: Some(frame_bytes), ..self }
    }

    pub(crate) fn region<'a>(&self, buffer: &'a mut [u8]) -> Region<'a> {
        let region = if self.writable {
            Region::writable(self.vaddr, buffer)
        } else {
            Region::readonly(self.vaddr, buffer)
        };
        match self.gap {
            Some(frame_bytes) => region.gapped(frame_bytes),
            None => region,
        }
    }
}

pub(crate) fn buffers(specs: &[Spec]) -> Vec<Vec<u8>> {
    (1..=u8::MAX).cycle().zip(specs).map(|(byte, spec)| vec![byte; spec.len]).collect()
}

pub(crate) fn config(aligned_memory: bool) -> Config {
    Config { aligned_memory, ..Config::default() }
}

/// Calls `then` with a map of these regions.
pub(crate) fn with_map<T>(
    specs: &[Spec],
    aligned: bool,
    version: Version,
    then: impl FnOnce(Result<MemoryMap<'_>, Trap>) -> T,
) -> T {
    let mut buffers = buffers(specs);
    let regions = specs.iter().zip(&mut buffers).map(|(spec, buffer)| spec.region(buffer));
    then(MemoryMap::new(regions.collect(), &config(aligned), version))
}

thread_local! {
    /// Whether [`access`] compiles its programs.
    static COMPILES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a test with interpreted accesses, and again with accesses of machine code.
pub(crate) fn by_each_engine(test: impl Fn()) {
    test();
    COMPILES.set(MachineCode::SUPPORTED);
    test();
    COMPILES.set(false);
}

/// Executes a load, or a store of `value`, of `size` bytes: a program of two instructions. Its
/// version is V0, which handles everything; maps without gaps work with V0 too.
pub(crate) fn access(
    map: &mut MemoryMap<'_>,
    access: Access,
    size: u64,
    vaddr: u64,
    value: u64,
    host: &mut dyn Host,
) -> Result<u64, Trap> {
    let bits = match size {
        1 => 0x10,
        2 => 0x08,
        4 => 0x00,
        _ => 0x18,
    };
    let word = match access {
        Access::Load => 0x61 | bits | 0x1000,  // r0 = [r1]
        Access::Store => 0x63 | bits | 0x2100, // [r1] = r2
    };
    let words: [u64; 2] = [word, 0x95];
    let text = words.map(u64::to_le_bytes).concat();
    // With dynamic frames, machine code accepts any stack; these maps have unusual ones.
    let version = if COMPILES.get() { Version::V1 } else { Version::V0 };
    let executable = Executable::from_text(version, text, 0, Functions::default(), Arc::default());
    let program = Program::new(executable.expect("nothing collides"));
    let config = config(false);
    let nothing = MemoryMap::new(Vec::new(), &config, Version::V0).expect("nothing overlaps");
    let mut machine = Machine::new(program.executable(), &config, nothing, 2);
    core::mem::swap(&mut machine.memory, map);
    machine.registers_mut()[1] = vaddr;
    machine.registers_mut()[2] = value;
    let outcome = if COMPILES.get() {
        let code = MachineCode::compile(&program, &config, &JitOptions::plain());
        let code = code.expect("it is supported");
        assert!(code.fits(&machine), "the interpreter must not run what is to be compiled");
        code.run(&program, &mut machine, &mut { host })
    } else {
        run(&program, &mut machine, host)
    };
    core::mem::swap(&mut machine.memory, map);
    outcome.result
}
