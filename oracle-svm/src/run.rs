//! Runs random cases on both sides, and counts and reports the results.

use std::{
    collections::BTreeMap,
    fmt::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use crate::{
    agave::Agave,
    case::{Accounts, Case},
    generate::{Choice, generate, world::World},
    observed::{Observed, Stage},
    shrink::shrink,
    vector,
};

/// The side that agave is compared with.
pub(crate) trait Peer {
    fn run(&mut self, case: &Case) -> Vec<Observed>;
}

impl Peer for Agave {
    fn run(&mut self, case: &Case) -> Vec<Observed> {
        Agave::run(self, case)
    }
}

/// Counts and differences, for the report.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    transactions: u64,
    /// How many transactions, and how many that succeeded.
    themes: BTreeMap<String, [u64; 2]>,
    /// Number of transactions by result.
    kinds: BTreeMap<String, u64>,
    /// Number of transactions by their maximum stack height.
    heights: BTreeMap<u8, u64>,
    lines: u64,
    /// Cases with known differences.
    known: u64,
    /// Differing cases by the kind of difference, with a report of the first of each.
    pub(crate) differing: BTreeMap<String, Difference>,
}

/// Cases that differ in the same way.
pub(crate) struct Difference {
    pub(crate) count: u64,
    pub(crate) report: String,
    /// Name and line of a vector, if a single transaction shows the difference.
    pub(crate) vector: Option<(String, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.transactions += other.transactions;
        self.lines += other.lines;
        self.known += other.known;
        other
            .kinds
            .into_iter()
            .for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
        for (height, count) in other.heights {
            *self.heights.entry(height).or_default() += count;
        }
        for (theme, counts) in other.themes {
            let own = self.themes.entry(theme).or_default();
            own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
        }
        for (kind, difference) in other.differing {
            match self.differing.get_mut(&kind) {
                Some(known) => known.count += difference.count,
                None => {
                    self.differing.insert(kind, difference);
                }
            }
        }
    }

    fn count(&mut self, case: &Case, observed: &Observed) {
        self.transactions += 1;
        let theme = case.id.split(['/', '_']).nth(1).unwrap_or_default();
        let [all, good] = self.themes.entry(theme.to_owned()).or_default();
        *all += 1;
        *good += u64::from(observed.result == "Ok");
        self.lines += observed.logs.len() as u64;
        *self.kinds.entry(observed.kind()).or_default() += 1;
        if observed.stage == Stage::Executed {
            let heights = observed.inner.iter().flatten().map(|it| it.stack_height);
            *self.heights.entry(heights.max().unwrap_or(1)).or_default() += 1;
        }
    }

    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        let Self { cases, transactions, lines, .. } = self;
        let line = format!("{cases} cases, {transactions} transactions, {lines} log lines");
        let differing: u64 = self.differing.values().map(|it| it.count).sum();
        let ways = self.differing.len();
        writeln!(text, "{line}, {differing} cases differ in {ways} ways").expect("text");
        if self.known > 0 {
            writeln!(text, "  {} more as is known", self.known).expect("text");
        }
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|it| std::cmp::Reverse(*it.1));
        for (kind, count) in kinds {
            let share = *count as f64 * 100.0 / (*transactions).max(1) as f64;
            writeln!(text, "  {share:5.1} % {count:>8} {kind}").expect("text");
        }
        let themes = self.themes.iter();
        let themes: Vec<_> =
            themes.map(|(theme, [all, good])| format!("{theme}: {good} of {all}")).collect();
        writeln!(text, "  succeeded: {}", themes.join(", ")).expect("text");
        let heights: Vec<_> =
            self.heights.iter().map(|(at, count)| format!("{at}: {count}")).collect();
        writeln!(text, "  executed, by height of the stack: {}", heights.join(", ")).expect("text");
        text
    }
}

/// Where cases come from.
pub(crate) struct Source<'a> {
    pub(crate) world: &'a World,
    pub(crate) seed: u64,
    pub(crate) choice: Choice,
    /// Differences whose text contains one of these are known.
    pub(crate) known: Vec<String>,
}

pub(crate) fn run(
    source: &Source<'_>,
    peer: &mut dyn Peer,
    indices: &mut dyn Iterator<Item = u64>,
    stop: impl Fn(&Tally) -> bool,
) -> Tally {
    let mut agave = Agave::default();
    let mut tally = Tally::default();
    for index in indices {
        let case = generate(source.world, source.seed, index, &source.choice);
        let mut states = Vec::new();
        let expected = agave.run_with_states(&case, |accounts| states.push(accounts.clone()));
        tally.cases += 1;
        expected.iter().for_each(|observed| tally.count(&case, observed));
        if let Some((at, text)) = difference(&expected, &guarded(peer, &case)) {
            if source.known.iter().any(|known| text.contains(known)) {
                tally.known += 1;
                continue;
            }
            let kind = kind(&text);
            if let Some(known) = tally.differing.get_mut(&kind) {
                known.count += 1;
            } else {
                let state = states.swap_remove(at);
                let mut found = report(&case, at, state, &mut agave, peer);
                found.report.insert_str(0, &format!("seed {} case {index} ", source.seed));
                tally.differing.insert(kind, found);
            }
        }
        if stop(&tally) {
            break;
        }
    }
    tally
}

/// Runs a case on `peer`; a panic becomes an error.
pub(crate) fn guarded(peer: &mut dyn Peer, case: &Case) -> Result<Vec<Observed>, String> {
    catch_unwind(AssertUnwindSafe(|| peer.run(case))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("of unknown reason").to_owned()
    })
}

/// Returns the first transaction that differs, and its differences.
pub(crate) fn difference(
    expected: &[Observed],
    observed: &Result<Vec<Observed>, String>,
) -> Option<(usize, String)> {
    let observed = match observed {
        Ok(observed) => observed,
        Err(panic) => return Some((0, format!("  panic: {panic}\n"))),
    };
    for (at, expected) in expected.iter().enumerate() {
        let text = match observed.get(at) {
            Some(observed) => expected.difference(observed),
            None => "  it is missing\n".to_owned(),
        };
        if !text.is_empty() {
            return Some((at, text));
        }
    }
    None
}

/// Classifies a difference: by stages and results, else by the fields that differ.
fn kind(text: &str) -> String {
    let line = |line: &str| {
        let is_told = line.starts_with("  stage") || line.starts_with("  result");
        let told = if is_told { line } else { line.split(':').next().unwrap_or_default() };
        let told = told.split(" account").next().unwrap_or_default();
        told.chars().filter(|it| !it.is_ascii_digit()).collect::<String>()
    };
    let mut lines: Vec<String> =
        text.lines().map(line).filter(|it| !it.trim().is_empty()).collect();
    lines.dedup();
    lines.join(";")
}

/// Shrinks a case and reports it.
fn report(
    case: &Case,
    at: usize,
    state: Accounts,
    agave: &mut Agave,
    peer: &mut dyn Peer,
) -> Difference {
    let mut differs = |case: &Case| difference(&agave.run(case), &guarded(peer, case)).is_some();
    // In most cases one transaction on the state before it is enough.
    let mut alone = case.clone();
    alone.accounts = state;
    alone.transactions = vec![case.transactions[at].clone()];
    alone.already_processed = at == 0 && case.already_processed;
    let start = if differs(&alone) { alone } else { case.clone() };
    let small = shrink(&start, differs);
    let expected = agave.run(&small);
    let observed = guarded(peer, &small);
    let (at, text) = difference(&expected, &observed).unwrap_or((0, "  no longer\n".to_owned()));
    let mut report =
        format!("transaction {at} of {}: agave | peer\n{text}", small.transactions.len());
    for line in &expected[at].logs {
        writeln!(report, "    {line}").expect("text");
    }
    let vector = (small.transactions.len() == 1)
        .then(|| (small.id.replace('/', "_"), vector::write(&small, &expected[0])));
    Difference { count: 1, report, vector }
}

/// Describes agave's results of one case.
pub(crate) fn show(source: &Source<'_>, index: u64) {
    let case = generate(source.world, source.seed, index, &source.choice);
    println!("{}: {} accounts", case.id, case.accounts.len());
    for (observed, bytes) in Agave::default().run(&case).iter().zip(&case.transactions) {
        println!("{:?} {} ({} bytes)", observed.stage, observed.result, bytes.len());
        observed.logs.iter().for_each(|line| println!("    {line}"));
    }
}

/// Vectors on agave's side and on the peer's.
pub(crate) fn vectors(
    cases: impl Iterator<Item = std::io::Result<(Case, Observed)>>,
    peer: &mut dyn Peer,
) -> std::io::Result<bool> {
    let (mut agave, start) = (Agave::default(), Instant::now());
    let (mut count, mut differing) = (0, [0, 0]);
    for case in cases {
        let (case, expected) = case?;
        count += 1;
        let expected = [expected];
        let sides = [("agave", Ok(agave.run(&case))), ("selkie", guarded(peer, &case))];
        for ((side, observed), differing) in sides.into_iter().zip(&mut differing) {
            if let Some((_, text)) = difference(&expected, &observed) {
                *differing += 1;
                print!("{}: expected | {side}\n{text}", case.id);
            }
        }
    }
    let [agave, selkie] = differing;
    let seconds = start.elapsed().as_secs_f64();
    println!("{count} vectors, {agave} differ on agave, {selkie} on selkie, {seconds:.1} s");
    Ok(agave + selkie == 0)
}
