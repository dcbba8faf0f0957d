//! Branches are counted alike by the interpreter and by machine code.

use std::sync::{Arc, atomic::Ordering};

use selkie_asm::{Options, assemble};
use selkie_elf::Environment;
use selkie_isa::{Version, layout::STACK_START};
use selkie_vm::{
    BranchCounters, Config, JitOptions, Machine, MachineCode, MemoryMap, NoHost, Program, Region,
    run_counted,
};

/// A loop with a branch of either kind, a call, and a branch that leaves a block early.
const SOURCE: &str = "
entrypoint:
    mov64 r6, 0
again:
    mov64 r7, r6
    and64 r7, 3
    jeq r7, 2, rare
    jsgt32 r7, 2, next
    add64 r8, 1
next:
    mov64 r1, r6
    call odd
    jne r0, 0, skip
    ja skip
rare:
    add64 r8, 100
    jset r6, 4, skip
    add64 r8, 7
skip:
    add64 r6, 1
    jlt r6, 21, again
    jgt r6, 5, out
    mov64 r8, 0
out:
    mov64 r0, r8
    exit
odd:
    mov64 r0, 1
    jset32 r1, 1, done
    mov64 r0, 0
done:
    exit
";

fn program(version: Version) -> Program {
    let options = Options { version, ..Options::default() };
    // Only V3 has 32-bit conditions.
    let source = match version {
        Version::V3 => SOURCE.to_owned(),
        _ => SOURCE.replace("32", ""),
    };
    let output = assemble(&source, &options);
    assert!(output.diagnostics.is_empty(), "{:?}", output.diagnostics);
    let elf = output.assembly.expect("it assembles").to_elf();
    Program::new(selkie_elf::load(&elf, &Environment::default()).expect("it loads"))
}

/// Returns r0, the compute units and the counts of a run.
fn counts(program: &Program, limit: u64, options: Option<JitOptions>) -> (String, u64, Vec<u8>) {
    let config = Config::default();
    let counters = Arc::new(BranchCounters::new(program));
    let options = options.map(|it| JitOptions { counters: Some(Arc::clone(&counters)), ..it });
    let code = options.map(|it| MachineCode::compile(program, &config, &it).expect("it compiles"));
    let mut stack = vec![0; config.stack_bytes()];
    let stack = Region::writable(STACK_START, &mut stack);
    let executable = program.executable();
    let memory = MemoryMap::new(vec![stack], &config, executable.version()).expect("it maps");
    let mut machine = Machine::new(executable, &config, memory, limit);
    let outcome = match &code {
        Some(code) => code.run(program, &mut machine, &mut NoHost),
        None => run_counted(program, &mut machine, &mut NoHost, &counters),
    };
    let counts =
        counters.words().iter().flat_map(|it| it.load(Ordering::Relaxed).to_le_bytes()).collect();
    (format!("{:?}", outcome.result), outcome.consumed, counts)
}

#[test]
fn machine_code_counts_as_the_interpreter_does() {
    if !MachineCode::SUPPORTED {
        return;
    }
    for version in [Version::V0, Version::V3] {
        let program = program(version);
        for limit in [u64::MAX, 200, 57, 58, 59, 60] {
            let expected = counts(&program, limit, None);
            for slots_at_once in [1, 5, usize::MAX] {
                let options = JitOptions { slots_at_once, ..JitOptions::default() };
                assert_eq!(counts(&program, limit, Some(options)), expected, "{version:?} {limit}");
            }
        }
    }
}

#[test]
fn both_directions_are_counted() {
    let program = program(Version::V3);
    let (result, _, counts) = counts(&program, u64::MAX, None);
    assert!(result.starts_with("Ok("), "{result}");
    assert_eq!(counts[..2], [16, 5], "every fourth value is rare");
    let branches = BranchCounters::new(&program).branches().len();
    assert_eq!(counts.len(), (2 * branches).next_multiple_of(8));
}
