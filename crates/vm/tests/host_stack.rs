//! However long a program runs, it takes little of the host's stack, optimised or not.

use std::thread;

use selkie_elf::{Executable, Functions};
use selkie_isa::{Op, Slot, Version};
use selkie_vm::{Config, JitOptions, Machine, MachineCode, MemoryMap, NoHost, Program, Trap, run};

#[test]
fn a_long_run_fits_a_small_host_stack() {
    let endless = || {
        let step = Slot { code: Op::Add64Imm.code(), dst: 3, src: 0, off: 0, imm: 1 };
        let back = Slot { code: Op::Ja.code(), dst: 0, src: 0, off: -2, imm: 0 };
        let text: Vec<u8> = [step, back].map(|slot| slot.to_word().to_le_bytes()).concat();
        let executable =
            Executable::from_text(Version::V0, text, 0, Functions::default(), Default::default());
        let program = Program::new(executable.expect("no names, no collision"));
        let config = Config::default();
        for compiled in [false, MachineCode::SUPPORTED] {
            let memory = MemoryMap::new(vec![], &config, Version::V0).expect("nothing overlaps");
            let mut machine = Machine::new(&program, &config, memory, 1_000_000);
            let outcome = if compiled {
                let code = MachineCode::compile(&program, &config, &JitOptions::plain());
                code.expect("it is supported").run(&program, &mut machine, &mut NoHost)
            } else {
                run(&program, &mut machine, &mut NoHost)
            };
            assert!(matches!(outcome.result, Err(Trap::ExceededMaxInstructions)));
            assert_eq!((outcome.consumed, machine.registers()[3]), (1_000_000, 500_000));
        }
    };
    let small = thread::Builder::new().stack_size(512 * 1024).spawn(endless);
    small.expect("a thread starts").join().expect("no overflow");
}
