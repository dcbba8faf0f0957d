//! `cargo xtask compare`: whether a program that Selkie built does the same as the official binary.
//!
//! Random instructions, valid and invalid, run on both with the same accounts. Results, error codes,
//! accounts, return data and logs have to be equal, apart from figures of compute units.
//!
//! With the name of a file of inputs instead of the official binary, it writes the instructions there,
//! one on each line, as `selkie run --input` reads them.

mod extensions;
mod forms;
mod inputs;
mod keys;
mod proofs;
mod random;
mod shapes;
mod world;

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail, ensure};
use selkie::{AccountSharedData, Engine, Instruction, Pubkey, Receipt, runtime::Processed};

use self::{keys::Family, random::Random, world::World};
use crate::{print, say};

/// Instructions after which all accounts are as in the beginning again.
const ROUND: u64 = 100;

/// Kinds of differences of which the first is shown.
const SHOWN_MAX: usize = 20;

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [family, ours, official, rest @ ..] = arguments else {
        bail!(
            "usage: cargo xtask compare token|token-2022|ata|memo OURS.so OFFICIAL.so [COUNT]\n       \
             cargo xtask compare token|token-2022|ata|memo OURS.so INPUTS.json [COUNT]"
        )
    };
    let family = Family::by_name(family).context("the family is token, token-2022, ata or memo")?;
    let count = rest.first().map_or(Ok(2000), |it| it.parse())?;
    let read = |path: &String| fs::read(path).with_context(|| format!("cannot read {path}"));
    if official.ends_with(".json") {
        let written = inputs::inputs(family, &read(ours)?, count)?;
        return fs::write(official, written).with_context(|| format!("cannot write {official}"));
    }
    let files = [read(ours)?, read(official)?];
    let compared = compare(family, &files, count)?;
    for (difference, count) in compared.differences.values().take(SHOWN_MAX) {
        say(&format!("{count} times {difference}"));
    }
    print(&compared.summary(&files));
    match compared.different() {
        0 => Ok(()),
        many => bail!("{many} of {} instructions differ", compared.instructions),
    }
}

/// The result of a comparison.
#[derive(Default)]
struct Compared {
    instructions: u64,
    succeeded: u64,
    /// Compute units of the instructions that succeeded: ours, the official binary's.
    units: [u64; 2],
    /// The same by kinds of instructions: how many, ours, the official binary's.
    by_kind: BTreeMap<String, [u64; 3]>,
    /// By results and logs: the first instruction with the difference, and how many have it.
    differences: BTreeMap<String, (String, usize)>,
}

/// Runs random instructions on both files, and on ours with both engines.
fn compare(family: Family, files: &[Vec<u8>; 2], count: u64) -> Result<Compared> {
    let mut compared = Compared::default();
    let compiled = Engine::Jit.resolve().unwrap_or(Engine::Interpreter);
    for round in 0..count.div_ceil(ROUND) {
        let mut random = Random::new(round);
        let mut worlds = [
            World::new(family, &files[0], compiled)?,
            World::new(family, &files[1], compiled)?,
            World::new(family, &files[0], Engine::Interpreter)?,
        ];
        for _ in 0..ROUND.min(count - round * ROUND) {
            let instruction = shapes::instruction(family, &worlds[0].keys, &mut random);
            let processed =
                worlds.each_ref().map(|it| it.svm.process_instruction(&instruction, &[]));
            if compared.add(&instruction, &processed)? {
                break;
            }
            if processed[0].result.is_ok() {
                worlds.iter_mut().zip(&processed).for_each(|(world, it)| world.svm.commit(it));
            }
        }
    }
    Ok(compared)
}

impl Compared {
    /// Compares what an instruction did as our machine code, as the official binary's, and as our
    /// program interpreted. Returns whether the binaries differ.
    fn add(
        &mut self,
        instruction: &Instruction,
        [ours, official, interpreted]: &[Receipt; 3],
    ) -> Result<bool> {
        self.instructions += 1;
        let [seen, theirs, again] = [ours, official, interpreted].map(|it| Seen::of(it));
        let figures = |it: &Receipt| (it.compute_units, it.logs.clone());
        let is_same = seen == again && figures(ours) == figures(interpreted);
        ensure!(is_same, "the engines disagree\n{instruction:?}\n{seen:?}\n{again:?}");
        if seen != theirs {
            let text = format!("{instruction:?}\n  ours: {seen:?}\n  official: {theirs:?}");
            let kind = [seen, theirs].map(|it| format!("{} {:?}", it.result, it.logs));
            self.differences.entry(kind.concat()).or_insert((text, 0)).1 += 1;
            return Ok(true);
        }
        if ours.result.is_ok() {
            self.count(
                extensions::kind(&instruction.data),
                [ours.compute_units, official.compute_units],
            );
        }
        Ok(false)
    }

    fn count(&mut self, kind: String, units: [u64; 2]) {
        self.succeeded += 1;
        let sums = self.by_kind.entry(kind).or_default();
        sums[0] += 1;
        for (index, units) in units.into_iter().enumerate() {
            self.units[index] += units;
            sums[index + 1] += units;
        }
    }

    fn different(&self) -> usize {
        self.differences.values().map(|(_, count)| count).sum()
    }

    fn summary(&self, files: &[Vec<u8>; 2]) -> String {
        let ratio = |[ours, official]: [u64; 2]| {
            let thousandths = (ours * 1000).checked_div(official).unwrap_or_default();
            format!("{ours} / {official} = {}.{:03}", thousandths / 1000, thousandths % 1000)
        };
        let by_kind = self.by_kind.iter().map(|(kind, &[count, ours, official])| {
            format!("\n  {kind}: {count} times, {}", ratio([ours, official]))
        });
        format!(
            "{} instructions, {} succeeded, {} differ in {} ways\ncompute units {}\nbytes {}{}",
            self.instructions,
            self.succeeded,
            self.different(),
            self.differences.len(),
            ratio(self.units),
            ratio(files.each_ref().map(|it| it.len() as u64)),
            by_kind.collect::<String>(),
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
