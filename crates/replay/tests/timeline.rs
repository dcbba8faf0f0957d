//! Timelines: states, searches, writes and edits, of a program of our own and of associated token
//! accounts, which are created by invocations of other programs.

use core::ops::ControlFlow;
use std::sync::Arc;

use selkie::{
    Account, AccountMeta, Instruction, Replay, Signer as _, Svm, address, keypair, programs,
    runtime::input::{AccountLayout, vaddr},
    token,
};
use selkie_replay::{Edit, EditError, Part, ReachedStep, ReplayFile, Timeline, Visitor, Writer};

/// Counts down from r7 = 30,000 in a function, each time storing the count to the heap; then clears
/// the heap by a syscall, and stores 7 behind what it has cleared.
const COUNTDOWN: &str = "
.globl entrypoint
entrypoint:
    lddw r6, 0x300000000
    mov64 r7, 30000
loop:
    mov64 r1, r7
    call keep
    sub64 r7, 1
    jne r7, 0, loop
    mov64 r1, r6
    mov64 r2, 0
    mov64 r3, 8
    call sol_memset_
    mov64 r8, 7
    stxb [r6+8], r8
    mov64 r0, 0
    exit
keep:
    stxdw [r6], r1
    exit
";

fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    output.assembly.expect("the source has no errors").to_elf()
}

fn countdown() -> Timeline {
    let mut svm = Svm::new();
    svm.add_program(address("countdown"), assemble(COUNTDOWN)).unwrap();
    let call = Instruction { program_id: address("countdown"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("countdown", &[call], &[]);
    timeline(replay)
}

fn timeline(replay: Replay) -> Timeline {
    let text = ReplayFile::from(replay).to_string();
    let timeline = ReplayFile::parse(&text).unwrap().timeline(0).unwrap();
    assert_eq!(timeline.differences(), [""; 0]);
    timeline
}

/// Creates an associated token account: the program invokes the system program and the token program.
fn associated() -> Timeline {
    let payer = keypair("payer");
    let (mint, owner) = (address("mint"), address("owner"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let token = programs::TOKEN.id;
    svm.set_mint(mint, &token, &payer.pubkey(), 6).unwrap();
    let create = token::create_associated(&token, &payer.pubkey(), &owner, &mint);
    let transaction = svm.sign(&[create], &[&payer]).unwrap();
    timeline(svm.record("create", &transaction))
}

/// What a visitor sees of every step.
#[derive(Default)]
struct Seen(Vec<(usize, usize, [u64; 11], u64)>);

impl Visitor for Seen {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        assert_eq!(moment.step, self.0.len() as u64);
        let registers = *moment.registers();
        self.0.push((moment.invocation, moment.pc(), registers, moment.units_left()));
        ControlFlow::Continue(())
    }
}

/// Each position is the same, whether it is passed on the way or gone to.
fn check_states(timeline: &Timeline, every: usize) {
    let mut seen = Seen::default();
    timeline.visit(&mut seen);
    assert_eq!(seen.0.len() as u64, timeline.steps());
    // Twice, since machine code runs what is skipped once a program has run for long enough.
    for round in 0..2 {
        for (step, expected) in seen.0.iter().enumerate().step_by(every) {
            let state = timeline.state_at(step as u64);
            let level = state.levels.last().unwrap();
            let found = (level.invocation, level.pc, level.registers, level.units_left);
            assert_eq!(found, *expected, "step {step}, round {round}");
        }
    }
    let end = timeline.state_at(timeline.steps());
    assert_eq!((end.levels.len(), &end.logs), (0, &timeline.receipt().logs));
}

#[test]
fn any_step_of_a_long_loop_is_reached() {
    let timeline = countdown();
    assert_eq!(timeline.steps(), 30_000 * 6 + 10);
    check_states(&timeline, 17_001);
}

#[test]
fn any_step_of_invocations_is_reached() {
    check_states(&associated(), 97);
}

#[test]
fn invocations_have_callers_and_units() {
    let timeline = associated();
    let all = timeline.invocations();
    let receipt = timeline.receipt().invocations();
    assert_eq!(all.len(), receipt.len());
    for (ours, theirs) in all.iter().zip(&receipt) {
        assert_eq!(ours.program, theirs.program_id);
        assert_eq!(
            (ours.stack_height, ours.compute_units),
            (theirs.stack_height, theirs.compute_units)
        );
        assert_eq!(ours.caller, (ours.stack_height > 1).then_some(0));
    }
}

#[test]
fn a_callee_is_shown_with_its_callers() {
    let timeline = associated();
    let inner =
        timeline.invocations().iter().find(|it| it.caller.is_some() && !it.steps.is_empty());
    let inner = inner.unwrap();
    let state = timeline.state_at(inner.steps.start + 5);
    assert_eq!(state.levels.len(), 2);
    assert_eq!(state.levels[0].step, inner.call.unwrap().step);
    assert_eq!(state.levels[1].program, inner.program);
    // The caller's registers at the call: r1 points to the instruction that it invokes.
    let [outer, callee] = &state.levels[..] else { panic!("two levels") };
    assert!(outer.memory.array::<8>(outer.registers[1]).is_some());
    assert_eq!(callee.memory.array::<8>(0x4_0000_0000).map(u64::from_le_bytes), Some(1));
}

#[test]
fn functions_in_progress_have_frames_and_saved_registers() {
    let state = countdown().state_at(4);
    let [level] = &state.levels[..] else { panic!("one level") };
    assert_eq!(level.call_sites().collect::<Vec<_>>(), [15, 4]);
    assert_eq!(level.registers_of(1).unwrap()[7], Some(30_000));
    assert_eq!((level.registers_of(1).unwrap()[1], level.registers_of(2)), (None, None));
}

#[test]
fn the_first_and_the_last_step_are_found() {
    let timeline = countdown();
    let at_store = |moment: &ReachedStep<'_, '_, '_>| moment.pc() == 15;
    let all = 0..timeline.steps();
    let (first, last) = (timeline.find(all.clone(), at_store), timeline.find_last(all, at_store));
    assert_eq!((first, last), (Some(4), Some(4 + 6 * 29_999)));
    assert_eq!(timeline.find(5..11, at_store), Some(10));
    assert_eq!(timeline.find_last(0..10, at_store), Some(4));
    assert_eq!(timeline.find(0..u64::MAX, |moment| moment.registers()[7] == 29_999), Some(7));
    assert_eq!(timeline.find_last(0..3, at_store), None);
}

#[test]
fn the_last_write_is_that_of_an_instruction_or_a_syscall() {
    let timeline = countdown();
    let end = timeline.steps();
    let last = |step, vaddr| timeline.last_write(step, 0, vaddr, 8);
    let loop_end = 2 + 6 * 30_000;
    let write = last(loop_end, 0x3_0000_0000).unwrap();
    assert_eq!((write.step, write.pc, &write.writer), (loop_end - 4, 15, &Writer::Instruction));
    assert_eq!((&write.old[..2], &write.new[..2]), (&[2, 0][..], &[1, 0][..]));
    let write = last(end, 0x3_0000_0000).unwrap();
    assert_eq!(write.writer, Writer::Syscall("sol_memset_".to_owned()));
    assert_eq!((write.pc, write.old[0], write.new[0]), (10, 1, 0));
    assert_eq!(last(end, 0x3_0000_0008).unwrap().new[0], 7);
    assert_eq!(last(end, 0x3_0000_0010), None);
    assert_eq!(last(end, 0), None);
}

#[test]
fn an_invoked_program_writes_to_its_callers_memory() {
    let timeline = associated();
    let caller = &timeline.invocations()[0];
    let state = timeline.state_at(caller.steps.end - 1);
    let level = &state.levels[0];
    let account = level.layout.account(1).unwrap();
    let data = 0x4_0000_0000 + account.data as u64;
    let write = timeline.last_write(caller.steps.end, 0, data, 32).unwrap();
    assert_eq!(write.writer, Writer::Syscall("sol_invoke_signed_rust".to_owned()));
    assert_eq!(write.new, address("mint").to_bytes());
}

/// Stores 1 to its account, invokes itself, and counts down. The invoked program, which finds the 1,
/// stores 2, and counts down from more.
const LONG_CALLEE: &str = "
.accounts 2, 8, 0
.equ META, -16
.equ INSTRUCTION, -56
.equ INFO, -112
.globl entrypoint
entrypoint:
    ldxb r2, [r1 + ACCT0_DATA]
    jne r2, 0, callee
    stb [r1 + ACCT0_DATA], 1
    mov64 r2, r1
    add64 r2, ACCT0_KEY
    stxdw [r10 + META], r2
    sth [r10 + META + 8], 0x0001
    stxdw [r10 + INFO], r2
    mov64 r2, r1
    add64 r2, ACCT0_LAMPORTS
    stxdw [r10 + INFO + 8], r2
    stdw [r10 + INFO + 16], 8
    mov64 r2, r1
    add64 r2, ACCT0_DATA
    stxdw [r10 + INFO + 24], r2
    mov64 r2, r1
    add64 r2, ACCT0_OWNER
    stxdw [r10 + INFO + 32], r2
    mov64 r2, r1
    add64 r2, ACCT1_KEY
    stxdw [r10 + INSTRUCTION], r2
    mov64 r2, r10
    add64 r2, META
    stxdw [r10 + INSTRUCTION + 8], r2
    stdw [r10 + INSTRUCTION + 16], 1
    mov64 r1, r10
    add64 r1, INSTRUCTION
    mov64 r2, r10
    add64 r2, INFO
    mov64 r3, 1
    mov64 r4, 0
    mov64 r5, 0
    call sol_invoke_signed_c
    mov64 r7, 30000
    ja count
callee:
    stb [r1 + ACCT0_DATA], 2
    mov64 r7, 100000
count:
    sub64 r7, 1
    jne r7, 0, count
    mov64 r0, 0
    exit
";

#[test]
fn what_a_long_invocation_wrote_is_found_from_its_caller() {
    let (program, state) = (address("program"), address("state"));
    let mut svm = Svm::new();
    svm.add_program(program, assemble(LONG_CALLEE)).unwrap();
    let account =
        Account { lamports: 1_000_000, data: vec![0; 8], owner: program, ..Account::default() };
    svm.set_account(state, account).unwrap();
    let accounts = vec![AccountMeta::new(state, false), AccountMeta::new_readonly(program, false)];
    let call = Instruction { program_id: program, accounts, data: vec![] };
    let timeline = timeline(svm.record_instructions("long", &[call], &[]));
    let [caller, callee] = timeline.invocations() else { panic!("{:?}", timeline.invocations()) };
    let call = callee.call.unwrap().step;
    let (_, data) = place(&timeline, 0, 0, |it| it.data);
    let write = timeline.last_write(caller.steps.end, 0, data, 8).unwrap();
    assert_eq!(write.writer, Writer::Syscall("sol_invoke_signed_c".to_owned()));
    assert_eq!((write.step, write.old[0], write.new[0]), (call, 1, 2));
    let write = timeline.last_write(call, 0, data, 8).unwrap();
    assert_eq!((write.step, write.old[0], write.new[0]), (2, 0, 1));
    let write = timeline.last_write(callee.steps.end, 1, data, 8).unwrap();
    assert_eq!((write.step, write.old[0], write.new[0]), (callee.steps.start + 2, 1, 2));
}

/// Creates an associated token account, mints to it, and transfers from it.
fn transferred() -> Timeline {
    let payer = keypair("payer");
    let (mint, owner) = (address("mint"), keypair("owner"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let token = programs::TOKEN.id;
    svm.set_mint(mint, &token, &payer.pubkey(), 6).unwrap();
    let account = token::associated_address(&token, &owner.pubkey(), &mint);
    let instructions = [
        token::create_associated(&token, &payer.pubkey(), &owner.pubkey(), &mint),
        token::mint_to(&token, &mint, &account, &payer.pubkey(), 70),
        token::transfer_checked(&token, &account, &mint, &account, &owner.pubkey(), 7, 6),
    ];
    let transaction = svm.sign(&instructions, &[&payer, &owner]).unwrap();
    timeline(svm.record("transfer", &transaction))
}

/// Returns where an invocation sees a part of an account, and its last step.
fn place(
    timeline: &Timeline,
    invocation: usize,
    account: usize,
    part: fn(&AccountLayout) -> usize,
) -> (u64, u64) {
    let step = timeline.invocations()[invocation].steps.end - 1;
    let state = timeline.state_at(step);
    let level = state.levels.iter().find(|it| it.invocation == invocation).unwrap();
    (step, vaddr(part(level.layout.account(account).unwrap())))
}

#[test]
fn what_an_invoked_program_wrote_is_found_in_it() {
    let timeline = associated();
    let caller_end = timeline.invocations()[0].steps.end;
    let (_, data) = place(&timeline, 0, 1, |it| it.data);
    let write = timeline.last_write_anywhere(caller_end, 0, data, 32).unwrap();
    let writer = &timeline.invocations()[write.invocation];
    assert_eq!((writer.program, writer.stack_height), (programs::TOKEN.id, 2));
    assert!(writer.steps.contains(&write.step));
    assert_eq!(write.writer, Writer::Instruction);
    assert_eq!(timeline.state_at(write.step).levels.last().unwrap().pc, write.pc);
    let bytes = write.account.unwrap();
    assert_eq!((bytes.part, bytes.offset, bytes.len), (Part::Data, 0, 32));
    let at = write.new.iter().zip(&write.old).position(|(new, old)| new != old).unwrap();
    assert_eq!(write.new[at], address("mint").to_bytes()[at]);
}

#[test]
fn what_a_builtin_program_wrote_is_found_from_its_caller_and_its_callers_callees() {
    let timeline = associated();
    let builtin = Writer::Builtin(selkie::ids::system_program::ID);
    let token = programs::TOKEN.id;
    // The program that initializes the account did not make the token program its owner.
    let initialize = timeline.invocations().iter().rposition(|it| it.program == token).unwrap();
    for (invocation, account) in [(0, 1), (initialize, 0)] {
        let (step, owner) = place(&timeline, invocation, account, |it| it.owner);
        let write = timeline.last_write_anywhere(step, invocation, owner, 32).unwrap();
        assert_eq!((&write.writer, write.account.unwrap().part), (&builtin, Part::Owner));
        assert_eq!((&write.old[..], &write.new[..]), (&[0; 32][..], token.as_ref()));
        let writer = &timeline.invocations()[write.invocation];
        assert_eq!((writer.stack_height, writer.call.unwrap().step), (2, write.step));
    }
}

#[test]
fn what_an_earlier_instruction_wrote_is_found_in_it() {
    let timeline = transferred();
    let invocations = timeline.invocations();
    let transfer = invocations.len() - 1;
    let (start, amount) = (invocations[transfer].steps.start, 64);
    let (_, data) = place(&timeline, transfer, 0, |it| it.data);
    // The amount was minted by the instruction before.
    let write = timeline.last_write_anywhere(start, transfer, data + amount, 8).unwrap();
    let writer = &invocations[write.invocation];
    assert_eq!((writer.instruction_index, writer.stack_height), (1, 1));
    assert_eq!((write.old[0], write.new[0]), (0, 70));
    // The mint was set by a program that the first instruction invoked.
    let write = timeline.last_write_anywhere(start, transfer, data, 32).unwrap();
    let writer = &invocations[write.invocation];
    assert_eq!((writer.instruction_index, writer.stack_height), (0, 2));
    assert_eq!(write.writer, Writer::Instruction);
    // The mint itself is as it was before the transaction, up to its supply.
    let (_, mint) = place(&timeline, transfer, 1, |it| it.data);
    assert_eq!(timeline.last_write_anywhere(start, transfer, mint, 32), None);
    let write = timeline.last_write_anywhere(start, transfer, mint + 36, 8).unwrap();
    assert_eq!((write.new[0], write.account.unwrap().account), (70, address("mint")));
    // Other memory is not followed.
    assert_eq!(timeline.last_write_anywhere(start, transfer, 0x3_0000_0000, 8), None);
}

#[test]
fn an_edit_forks_history() {
    let mut timeline = countdown();
    let steps = timeline.steps();
    timeline.edit(3, Edit::Register(7, 10)).unwrap();
    assert_eq!(timeline.steps(), steps - 29_990 * 6);
    check_states(&timeline, 7);
    timeline.edit(8, Edit::Memory(0x3_0000_0000, vec![9; 8])).unwrap();
    assert_eq!(timeline.state_at(8).levels[0].memory.read(0x3_0000_0000, 2), [9, 9]);
    for (edit, error) in [
        (Edit::Register(10, 0), EditError::NoSuchRegister(10)),
        (Edit::Memory(0x1_0000_0000, vec![1]), EditError::NotWritable(0x1_0000_0000, 1)),
        (Edit::Memory(u64::MAX, vec![1; 2]), EditError::NotWritable(u64::MAX, 2)),
    ] {
        assert_eq!(timeline.edit(8, edit), Err(error));
    }
    assert_eq!(timeline.edit(steps, Edit::Register(0, 0)), Err(EditError::NoSuchStep(steps)));
    timeline.discard_edits();
    assert_eq!(timeline.steps(), steps);
}

#[test]
fn instructions_are_replayed_with_the_accounts_that_they_were_given() {
    let mut svm = Svm::new();
    svm.add_program(address("countdown"), assemble(COUNTDOWN)).unwrap();
    let accounts =
        vec![AccountMeta::new(address("z"), true), AccountMeta::new(address("a"), false)];
    let call = Instruction { program_id: address("countdown"), accounts, data: vec![1, 2] };
    let rich = selkie::Account { lamports: 10, ..Default::default() };
    let given = [(address("z"), rich.clone()), (address("a"), rich)];
    timeline(svm.record_instructions("given", &[call], &given));
}

#[test]
fn failed_transactions_have_replays() {
    let mut svm = Svm::new();
    svm.add_program(
        address("fails"),
        assemble(".globl entrypoint\nentrypoint:\n mov64 r0, 9\n exit"),
    )
    .unwrap();
    let call = Instruction { program_id: address("fails"), accounts: vec![], data: vec![] };
    let receipt = svm.process_instruction(&call, &[]);
    let timeline = timeline(receipt.replay().expect("it failed"));
    assert_eq!((timeline.steps(), timeline.receipt().compute_units), (2, 2));
    svm.airdrop(&keypair("payer").pubkey(), 1_000_000_000).unwrap();
    let transfer = selkie::system::transfer(&keypair("payer").pubkey(), &address("b"), 1_000_000);
    let receipt = svm.send_instructions(&[transfer], &[&keypair("payer")]).unwrap();
    assert!(receipt.replay().is_none());
}

#[test]
fn malformed_files_are_errors_with_a_place() {
    for (text, expected) in [
        ("{", "not a replay file: line 1: EOF while parsing an object at line 1 column 1"),
        ("{\"selkie_replay\":2}", "line 1: the version is 2, and this build reads 1"),
        ("\n{\"blob\":\"00\",\"data\":\"AA==\"}", "line 2: the data do not have the hash"),
        ("{\"blob\":1}", "line 1: `blob` is not a string"),
        ("{}", "line 1: not a valid replay: `accounts` is missing"),
    ] {
        let error = ReplayFile::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let empty = "{\"accounts\":[],\"blockhash_queue\":[]}";
    let empty = ReplayFile::parse(empty).unwrap();
    let error = empty.timeline(0).unwrap_err().to_string();
    assert!(error.starts_with("not a valid replay: `"), "{error}");
    let error = empty.timeline(3).unwrap_err().to_string();
    assert_eq!(error, "it has one transaction, number 0, and none with number 3");
}

/// A file as version 0.1 wrote it: transactions that succeed, fail and are dropped, one with a lookup table,
/// one with other features and limits, and instructions outside of a transaction.
#[test]
fn replay_files_of_version_1_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/replays/version_1.replay");
    let file = ReplayFile::open(std::path::Path::new(path)).unwrap();
    let ids: Vec<&str> = file.replays().iter().map(Replay::id).collect();
    assert_eq!(
        ids,
        [
            "creates an associated account",
            "is poor",
            "is too old",
            "looks up an address",
            "has a short log",
            "is no transaction",
        ]
    );
    for (index, replay) in file.replays().iter().enumerate() {
        let timeline = file.timeline(index).unwrap();
        assert_eq!(timeline.differences(), Vec::<String>::new(), "{}", replay.id());
        // What is read is written as it was, up to names and blobs.
        let blob = |name: &str| file.blob(name);
        let (case, expected) = (replay.case(&blob).unwrap(), replay.expected(&blob).unwrap());
        let again = Replay::new(replay.id(), &case, &expected.unwrap());
        let again = again.with_names(&replay.names());
        assert_eq!(again.case(&|_| None).unwrap().run_once(), case.run_once());
        let mut lines = [replay, &again].map(|it| serde_json::Value::from(it.clone()));
        for line in &mut lines {
            line["accounts"] = line["accounts"].as_array().unwrap().len().into();
            line["expect"]["post"] = line["expect"]["post"].as_array().unwrap().len().into();
        }
        let [read, mut written] = lines;
        // It names the release whose rules hold, which is 4.3 where a file does not say.
        let release = written.as_object_mut().and_then(|it| it.remove("release"));
        assert_eq!(release, Some("4.3".into()));
        assert_eq!(read, written);
        // It says whether votes are refused, as they are once the cluster has migrated to Alpenglow.
        assert!(!case.environment.is_alpenglow);
        let mut migrated = case;
        Arc::make_mut(&mut migrated.environment).is_alpenglow = true;
        let again = Replay::new(replay.id(), &migrated, &replay.expected(&blob).unwrap().unwrap());
        assert!(again.case(&|_| None).unwrap().environment.is_alpenglow);
    }
    let gold = file.timeline(0).unwrap().svm().show(&address("mint"));
    assert!(gold.starts_with("gold ("), "{gold}");
}
