//! Runs random programs by both engines and compares the results.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use selkie_isa::Version;
use selkie_vm::MachineCode;

use crate::{
    anza,
    case::Case,
    generate,
    observed::{Observed, Run, Trace, differences, expectations},
    ours::{self, Gear, Plan},
    rng::Rng,
    shrink::{replay, shrink},
};

/// Counts of executed cases and of their outcomes.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) executions: u64,
    pub(crate) instructions: u64,
    by_style: BTreeMap<(String, &'static str), [u64; 3]>,
    outcomes: BTreeMap<String, u64>,
    verdicts: BTreeMap<String, u64>,
    /// Cases without a meter that did not end.
    endless: u64,
    compiled: u64,
    /// Runs by Selkie's JIT.
    jit: u64,
    /// Cases in which anza's own two engines disagree.
    anza_torn: u64,
    /// The differing cases: index and report.
    pub(crate) differing: Vec<(u64, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.executions += other.executions;
        self.instructions += other.instructions;
        self.endless += other.endless;
        self.compiled += other.compiled;
        self.jit += other.jit;
        self.anza_torn += other.anza_torn;
        self.differing.extend(other.differing);
        for (key, counts) in other.by_style {
            let sums = self.by_style.entry(key).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (mine, theirs) in
            [(&mut self.outcomes, other.outcomes), (&mut self.verdicts, other.verdicts)]
        {
            for (key, count) in theirs {
                *mine.entry(key).or_default() += count;
            }
        }
    }

    /// Formats the counts as a table.
    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "programs            verified  unverified  refused and not run");
        for ((version, style), [verified, unverified, refused]) in &self.by_style {
            let _ = writeln!(
                text,
                "{version} {style:<14} {verified:>10} {unverified:>11} {refused:>9}"
            );
        }
        for (title, counts) in [("outcomes", &self.outcomes), ("verdicts", &self.verdicts)] {
            let _ = writeln!(text, "{title}");
            for (name, count) in counts {
                let _ = writeln!(text, "{count:>10} {name}");
            }
        }
        let _ = writeln!(
            text,
            "{} executions, {} instructions, {} without an end, {} also compiled by Selkie, {} by \
             anza's engine ({} in which its engines disagree), {} differences",
            self.executions,
            self.instructions,
            self.endless,
            self.jit,
            self.compiled,
            self.anza_torn,
            self.differing.len(),
        );
        text
    }
}

/// The index of the case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) seed: u64,
    pub(crate) index: u64,
    /// Whether the case has a smaller budget than it was generated with.
    pub(crate) tightened: bool,
}

impl Place {
    /// Random numbers besides those of the generator.
    fn rng(self, salt: u64) -> Rng {
        Rng::new(self.seed ^ salt, self.index * 2 + u64::from(self.tightened))
    }

    /// How the case is compiled.
    fn plan(self) -> Plan {
        Plan::from_rng(&mut self.rng(0x6a69_7400))
    }

    /// Returns the case with a budget that is too small for it.
    fn tighten(self, case: &Case, consumed: u64) -> Option<(Self, Case)> {
        let mut rng = Self { tightened: true, ..self }.rng(0x7469_6768);
        if consumed == 0 || !case.config.metered {
            return None;
        }
        let budget = match rng.below(3) {
            0 => consumed - 1,
            1 => consumed.saturating_sub(rng.below(12) as u64 + 1),
            _ => rng.below(consumed.try_into().unwrap_or(usize::MAX)) as u64,
        };
        Some((Self { tightened: true, ..self }, Case { budget, ..case.clone() }))
    }

    /// Returns the case after these changes.
    fn case(self, versions: &[Version], changes: &[u32]) -> Option<Case> {
        let mut case = generate::case(self.seed, self.index, versions);
        if self.tightened {
            case = self.tighten(&case, consumed(&anza::observe(&case, false)?))?.1;
        }
        Some(replay(&case, changes))
    }
}

fn consumed(observed: &Observed) -> u64 {
    match &observed.run {
        Some(Ok(run)) => run.consumed,
        _ => 0,
    }
}

/// Runs the cases of `indices` until `stop` returns true. Calls `begin` before each.
pub(crate) fn run(
    seed: u64,
    versions: &[Version],
    indices: impl Iterator<Item = u64>,
    mut stop: impl FnMut(&Tally) -> bool,
    mut begin: impl FnMut(Place),
) -> Tally {
    let mut tally = Tally::default();
    for index in indices {
        let place = Place { seed, index, tightened: false };
        let case = generate::case(seed, index, versions);
        begin(place);
        if let Some(consumed) = compare(place, &case, &mut tally)
            && let Some((place, case)) = place.tighten(&case, consumed)
        {
            begin(place);
            compare(place, &case, &mut tally);
        }
        if stop(&tally) {
            break;
        }
    }
    tally
}

/// Compiles and runs a case after some changes, while another process watches for a crash. Returns
/// the case and its compiler settings.
pub(crate) fn probe(
    place: Place,
    versions: &[Version],
    changes: &[u32],
    run: bool,
) -> Option<(Case, Plan)> {
    let case = place.case(versions, changes)?;
    let ends = case.config.metered || anza::observe(&case, false).is_some();
    if run && ends {
        ours::observe_case(&case, &Gear::Jit(place.plan()));
    }
    Some((case, place.plan()))
}

/// Runs a case by all engines and compares them. Returns the compute units used, if it ended.
fn compare(place: Place, case: &Case, tally: &mut Tally) -> Option<u64> {
    // Every fourth case is traced, which takes another path through Selkie's engine.
    let watched = place.index.is_multiple_of(4) && !place.tightened;
    let Some(anza) = anza::observe(case, watched) else {
        tally.endless += 1;
        return None;
    };
    count(case, &anza, tally);
    let gear = if watched { Gear::Observe } else { Gear::Run };
    let ours = ours::observe_case(case, &gear);
    let difference = differences(case, SIDES, &anza, &ours);
    if !difference.is_empty() {
        let report = reproduction(place, case, gear, &difference);
        tally.differing.push((place.index, report));
    } else if MachineCode::SUPPORTED && matches!(ours.run, Some(Ok(_))) {
        tally.jit += 1;
        let gear = Gear::Jit(place.plan());
        let compiled = ours::observe_case(case, &gear);
        let difference = differences(case, ENGINES, &untraced(ours), &compiled);
        if !difference.is_empty() {
            let report = reproduction(place, case, gear, &difference);
            tally.differing.push((place.index, report));
        }
    }
    if anza::HAS_JIT && place.index.is_multiple_of(8) && anza.verdict.is_ok() {
        second_opinion(case, &anza, tally);
    }
    Some(consumed(&anza))
}

const SIDES: [&str; 2] = ["anza", "ours"];
const ENGINES: [&str; 2] = ["interpreter", "jit"];

/// Compiled code is not traced.
fn untraced(mut observed: Observed) -> Observed {
    if let Some(Ok(run)) = &mut observed.run {
        run.trace = Trace::default();
    }
    observed
}

/// Returns the differences of Selkie's interpreter from anza's engine, or of Selkie's JIT from its
/// interpreter.
fn look(case: &Case, gear: &Gear) -> Option<String> {
    let jit = matches!(gear, Gear::Jit(_));
    if jit && case.config.metered {
        let interpreted = ours::observe_case(case, &Gear::Run);
        return Some(differences(case, ENGINES, &interpreted, &ours::observe_case(case, gear)));
    }
    // Without a meter, only anza's side limits the run.
    let anza = anza::observe(case, *gear == Gear::Observe)?;
    let ours = ours::observe_case(case, gear);
    if jit {
        let interpreted = ours::observe_case(case, &Gear::Run);
        return Some(differences(case, ENGINES, &interpreted, &ours));
    }
    Some(differences(case, SIDES, &anza, &ours))
}

fn count(case: &Case, anza: &Observed, tally: &mut Tally) {
    tally.cases += 1;
    let column = match (&anza.verdict, &anza.run) {
        (Ok(()), _) => 0,
        (Err(_), Some(_)) => 1,
        (Err(_), None) => 2,
    };
    let version = format!("{:?}", case.version);
    tally.by_style.entry((version, case.style)).or_default()[column] += 1;
    *tally.outcomes.entry(anza.outcome()).or_default() += 1;
    let verdict = anza.verdict.as_ref().map_or_else(|text| kind_of(text), |()| "ok".into());
    *tally.verdicts.entry(verdict).or_default() += 1;
    if let Some(Ok(run)) = &anza.run {
        tally.executions += 1;
        tally.instructions += run.consumed;
    }
}

/// A message without its numbers and names.
pub(crate) fn kind_of(text: &str) -> String {
    let mut kind = String::new();
    for (index, part) in text.split('`').enumerate() {
        // Names are in backquotes.
        if index % 2 == 1 {
            kind.push_str("`…`");
            continue;
        }
        for word in part.split_inclusive(' ') {
            let numeric = word.contains(|c: char| c.is_ascii_digit()) && !word.starts_with("r10");
            kind.push_str(if numeric { "# " } else { word });
        }
    }
    kind.trim_end().into()
}

/// Runs the case by anza's JIT and compares it with anza's interpreter.
fn second_opinion(case: &Case, anza: &Observed, tally: &mut Tally) {
    let Some(Ok(interpreted)) = &anza.run else { return };
    tally.compiled += 1;
    let agrees = anza::observe_jit(case).is_ok_and(|compiled| {
        // The compiled code does not keep the depth.
        compiled
            == Run {
                registers: [0; 11],
                trace: Trace::default(),
                return_pcs: Vec::new(),
                depth: compiled.depth,
                ..interpreted.clone()
            }
    });
    tally.anza_torn += u64::from(!agrees);
}

/// Shrinks a differing case, and returns a report from which the difference can be reproduced.
fn reproduction(place: Place, case: &Case, gear: Gear, difference: &str) -> String {
    let first_line = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let same = |case: &Case, gear: &Gear| {
        look(case, gear).is_some_and(|found| first_line(&found) == first_line(difference))
    };
    let simple = Gear::Jit(Plan::plain());
    let small_gear =
        if matches!(gear, Gear::Jit(_)) && same(case, &simple) { simple } else { gear.clone() };
    let small = shrink(case, |case, _| same(case, &small_gear));
    let Place { seed, index, tightened } = place;
    let tightened = if tightened { ", tightened" } else { "" };
    let mut text = format!(
        "seed {seed}, case {index}{tightened}, {gear:?}\n{difference}shrunk to, {small_gear:?}:\n\
         {small}"
    );
    text.extend(look(&small, &small_gear));
    text.extend(vector(&small, &format!("oracle seed {seed} case {index}")));
    text
}

/// The case as a conformance vector with the outcome of anza's engine; `None` if it was not run.
fn vector(case: &Case, name: &str) -> Option<String> {
    match anza::observe(case, true)?.run?.as_ref() {
        Ok(run) => Some(case.to_vector(name, &expectations(case, run)) + "\n"),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use selkie_conform::{Context, Verdict, exec};

    use super::*;

    #[test]
    fn vectors_are_what_conformance_runs() {
        let cases = (0..600).map(|index| generate::case(7, index, &Version::ALL));
        let vectors: Vec<String> = cases
            .filter(Case::can_be_vector)
            .filter(|case| anza::observe(case, false).is_some_and(|it| it.verdict.is_ok()))
            .filter_map(|case| vector(&case, "test"))
            .collect();
        assert!(vectors.len() > 100, "most cases can be told as vectors");
        let context = Context::new(Path::new("test.jsonl"), Arc::default()).expect("built in");
        for vector in vectors {
            let line = serde_json::from_str(&vector).expect("vectors are JSON");
            let verdict = exec::judge(&line, &context).expect("vectors are readable");
            assert!(matches!(verdict, Verdict::Passed), "{verdict:?}: {vector}");
        }
    }

    #[test]
    fn a_wrong_expectation_is_a_difference() {
        let (case, anza) = (0..)
            .map(|index| generate::case(7, index, &Version::ALL))
            .filter_map(|case| anza::observe(&case, true).map(|anza| (case, anza)))
            .find(|(_, anza)| matches!(anza.run, Some(Ok(_))))
            .expect("most cases run");
        let mut ours = ours::observe_case(&case, &Gear::Observe);
        assert_eq!(differences(&case, SIDES, &anza, &ours), "");
        let Some(Ok(run)) = &mut ours.run else { panic!("anza's engine ran it") };
        run.registers[3] ^= 1;
        assert!(differences(&case, SIDES, &anza, &ours).starts_with("r3: "));
    }
}
