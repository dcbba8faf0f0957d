//! `cargo xtask compare`: whether a program that Selkie built does the same as the official binary.
//!
//! Random instructions, valid and invalid, run on both with the same accounts. Results, error codes,
//! accounts, return data and logs have to be equal, apart from figures of compute units.

mod keys;
mod random;
mod shapes;
mod world;

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail};
use selkie::{AccountSharedData, Pubkey, runtime::Processed};

use self::{keys::Family, random::Random, world::World};
use crate::{print, say};

/// Instructions after which all accounts are as in the beginning again.
const ROUND: u64 = 100;

/// Differences that are shown.
const SHOWN_MAX: usize = 5;

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [family, ours, official, rest @ ..] = arguments else {
        bail!("usage: cargo xtask compare token|ata|memo OURS.so OFFICIAL.so [INSTRUCTIONS]")
    };
    let family = Family::by_name(family).context("the family is token, token-2022, ata or memo")?;
    let count = rest.first().map_or(Ok(2000), |it| it.parse())?;
    let read = |path: &String| fs::read(path).with_context(|| format!("cannot read {path}"));
    let files = [read(ours)?, read(official)?];
    let compared = compare(family, &files, count)?;
    compared.differences.iter().take(SHOWN_MAX).for_each(|it| say(it));
    print(&compared.summary(&files));
    match compared.differences.len() {
        0 => Ok(()),
        many => bail!("{many} of {count} instructions differ"),
    }
}

/// The result of a comparison.
#[derive(Default)]
struct Compared {
    instructions: u64,
    succeeded: u64,
    /// Compute units of the instructions that succeeded: ours, the official binary's.
    units: [u64; 2],
    /// The same by the instruction's number: how many, ours, the official binary's.
    by_number: BTreeMap<u8, [u64; 3]>,
    differences: Vec<String>,
}

/// Runs random instructions on both files.
fn compare(family: Family, files: &[Vec<u8>; 2], count: u64) -> Result<Compared> {
    let mut compared = Compared::default();
    for round in 0..count.div_ceil(ROUND) {
        let mut random = Random::new(round);
        let mut worlds = [World::new(family, &files[0])?, World::new(family, &files[1])?];
        for _ in 0..ROUND.min(count - round * ROUND) {
            let instruction = shapes::instruction(family, &worlds[0].keys, &mut random);
            let [ours, official] =
                worlds.each_ref().map(|it| it.svm.process_instruction(&instruction, &[]));
            compared.instructions += 1;
            let seen = [&ours, &official].map(|it| Seen::of(it));
            if seen[0] != seen[1] {
                let [ours, official] = seen;
                let text = format!("{instruction:?}\n  ours: {ours:?}\n  official: {official:?}");
                compared.differences.push(text);
                break;
            }
            if ours.result.is_ok() {
                let number = instruction.data.first().copied().unwrap_or_default();
                compared.count(number, [ours.compute_units, official.compute_units]);
                worlds[0].svm.commit(&ours);
                worlds[1].svm.commit(&official);
            }
        }
    }
    Ok(compared)
}

impl Compared {
    fn count(&mut self, number: u8, units: [u64; 2]) {
        self.succeeded += 1;
        let sums = self.by_number.entry(number).or_default();
        sums[0] += 1;
        for (index, units) in units.into_iter().enumerate() {
            self.units[index] += units;
            sums[index + 1] += units;
        }
    }

    fn summary(&self, files: &[Vec<u8>; 2]) -> String {
        let ratio = |[ours, official]: [u64; 2]| {
            let thousandths = (ours * 1000).checked_div(official).unwrap_or_default();
            format!("{ours} / {official} = {}.{:03}", thousandths / 1000, thousandths % 1000)
        };
        let by_number = self.by_number.iter().map(|(number, &[count, ours, official])| {
            format!("\n  {number:>3}: {count:>5} times, {}", ratio([ours, official]))
        });
        format!(
            "{} instructions, {} succeeded, {} differ\ncompute units {}\nbytes {}{}",
            self.instructions,
            self.succeeded,
            self.differences.len(),
            ratio(self.units),
            ratio(files.each_ref().map(|it| it.len() as u64)),
            by_number.collect::<String>(),
        )
    }
}

/// What has to be equal.
#[derive(PartialEq, Debug)]
struct Seen {
    result: String,
    logs: Vec<String>,
    return_data: Option<Vec<u8>>,
    writes: Vec<(Pubkey, AccountSharedData)>,
}

impl Seen {
    fn of(processed: &Processed) -> Self {
        let is_figure = |it: &&String| it.contains(" compute units") || it.contains("consumption");
        Self {
            result: format!("{:?}", processed.result),
            logs: processed.logs.iter().filter(|it| !is_figure(it)).map(|it| plain(it)).collect(),
            return_data: processed.return_data.as_ref().map(|it| it.data.clone()),
            writes: processed.writes().map(|(key, account)| (*key, account.clone())).collect(),
        }
    }
}

/// Removes what old versions of Rust's library escaped in another way: apostrophes and NUL.
fn plain(line: &str) -> String {
    line.replace("\\u{0}", "\\0").replace('\\', "")
}
