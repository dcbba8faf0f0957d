//! Random histories on several threads, compared with a model that knows which program runs where.
//!
//! In the model every bank has a copy of all programs and features. Programs are deployed, upgraded
//! and closed by instructions, or replaced directly without telling the cache; the cache is far too
//! small, forks die, and features change the loader environment. Every call must have the result
//! that the model predicts.

mod common;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use common::*;
use selkie_bank::{Bank, BankError, Forks, Options, Outcome};
use selkie_isa::Version;
use selkie_svm::{
    Engine, Feature, FeatureSet, ProcessOptions, ProgramCache, Transaction,
    program_cache::CacheOptions,
};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_transaction_error::TransactionError;

/// The number of histories; steps and threads of each follow.
const HISTORIES: u64 = 12;
const STEPS: u64 = 9_000;
const THREADS: u64 = 3;

const PROGRAMS: usize = 24;
/// The cache holds only a part of the programs.
const CACHED: usize = 8;
const BANKS_MAX: usize = 20;

/// The features on which some programs depend.
const FEATURES: [Feature; 5] = [
    Feature::Blake3,
    Feature::Sha512,
    Feature::RemainingComputeUnits,
    Feature::DisableSbpfV0,
    Feature::ReenableSbpfV0,
];

/// A kind of program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kind {
    /// Whether it has sBPF version V0, which features disable and enable again.
    is_old: bool,
    /// The feature whose syscall it calls.
    calls: Option<Feature>,
}

const fn kind(is_old: bool, calls: Option<Feature>) -> Kind {
    Kind { is_old, calls }
}

const KINDS: [Kind; 6] = [
    kind(false, None),
    kind(true, None),
    kind(false, Some(Feature::Blake3)),
    kind(true, Some(Feature::Blake3)),
    kind(false, Some(Feature::Sha512)),
    kind(true, Some(Feature::RemainingComputeUnits)),
];

/// A number that occurs once per ELF file, to be replaced by the version.
const MARK: u32 = 0x5e1c_1e55;

/// The ELF file of each kind, and the offset of its version.
struct Files(Vec<(Vec<u8>, usize)>);

impl Files {
    fn make() -> Self {
        let file = |kind: &Kind| {
            let call = match kind.calls {
                None => "",
                Some(Feature::Blake3) => "call sol_blake3",
                Some(Feature::Sha512) => "call sol_sha512",
                Some(_) => "call sol_remaining_compute_units",
            };
            let source = format!(
                ".globl entrypoint\nentrypoint:\n  mov64 r1, r10\n  mov64 r2, 0\n  \
                 lddw r3, 0x200000000\n  {call}\n  lddw r0, {MARK}\n  exit\n"
            );
            let version = if kind.is_old { Version::V0 } else { Version::V3 };
            let options = selkie_asm::Options { version, ..selkie_asm::Options::default() };
            let output = selkie_asm::assemble(&source, &options);
            let file = output.assembly.expect("it assembles").to_elf();
            let mark = MARK.to_le_bytes();
            let at = file.windows(4).position(|bytes| bytes == mark).unwrap();
            (file, at)
        };
        Self(KINDS.iter().map(file).collect())
    }

    fn get(&self, kind: Kind, version: u32) -> Vec<u8> {
        let index = KINDS.iter().position(|known| *known == kind).unwrap();
        let (mut file, at) = self.0[index].clone();
        file[at..at + 4].copy_from_slice(&version.to_le_bytes());
        file
    }

    /// Returns a file padded to the size of the largest kind.
    fn padded(&self, kind: Kind, version: u32) -> Vec<u8> {
        let len = self.0.iter().map(|(file, _)| file.len()).max().unwrap();
        let mut file = self.get(kind, version);
        file.resize(len, 0);
        file
    }
}

/// A program in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Program {
    /// There is no account.
    Nothing,
    /// There is an account, but it holds no program.
    Closed,
    Deployed {
        slot: u64,
        kind: Kind,
        version: u32,
    },
}

impl Kind {
    /// Returns whether its sBPF version is enabled.
    fn is_current(self, features: FeatureSet) -> bool {
        !self.is_old
            || !features.has(Feature::DisableSbpfV0)
            || features.has(Feature::ReenableSbpfV0)
    }

    /// Returns whether the syscall it calls exists.
    fn is_whole(self, features: FeatureSet) -> bool {
        self.calls.is_none_or(|feature| features.has(feature))
    }

    /// Returns whether it can be deployed. From V3 on deployment does not check syscalls.
    fn is_deployed(self, features: FeatureSet) -> bool {
        self.is_current(features) && (!self.is_old || self.is_whole(features))
    }
}

impl Program {
    /// Returns the result of a call.
    fn result(self, slot: u64, features: FeatureSet) -> Result<(), TransactionError> {
        match self {
            Self::Nothing => Err(TransactionError::ProgramAccountNotFound),
            Self::Closed => unsupported_program(),
            // Programs of slot 0 are part of the genesis.
            Self::Deployed { slot: deployed, .. } if deployed != 0 && deployed >= slot => {
                unsupported_program()
            }
            Self::Deployed { kind, .. } if !kind.is_current(features) => unsupported_program(),
            Self::Deployed { kind, .. } if !kind.is_whole(features) => no_syscall(),
            Self::Deployed { version: number, .. } => version(number),
        }
    }
}

/// A bank, with its state in the model.
struct Known {
    bank: Arc<Bank>,
    is_gone: AtomicBool,
    contents: RwLock<Contents>,
}

#[derive(Clone)]
struct Contents {
    features: FeatureSet,
    pending: FeatureSet,
    programs: [Program; PROGRAMS],
    is_frozen: bool,
}

impl Contents {
    /// Returns the model's state of a new child.
    fn child(&self, parent: u64, slot: u64) -> Self {
        let mut contents = Self { is_frozen: false, ..self.clone() };
        if parent / SLOTS_PER_EPOCH < slot / SLOTS_PER_EPOCH {
            let all = contents.features.iter().chain(contents.pending.iter());
            contents.features = all.collect();
            contents.pending = FeatureSet::none();
        }
        contents
    }
}

#[derive(Default, Debug)]
struct Counts {
    sent: AtomicU64,
    calls: AtomicU64,
    ran: AtomicU64,
    instructions: AtomicU64,
    by_hand: AtomicU64,
    banks: AtomicU64,
    roots: AtomicU64,
    dead: AtomicU64,
    activations: AtomicU64,
    interrupted: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

struct Model<'a> {
    forks: Forks,
    files: &'a Files,
    addresses: &'a [ProgramAddresses],
    options: ProcessOptions,
    banks: Mutex<BTreeMap<u64, Arc<Known>>>,
    steps: AtomicU64,
    counts: &'a Counts,
}

/// A pseudo-random number generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn version(&mut self) -> u32 {
        u32::try_from(self.next() >> 9).unwrap() | 1
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Another thread has rooted or killed the bank.
struct Interrupted;

type Step = Result<(), Interrupted>;

impl Known {
    fn new(bank: Arc<Bank>, contents: Contents) -> Arc<Self> {
        Arc::new(Self { bank, is_gone: AtomicBool::new(false), contents: RwLock::new(contents) })
    }

    /// Returns the bank's answer, or `Interrupted` if the bank is gone, which the model must know.
    fn ask<T>(&self, answer: Result<T, BankError>) -> Result<T, Interrupted> {
        answer.map_err(|error| {
            let is_gone = matches!(error, BankError::Dead(_) | BankError::Rooted(_));
            assert!(is_gone && self.is_gone.load(Ordering::SeqCst), "{error}");
            Interrupted
        })
    }

    fn transaction(&self, payer: usize, instructions: &[Instruction]) -> Transaction {
        let payer = key(u8::try_from(100 + payer).unwrap());
        transaction_by(payer, self.bank.latest_blockhash(), instructions)
    }
}

impl Model<'_> {
    fn work(&self, seed: u64) {
        let mut numbers = Numbers(seed);
        while self.steps.fetch_add(1, Ordering::Relaxed) < STEPS {
            if self.step(&mut numbers).is_err() {
                count(&self.counts.interrupted);
            }
        }
    }

    fn step(&self, numbers: &mut Numbers) -> Step {
        let what = numbers.below(100);
        let known = {
            let banks = self.banks.lock().unwrap();
            let is_open = |known: &Arc<Known>| !known.bank.is_frozen();
            let wants_open = (9..50).contains(&what);
            let all: Vec<_> = banks.values().filter(|it| !wants_open || is_open(it)).collect();
            let Some(last) = all.len().checked_sub(1) else { return Ok(()) };
            Arc::clone(all[numbers.below(last + 1)])
        };
        let program = numbers.below(PROGRAMS);
        match what {
            0..=6 => {
                self.new_bank(&known, numbers);
                Ok(())
            }
            7 => self.set_root(&known),
            8 if numbers.below(3) == 0 => self.mark_dead(&known),
            9..=11 => self.freeze(&known),
            12..=17 => self.deploy_or_upgrade(&known, program, numbers),
            18..=19 => self.close(&known, program),
            20..=23 => self.replace_directly(&known, program, numbers),
            24 => self.make_pending(&known, numbers.pick(&FEATURES)),
            25..=29 => self.call_in_batch(&known, numbers),
            _ => self.call(&known, program, numbers),
        }
    }

    fn new_bank(&self, parent: &Known, numbers: &mut Numbers) {
        let mut banks = self.banks.lock().unwrap();
        let contents = parent.contents.read().unwrap();
        let slot = parent.bank.slot() + 1 + numbers.next() % 3;
        let is_possible = !banks.contains_key(&slot)
            && contents.is_frozen
            && !parent.is_gone.load(Ordering::SeqCst);
        if !is_possible || banks.len() >= BANKS_MAX {
            return;
        }
        let bank = self.forks.new_bank(parent.bank.slot(), slot).unwrap();
        let child = contents.child(parent.bank.slot(), slot);
        assert_eq!(bank.features(), child.features, "slot {slot}");
        if child.features != contents.features {
            count(&self.counts.activations);
        }
        count(&self.counts.banks);
        banks.insert(slot, Known::new(bank, child));
    }

    fn freeze(&self, known: &Known) -> Step {
        let mut contents = known.contents.write().unwrap();
        known.ask(known.bank.freeze())?;
        contents.is_frozen = true;
        Ok(())
    }

    fn set_root(&self, known: &Known) -> Step {
        let mut banks = self.banks.lock().unwrap();
        let is_frozen = known.contents.read().unwrap().is_frozen;
        // Setting roots rarely lets chains grow longer.
        if !is_frozen || known.is_gone.load(Ordering::SeqCst) || banks.len() < BANKS_MAX / 2 {
            return Ok(());
        }
        Self::remove_banks(&mut banks, |other| other.is_descendant_or_same(known));
        self.forks.set_root(known.bank.slot()).unwrap();
        count(&self.counts.roots);
        Ok(())
    }

    fn mark_dead(&self, known: &Known) -> Step {
        let mut banks = self.banks.lock().unwrap();
        let is_root = self.forks.root().slot() == known.bank.slot();
        if is_root || known.is_gone.load(Ordering::SeqCst) {
            return Ok(());
        }
        Self::remove_banks(&mut banks, |other| !other.is_descendant_or_same(known));
        self.forks.mark_dead(known.bank.slot()).unwrap();
        count(&self.counts.dead);
        Ok(())
    }

    /// Removes banks from the model before the forks drop them.
    fn remove_banks(banks: &mut BTreeMap<u64, Arc<Known>>, is_kept: impl Fn(&Descent<'_>) -> bool) {
        let parents: BTreeMap<u64, Option<u64>> =
            banks.iter().map(|(slot, known)| (*slot, known.bank.parent_slot())).collect();
        banks.retain(|slot, known| {
            let kept = is_kept(&Descent { slot: *slot, parents: &parents });
            if !kept {
                known.is_gone.store(true, Ordering::SeqCst);
            }
            kept
        });
    }

    fn deploy_or_upgrade(&self, known: &Known, program: usize, numbers: &mut Numbers) -> Step {
        let mut contents = known.contents.write().unwrap();
        if contents.is_frozen {
            return Ok(());
        }
        let (slot, addresses) = (known.bank.slot(), &self.addresses[program]);
        let (kind, version) = (numbers.pick(&KINDS), numbers.version());
        let file = self.files.padded(kind, version);
        let before = contents.programs[program];
        let (tag, refused) = match before {
            Program::Deployed { slot: deployed, .. } => (3, deployed == slot),
            Program::Nothing | Program::Closed => (2, false),
        };
        known.ask(known.bank.set_account(addresses.buffer, buffer(&file)))?;
        let instruction = if tag == 3 {
            upgrade_instruction(addresses)
        } else {
            known.ask(known.bank.set_account(addresses.id, owned(vec![0; 36])))?;
            contents.programs[program] = Program::Closed;
            deploy_instruction(addresses, file.len())
        };
        let result = self.send(known, instruction)?;
        count(&self.counts.instructions);
        let refusal = |error| Err(TransactionError::InstructionError(0, error));
        let expected = match () {
            () if refused => refusal(InstructionError::InvalidArgument),
            () if !kind.is_deployed(contents.features) => {
                refusal(InstructionError::InvalidAccountData)
            }
            () => Ok(()),
        };
        assert_eq!(result, expected, "{before:?} {kind:?} at {slot}");
        if result.is_ok() {
            contents.programs[program] = Program::Deployed { slot, kind, version };
        }
        Ok(())
    }

    fn close(&self, known: &Known, program: usize) -> Step {
        let mut contents = known.contents.write().unwrap();
        let Program::Deployed { slot, .. } = contents.programs[program] else { return Ok(()) };
        if contents.is_frozen {
            return Ok(());
        }
        let result = self.send(known, close(&self.addresses[program]))?;
        count(&self.counts.instructions);
        if slot == known.bank.slot() {
            let error = InstructionError::InvalidArgument;
            assert_eq!(result, Err(TransactionError::InstructionError(0, error)));
        } else {
            assert_eq!(result, Ok(()));
            contents.programs[program] = Program::Closed;
        }
        Ok(())
    }

    /// Replaces a program's file directly, with the same or another deployment slot.
    fn replace_directly(&self, known: &Known, program: usize, numbers: &mut Numbers) -> Step {
        let mut contents = known.contents.write().unwrap();
        if contents.is_frozen {
            return Ok(());
        }
        let (kind, version) = (numbers.pick(&KINDS), numbers.version());
        let slot = match contents.programs[program] {
            Program::Deployed { slot, .. } if numbers.below(2) == 0 => slot,
            _ => numbers.next() % (known.bank.slot() + 1),
        };
        let addresses = &self.addresses[program];
        let data = program_data(slot, &self.files.padded(kind, version));
        known.ask(known.bank.set_account(addresses.data, data))?;
        known.ask(known.bank.set_account(addresses.id, program_account(&addresses.data)))?;
        contents.programs[program] = Program::Deployed { slot, kind, version };
        count(&self.counts.by_hand);
        Ok(())
    }

    fn make_pending(&self, known: &Known, feature: Feature) -> Step {
        let mut contents = known.contents.write().unwrap();
        if !contents.is_frozen && !contents.features.has(feature) {
            known.ask(known.bank.set_account(feature.address(), pending()))?;
            contents.pending = contents.pending.with(feature);
        }
        Ok(())
    }

    fn call(&self, known: &Known, program: usize, numbers: &mut Numbers) -> Step {
        let salt = numbers.next();
        let instruction = call(self.addresses[program].id, salt);
        let contents = known.contents.read().unwrap();
        let sent = known.transaction(numbers.below(20), &[instruction]);
        let outcome = known.ask(if contents.is_frozen {
            known.bank.simulate(&sent, &self.options)
        } else {
            known.bank.process(&sent, &self.options)
        })?;
        let expected = contents.programs[program].result(known.bank.slot(), contents.features);
        self.check(&expected, outcome, known);
        Ok(())
    }

    /// Calls many programs in one batch, one of which is closed halfway.
    fn call_in_batch(&self, known: &Known, numbers: &mut Numbers) -> Step {
        let mut contents = known.contents.write().unwrap();
        if contents.is_frozen {
            return Ok(());
        }
        let slot = known.bank.slot();
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for payer in 0..10 {
            let program = numbers.below(PROGRAMS);
            let closes = numbers.below(10) == 0;
            match contents.programs[program] {
                Program::Deployed { slot: deployed, .. } if closes && deployed < slot => {
                    let salt = numbers.next() % 1_000_000;
                    let salt = transfer(PAYER, key(118), salt);
                    sent.push(known.transaction(0, &[close(&self.addresses[program]), salt]));
                    expected.push(Ok(()));
                    contents.programs[program] = Program::Closed;
                }
                known_program => {
                    let instruction = call(self.addresses[program].id, numbers.next());
                    sent.push(known.transaction(payer, &[instruction]));
                    expected.push(known_program.result(slot, contents.features));
                }
            }
        }
        let outcomes = known.ask(known.bank.process_batch(&sent, &self.options, 2))?;
        for (expected, outcome) in expected.iter().zip(outcomes) {
            self.check(expected, outcome, known);
        }
        Ok(())
    }

    fn check(&self, expected: &Result<(), TransactionError>, outcome: Outcome, known: &Known) {
        let processed = outcome.expect("it is charged at least");
        let slot = known.bank.slot();
        assert_eq!(processed.result, *expected, "slot {slot}: {:?}", processed.logs);
        count(&self.counts.calls);
        if matches!(
            expected,
            Err(TransactionError::InstructionError(_, InstructionError::Custom(_)))
        ) {
            count(&self.counts.ran);
        }
    }

    fn send(
        &self,
        known: &Known,
        instruction: Instruction,
    ) -> Result<Result<(), TransactionError>, Interrupted> {
        let salt = self.counts.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let sent = known.transaction(0, &[instruction, transfer(PAYER, key(118), salt)]);
        let outcome = known.ask(known.bank.process(&sent, &self.options))?;
        Ok(outcome.expect("it is charged at least").result)
    }
}

/// A slot and its ancestors.
struct Descent<'a> {
    slot: u64,
    parents: &'a BTreeMap<u64, Option<u64>>,
}

impl Descent<'_> {
    fn is_descendant_or_same(&self, ancestor: &Known) -> bool {
        let mut slot = Some(self.slot);
        while let Some(at) = slot {
            if at == ancestor.bank.slot() {
                return true;
            }
            slot = self.parents.get(&at).copied().flatten();
        }
        false
    }
}

fn run(history: u64, files: &Files, addresses: &[ProgramAddresses], counts: &Counts) -> Forks {
    let mut numbers = Numbers(history);
    let cache =
        ProgramCache::with_options(CacheOptions { entries_max: CACHED, ..CacheOptions::default() });
    let (mut state, mut programs) = (genesis(), [Program::Nothing; PROGRAMS]);
    for (it, program) in addresses.iter().zip(&mut programs).take(PROGRAMS - 4) {
        let (kind, version) = (numbers.pick(&KINDS), numbers.version());
        put_program(&mut state, it, 0, &files.padded(kind, version));
        *program = Program::Deployed { slot: 0, kind, version };
    }
    let forks = Forks::new(state, Arc::new(cache), Options::default());
    let contents = Contents {
        features: FeatureSet::mainnet(),
        pending: FeatureSet::none(),
        programs,
        is_frozen: true,
    };
    let root = Known::new(forks.root(), contents);
    // Both engines cache what they derive from a program.
    let engine = if history.is_multiple_of(2) { Engine::default() } else { Engine::Interpreter };
    let model = Model {
        forks,
        files,
        addresses,
        options: ProcessOptions { verify_signatures: false, engine, budget: None },
        banks: Mutex::new(BTreeMap::from([(0, root)])),
        steps: AtomicU64::new(0),
        counts,
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let model = &model;
            scope.spawn(move || model.work(history * 1000 + thread + 1));
        }
    });
    model.forks
}

#[test]
fn every_call_runs_the_program_of_its_fork_and_epoch() {
    let files = Files::make();
    let addresses: Vec<ProgramAddresses> =
        (0..PROGRAMS).map(|index| addresses(u8::try_from(index + 1).unwrap())).collect();
    let counts = Counts::default();
    let (mut evictions, mut reloads, mut pruned) = (0, 0, 0);
    for history in 0..HISTORIES {
        let forks = run(history, &files, &addresses, &counts);
        // No state of other forks may be left.
        let last = forks.highest_frozen().slot();
        forks.set_root(last).unwrap();
        forks.slots().into_iter().filter(|slot| *slot != last).for_each(|slot| {
            let _ = forks.mark_dead(slot);
        });
        let accounts = forks.root().accounts().unwrap().len();
        assert_eq!(forks.account_versions(), accounts);
        let statistics = forks.programs().statistics();
        evictions += statistics.evictions;
        reloads += statistics.reloads;
        pruned += statistics.pruned;
    }
    println!("{counts:?} evictions {evictions} reloads {reloads} pruned {pruned}");
    let [calls, ran, instructions, by_hand, banks, roots, dead, activations] = [
        counts.calls,
        counts.ran,
        counts.instructions,
        counts.by_hand,
        counts.banks,
        counts.roots,
        counts.dead,
        counts.activations,
    ]
    .map(AtomicU64::into_inner);
    assert!(calls > 50_000 && ran > calls / 10, "{calls} {ran}");
    assert!(instructions > 1000 && by_hand > 1000, "{instructions} {by_hand}");
    assert!(banks > 1000 && roots > 100 && dead > 50, "{banks} {roots} {dead}");
    assert!(activations > HISTORIES && evictions > 1000 && reloads > 100 && pruned > 100);
}
