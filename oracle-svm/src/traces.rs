//! Register traces of random transactions: the files that tools write for agave's engine, and those of
//! `selkie trace --agave`, byte for byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Programs, agave};
use selkie_svm::Engine;
use sha2::{Digest, Sha256};

use crate::{
    agave::{Agave, Trace, Traced, elf},
    case::{Accounts, Case, Key},
    generate::{generate, ids::*, world::program_data_of},
    observed::{Observed, name},
    run::Source,
    vector,
};

/// Names and contents.
type Files = BTreeMap<String, Vec<u8>>;

/// The length from which a program is large.
const LARGE: usize = 10_000;

/// r0 to r10 and the slot.
const STEP_BYTES: usize = 12 * 8;

/// Programs that a run must have traced, whatever its length.
const NAMED: [(Key, &str); 3] =
    [(TOKEN, "SPL Token"), (TOKEN_2022, "Token-2022"), (ASSOCIATED, "Associated Token Account")];

/// What was compared, and differences.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) transactions: u64,
    files: u64,
    steps: u64,
    /// Invocations by other invocations.
    nested: u64,
    failed: u64,
    /// Transactions of which agave's compiled code traced more than was executed (see [`ran_on`]).
    ran_on: u64,
    /// Steps by program, of those that have names.
    programs: BTreeMap<Key, u64>,
    /// The first differences.
    pub(crate) differing: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.files += other.files;
        self.steps += other.steps;
        self.nested += other.nested;
        self.failed += other.failed;
        self.ran_on += other.ran_on;
        for (program, steps) in other.programs {
            *self.programs.entry(program).or_default() += steps;
        }
        self.differing.extend(other.differing);
    }

    fn count(&mut self, traced: &Traced, files: &Files) {
        self.transactions += 1;
        self.failed += u64::from(traced.observed.result != "Ok");
        self.files += files.len() as u64;
        let nested = traced.observed.inner.iter().flatten();
        self.nested += nested.filter(|it| it.stack_height > 1).count() as u64;
        for trace in &traced.traces {
            let steps = trace.registers.len() as u64;
            self.steps += steps;
            *self.programs.entry(trace.program).or_default() += steps;
        }
    }

    /// Returns the named programs of which nothing was compared.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let missing = NAMED.iter().filter(|(id, _)| !self.programs.contains_key(id));
        missing.map(|(_, name)| *name).collect()
    }

    pub(crate) fn report(&self) -> String {
        let Self { transactions, files, steps, nested, failed, .. } = self;
        let mut text = String::new();
        writeln!(
            text,
            "{transactions} transactions ({failed} failed, {nested} inner instructions), {steps} \
             steps, {files} files, {} transactions differ",
            self.differing.len()
        )
        .expect("text");
        let named = NAMED.iter().map(|(id, name)| {
            format!("{name}: {} steps", self.programs.get(id).copied().unwrap_or_default())
        });
        if self.ran_on > 0 {
            let told = "ended by a trap at which agave's compiled code traces on";
            writeln!(text, "  {} {told}", self.ran_on).expect("text");
        }
        writeln!(text, "  {}", named.collect::<Vec<_>>().join(", ")).expect("text");
        text
    }
}

/// Compares the transactions of random cases which executed instructions of programs. If no engine of
/// agave's is chosen, every second case is interpreted, and the others are compiled.
pub(crate) fn run(
    source: &Source<'_>,
    engine: Engine,
    indices: &mut dyn Iterator<Item = u64>,
    stop: impl Fn(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    let (mut compiler, mut interpreter) = (Agave::default(), Agave::interpreter());
    for index in indices {
        let case = generate(source.world, source.seed, index, &source.choice);
        // The threads take the indices in turn, so that parity would give each of two one engine.
        let interprets = match engine {
            Engine::Interpreter => true,
            Engine::Jit => false,
            _ => index / 2 % 2 == 0,
        };
        let agave = if interprets { &mut interpreter } else { &mut compiler };
        for (at, traced) in agave.trace(&case).into_iter().enumerate() {
            if traced.traces.is_empty() {
                continue;
            }
            let expected = files(&traced.before, &traced.traces);
            tally.count(&traced, &expected);
            let found = replayed(&case, at, &traced);
            if let Ok(found) = &found
                && !interprets
                && ran_on(&traced.observed, &expected, found)
            {
                tally.ran_on += 1;
                continue;
            }
            if let Some(why) = found.map_or_else(Some, |found| difference(&expected, &found)) {
                let id = format!("seed {} case {index} {} transaction {at}", source.seed, case.id);
                let engine = if interprets { "interpreted" } else { "compiled" };
                tally.differing.push(format!("{id}, {engine} ({}): {why}", traced.observed.result));
            }
        }
        if stop(&tally) {
            break;
        }
    }
    tally
}

/// The files that LiteSVM's and Mollusk's handlers write for traces (`register_tracing.rs` in both).
fn files(accounts: &Accounts, traces: &[Trace]) -> Files {
    let mut files = Files::new();
    for trace in traces {
        let registers = trace.registers.iter().flatten().flat_map(|word| word.to_ne_bytes());
        let registers: Vec<u8> = registers.collect();
        let stem = sha256(&registers)[..16].to_owned();
        let instructions = trace.registers.iter().flat_map(|step| {
            let start = step[11] as usize * 8;
            trace.text[start..start + 8].iter().copied()
        });
        files.insert(format!("{stem}.insns"), instructions.collect());
        files.insert(format!("{stem}.program_id"), name(&trace.program).into_bytes());
        if let Some(elf) = elf(accounts, &trace.program) {
            files.insert(format!("{stem}.exec.sha256"), sha256(elf).into_bytes());
        }
        files.insert(format!("{stem}.regs"), registers);
    }
    files
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the files of `selkie trace --agave` for a replay of the transaction, except for the list of
/// programs.
fn replayed(case: &Case, at: usize, traced: &Traced) -> Result<Files, String> {
    let timeline = timeline(case, at, traced)?;
    if let Some(difference) = timeline.differences().first() {
        return Err(format!("the replay's result differs: {difference}"));
    }
    let mut files = agave::files(&timeline, &mut Programs::default());
    files.remove("program_ids.map");
    Ok(files)
}

fn timeline(case: &Case, at: usize, traced: &Traced) -> Result<Timeline, String> {
    let mut alone = case.clone();
    alone.accounts = traced.before.clone();
    alone.transactions = vec![case.transactions[at].clone()];
    alone.already_processed = false;
    // What keeps a transaction from running has been checked.
    alone.sigverify = false;
    keep_what_is_used(&mut alone.accounts, &alone.transactions[0]);
    let line = vector::write(&alone, &traced.observed);
    let file = ReplayFile::parse(&line).map_err(|error| error.to_string())?;
    file.timeline(0).map_err(|error| error.to_string())
}

/// Removes large programs that the transaction does not name: a replay is text, and they make it long.
fn keep_what_is_used(accounts: &mut Accounts, bytes: &[u8]) {
    let is_named = |key: &Key| bytes.windows(key.len()).any(|it| it == key);
    let uses_tables = accounts.iter().any(|(key, it)| it.owner == TABLES && is_named(key));
    if uses_tables {
        return;
    }
    let programs = accounts.iter().filter(|(key, it)| it.owner == LOADER_V3 && is_named(key));
    let files: BTreeSet<Key> = programs.map(|(key, _)| program_data_of(key)).collect();
    accounts.retain(|key, account| {
        let is_program = [LOADER_V1, LOADER_V2, LOADER_V3].contains(&account.owner);
        !is_program || account.data.len() < LARGE || files.contains(key) || is_named(key)
    });
}

/// Returns the registers of `files` that `others` does not have.
fn only_in<'a>(files: &'a Files, others: &Files) -> Vec<&'a [u8]> {
    let registers = files.iter().filter(|(name, _)| name.ends_with(".regs"));
    registers.filter(|(name, _)| !others.contains_key(*name)).map(|it| &it.1[..]).collect()
}

/// Whether a program ended by a trap, and agave's trace has more steps than ours. Compiled code counts
/// compute units at the end of a block, and so traces the instructions up to there, whose effects are
/// lost; and it traces once more at an unsupported instruction. The interpreters of both sides agree.
fn ran_on(observed: &Observed, expected: &Files, found: &Files) -> bool {
    let traps = ["exceeded CUs meter", "unsupported BPF instruction"];
    let is_trap = observed.logs.iter().any(|line| traps.iter().any(|it| line.contains(it)));
    let (left, right) = (only_in(expected, found), only_in(found, expected));
    is_trap
        && expected.len() == found.len()
        && matches!((&left[..], &right[..]), ([left], [right]) if left.starts_with(right))
}

/// Returns how the files differ: which of them, and for registers, from which step on.
fn difference(expected: &Files, found: &Files) -> Option<String> {
    let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let differing = names.iter().filter(|name| expected.get(**name) != found.get(**name)).count();
    if differing == 0 {
        return None;
    }
    let (left, right) = (only_in(expected, found), only_in(found, expected));
    let mut text = format!("{differing} files differ");
    for (left, right) in left.iter().zip(&right) {
        let steps = |it: &[u8]| it.len() / STEP_BYTES;
        let same = left.chunks(STEP_BYTES).zip(right.chunks(STEP_BYTES));
        let same = same.take_while(|(left, right)| left == right).count();
        let (left, right) = (steps(left), steps(right));
        write!(text, "; agave's {left} steps, ours {right}, the first {same} equal").expect("text");
    }
    Some(text)
}
