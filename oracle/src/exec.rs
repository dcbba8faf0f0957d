//! Random programs on both sides.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use selkie_isa::Version;

use crate::{
    anchor,
    case::Case,
    generate,
    observed::{Observed, Run, Trace, differences, expectations},
    ours::{self, Gear},
    shrink::shrink,
};

/// What was run, and what came of it.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) executions: u64,
    pub(crate) instructions: u64,
    by_style: BTreeMap<(String, &'static str), [u64; 3]>,
    outcomes: BTreeMap<String, u64>,
    verdicts: BTreeMap<String, u64>,
    /// Cases without a meter that did not end.
    endless: u64,
    compiled: u64,
    /// Cases in which the anchor's own two engines disagree.
    anchor_torn: u64,
    /// The differing cases: index and what to print.
    pub(crate) differing: Vec<(u64, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.executions += other.executions;
        self.instructions += other.instructions;
        self.endless += other.endless;
        self.compiled += other.compiled;
        self.anchor_torn += other.anchor_torn;
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

    /// The table of what was run.
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
            "{} executions, {} instructions, {} without an end, {} also compiled by the anchor \
             ({} in which its engines disagree), {} differences",
            self.executions,
            self.instructions,
            self.endless,
            self.compiled,
            self.anchor_torn,
            self.differing.len(),
        );
        text
    }
}

/// Runs the cases of `indices`, until `stop` says so.
pub(crate) fn run(
    seed: u64,
    versions: &[Version],
    indices: impl Iterator<Item = u64>,
    mut stop: impl FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for index in indices {
        let case = generate::case(seed, index, versions);
        compare(seed, index, &case, &mut tally);
        if stop(&tally) {
            break;
        }
    }
    tally
}

fn compare(seed: u64, index: u64, case: &Case, tally: &mut Tally) {
    // Every fourth case is watched step by step: another path through our engine.
    let gear = if index.is_multiple_of(4) { Gear::Observe } else { Gear::Run };
    let Some(anchor) = anchor::observe(case, gear == Gear::Observe) else {
        tally.endless += 1;
        return;
    };
    count(case, &anchor, tally);
    let ours = ours::observe_case(case, gear);
    let difference = differences(case, &anchor, &ours);
    if !difference.is_empty() {
        let report = reproduction(seed, index, case, gear, &difference);
        tally.differing.push((index, report));
    }
    if index.is_multiple_of(8) && anchor.verdict.is_ok() {
        second_opinion(case, &anchor, tally);
    }
}

fn count(case: &Case, anchor: &Observed, tally: &mut Tally) {
    let column = match (&anchor.verdict, &anchor.run) {
        (Ok(()), _) => 0,
        (Err(_), Some(_)) => 1,
        (Err(_), None) => 2,
    };
    let version = format!("{:?}", case.version);
    tally.by_style.entry((version, case.style)).or_default()[column] += 1;
    *tally.outcomes.entry(anchor.outcome()).or_default() += 1;
    let verdict = anchor.verdict.as_ref().map_or_else(|text| kind_of(text), |()| "ok".into());
    *tally.verdicts.entry(verdict).or_default() += 1;
    if let Some(Ok(run)) = &anchor.run {
        tally.executions += 1;
        tally.instructions += run.consumed;
    }
}

/// A message without its numbers and names.
pub(crate) fn kind_of(text: &str) -> String {
    let mut kind = String::new();
    for (index, part) in text.split('`').enumerate() {
        // What stands between backquotes is a name.
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

/// Asks the anchor's compiler about the same case.
fn second_opinion(case: &Case, anchor: &Observed, tally: &mut Tally) {
    let Some(Ok(interpreted)) = &anchor.run else { return };
    tally.compiled += 1;
    let agrees = anchor::observe_jit(case).is_ok_and(|compiled| {
        let plain = Run { registers: [0; 11], trace: Trace::default(), ..interpreted.clone() };
        // The compiled code does not keep the depth.
        compiled == Run { depth: compiled.depth, ..plain }
    });
    tally.anchor_torn += u64::from(!agrees);
}

/// All that is needed to see the difference again, made small.
fn reproduction(seed: u64, index: u64, case: &Case, gear: Gear, difference: &str) -> String {
    let traced = gear == Gear::Observe;
    let look = |case: &Case| {
        let anchor = anchor::observe(case, traced)?;
        let ours = ours::observe_case(case, gear);
        let difference = differences(case, &anchor, &ours);
        (!difference.is_empty()).then_some((anchor, difference))
    };
    let first_line = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let small = shrink(case, |case| {
        look(case).is_some_and(|(_, found)| first_line(&found) == first_line(difference))
    });
    let mut text = format!("seed {seed}, case {index}, {gear:?}\n{difference}shrunk to:\n{small}");
    if let Some((_, difference)) = look(&small) {
        text.push_str(&difference);
    }
    text.extend(vector(&small, &format!("oracle seed {seed} case {index}")));
    text
}

/// The case as a conformance vector, with what the anchor makes of it; `None` if it was not run.
fn vector(case: &Case, name: &str) -> Option<String> {
    match anchor::observe(case, true)?.run?.as_ref() {
        Ok(run) => Some(case.to_vector(name, &expectations(case, run)) + "\n"),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use selkie_conform::{Verdict, exec};

    use super::*;

    #[test]
    fn vectors_are_what_conformance_runs() {
        let cases = (0..600).map(|index| generate::case(7, index, &Version::ALL));
        let vectors: Vec<String> = cases
            .filter(Case::can_be_vector)
            .filter(|case| anchor::observe(case, false).is_some_and(|it| it.verdict.is_ok()))
            .filter_map(|case| vector(&case, "test"))
            .collect();
        assert!(vectors.len() > 100, "most cases can be told as vectors");
        for vector in vectors {
            let line = serde_json::from_str(&vector).expect("vectors are JSON");
            let verdict = exec::judge(&line).expect("vectors are readable");
            assert!(matches!(verdict, Verdict::Passed), "{verdict:?}: {vector}");
        }
    }

    #[test]
    fn a_wrong_expectation_is_a_difference() {
        let (case, anchor) = (0..)
            .map(|index| generate::case(7, index, &Version::ALL))
            .filter_map(|case| anchor::observe(&case, true).map(|anchor| (case, anchor)))
            .find(|(_, anchor)| matches!(anchor.run, Some(Ok(_))))
            .expect("most cases run");
        let mut ours = ours::observe_case(&case, Gear::Observe);
        assert_eq!(differences(&case, &anchor, &ours), "");
        let Some(Ok(run)) = &mut ours.run else { panic!("the anchor ran it") };
        run.registers[3] ^= 1;
        assert!(differences(&case, &anchor, &ours).starts_with("r3: "));
    }
}
