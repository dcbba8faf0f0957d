//! Items of recorded transactions.

mod dump;
mod rpc;

use core::num::NonZeroUsize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{BinaryArray, RecordBatch};
use selkie::{Hash, TransactionError};
use selkie_case::{
    Case, KeyedAccount, RunMemory,
    firedancer::{later_rule, transaction_case, transaction_differences},
};
use selkie_fixture::Fixture;
use selkie_isa::{
    failure::{Context as _, Failure, OrFailure as _},
    input,
};
use selkie_replay::ReplayFile;
use selkie_svm::{Engine, Environment, Processed};

use crate::{
    Sha256,
    base::Base,
    folder::{CONTENTS, ITEMS, Result, TableWriter},
    item::{Expectation, Item, ItemAccount, ItemData},
    items::Items,
    record, schema,
};

/// Adds the transactions of a file.
type Convert = fn(&Path, &mut Importer) -> Result<()>;

/// The kinds of files, by the end of their names.
const KINDS: &[(&str, Convert)] =
    &[("fix", fixture), ("replay", replay), ("json", rpc::add), ("dump", dump::add)];

/// How many contents are in one batch.
const CONTENTS_AT_ONCE: usize = 64;
/// How many differences are kept.
const SHOWN: usize = 10;

/// A file of recorded transactions.
#[derive(Clone, Debug)]
pub struct RecordedFile {
    path: PathBuf,
    convert: Convert,
}

/// Lists the files of recorded transactions: these, and those in folders whose names end in `.fix`, `.replay`, `.json`
/// or `.dump`.
///
/// # Errors
/// If there are none, a folder cannot be read, or a file is of no known kind.
pub fn recorded_files(paths: &[PathBuf]) -> Result<Vec<RecordedFile>> {
    let kind = |path: &Path| {
        let end = path.extension()?.to_str()?;
        let (_, convert) = KINDS.iter().find(|(known, _)| *known == end)?;
        Some(RecordedFile { path: path.to_owned(), convert: *convert })
    };
    let ends: Vec<&str> = KINDS.iter().map(|(end, _)| *end).collect();
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            let file = kind(path)
                .with_context(|| format!("which kind of file is {}?", path.display()))
                .advise(format!("its name should end in one of .{}", ends.join(", .")))?;
            found.push(file);
            continue;
        }
        let mut folders = vec![path.clone()];
        let mut within = Vec::new();
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder);
            for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
                let entry = entry?;
                // Links may lead in a circle.
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => within.extend(kind(&entry.path())),
                }
            }
        }
        within.sort_by(|left, right| left.path.cmp(&right.path));
        found.extend(within);
    }
    if found.is_empty() {
        return Err(Failure::new("there are no recorded transactions")
            .with_help(format!("names of their files end in .{}", ends.join(", ."))));
    }
    Ok(found)
}

/// Reads what the user has named.
fn read(path: &Path) -> Result<Vec<u8>> {
    input::named(path).with_context(|| format!("cannot read {}", path.display()))
}

fn fixture(path: &Path, importer: &mut Importer) -> Result<()> {
    let fixture = match Fixture::read(&read(path)?) {
        Ok(Fixture::Transaction(fixture)) => fixture,
        Ok(_) => {
            importer.skip(path, "not a valid fixture: it is not a transaction fixture".to_owned());
            return Ok(());
        }
        Err(error) => {
            importer.skip(path, format!("not a valid fixture: {error}"));
            return Ok(());
        }
    };
    importer.add(path, &transaction_case(&fixture.input), &|ended| {
        let differences = transaction_differences(&fixture, ended);
        Ok(match later_rule(&fixture, &differences) {
            Some(rule) => Judgement::Later(rule),
            None => Judgement::of(differences.iter().map(ToString::to_string).collect()),
        })
    })
}

fn replay(path: &Path, importer: &mut Importer) -> Result<()> {
    importer.add_replays(path, &ReplayFile::open(path).or_failure()?)
}

/// Writes a folder of items.
#[derive(Debug)]
pub struct Importer {
    out: PathBuf,
    rows: usize,
    base: Base,
    hashes: BTreeSet<Sha256>,
    items: Items,
    /// The ids of all items: a transaction that was recorded twice is one.
    ids: BTreeSet<Sha256>,
    files: usize,
    imported: Imported,
    memory: RunMemory,
}

/// What was imported.
#[derive(Clone, Default, Debug)]
pub struct Imported {
    /// How many items were written.
    pub items: u64,
    /// How many transactions were recorded twice.
    pub doubled: u64,
    /// Items that this version of Selkie executes otherwise than recorded, and how they differ.
    pub differing: u64,
    /// The first differences, each with the file.
    pub differences: Vec<String>,
    /// How many items have no expected result, since they were recorded before a rule of the runtime that
    /// explains how they differ.
    pub later: BTreeMap<&'static str, u64>,
    /// How many were left out, by reason, with the first file.
    pub skipped: BTreeMap<String, (u64, PathBuf)>,
}

/// How the result of a transaction compares with the recorded one.
enum Judgement {
    Same,
    /// A sentence for each difference.
    Different(Vec<String>),
    /// It was recorded before this rule, which explains the difference.
    Later(&'static str),
}

impl Judgement {
    fn of(differences: Vec<String>) -> Self {
        if differences.is_empty() { Self::Same } else { Self::Different(differences) }
    }
}

/// The result of a case; `Err` if it is dropped.
type Ended<'a> = core::result::Result<&'a Processed, &'a TransactionError>;

impl Importer {
    /// Begins to write a folder, whose files get so many items.
    ///
    /// # Errors
    /// If the folder cannot be created, or has files already.
    pub fn new(out: &Path, rows: NonZeroUsize) -> Result<Self> {
        for folder in [ITEMS, CONTENTS].map(|it| out.join(it)) {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
            if fs::read_dir(&folder)?.next().is_some() {
                return Err(Failure::new(format!("{} is not empty", folder.display())))
                    .advise("import into another folder, or remove this one");
            }
        }
        Ok(Self {
            out: out.to_owned(),
            rows: rows.get(),
            base: Base::new(),
            hashes: BTreeSet::new(),
            items: Items::new(),
            ids: BTreeSet::new(),
            files: 0,
            imported: Imported::default(),
            memory: RunMemory::default(),
        })
    }

    /// Adds the transactions of a file.
    ///
    /// # Errors
    /// If the file cannot be used, or the folder not be written.
    pub fn add_file(&mut self, file: &RecordedFile) -> Result<()> {
        let RecordedFile { path, convert } = file;
        convert(path, self).with_context(|| path.display().to_string())
    }

    /// Counts a transaction that is left out for a reason; `path` is where it would have been from.
    pub fn skip(&mut self, path: &Path, reason: String) {
        let entry = self.imported.skipped.entry(reason);
        entry.or_insert_with(|| (0, path.to_owned())).0 += 1;
    }

    /// Adds the transactions of a replay file; `path` is where it is from.
    ///
    /// # Errors
    /// If the replays cannot be used, or the folder not be written.
    pub fn add_replays(&mut self, path: &Path, file: &ReplayFile) -> Result<()> {
        for replay in file.replays() {
            let blob = |name: &str| file.blob(name);
            let case = replay.case(&blob).or_failure()?.verified();
            self.add(path, &case, &|ended| {
                Ok(Judgement::of(replay.differences(ended, &blob).or_failure()?))
            })?;
        }
        Ok(())
    }

    /// Adds a transaction. `judge` compares its result with the recorded one.
    fn add(
        &mut self,
        path: &Path,
        case: &Case,
        judge: &dyn Fn(Ended<'_>) -> Result<Judgement>,
    ) -> Result<()> {
        if case.input.transaction().is_none() {
            self.skip(path, "it is not a transaction".to_owned());
            return Ok(());
        }
        let ended = case.run(self.base.programs(), Engine::default(), None, &mut self.memory);
        let ended = ended.as_deref();
        let judgement = judge(ended)?;
        let (status, error) = status(ended);
        let expect = match judgement {
            Judgement::Same => Some(Expectation {
                status: Some(status),
                error: error.as_deref(),
                compute_units: ended.ok().map(|it| it.compute_units),
                effects_hash: None,
            }),
            // A result that is known to differ has no form here, and nothing is as expected then.
            Judgement::Different(_) => {
                Some(Expectation { status: Some("Otherwise"), ..Expectation::default() })
            }
            Judgement::Later(_) => None,
        };
        if self.push(case, expect)? {
            match judgement {
                Judgement::Same => {}
                Judgement::Different(differences) => self.differ(path, &differences),
                Judgement::Later(rule) => *self.imported.later.entry(rule).or_default() += 1,
            }
        }
        Ok(())
    }

    fn differ(&mut self, path: &Path, differences: &[String]) {
        self.imported.differing += 1;
        if self.imported.differences.len() < SHOWN {
            let name = path.display();
            self.imported.differences.push(format!("{name}: {}", differences.join("; ")));
        }
    }

    /// Adds the item of a transaction. Returns whether it is new.
    fn push(&mut self, case: &Case, expect: Option<Expectation<'_>>) -> Result<bool> {
        let accounts = record::accounts(case);
        let wire = case.input.transaction().context("it is a transaction")?.to_wire();
        let blockhashes = case.blockhashes.blockhashes().copied();
        let item = Item {
            env_ref: self.environment(&case.environment, blockhashes),
            message: &wire,
            accounts: self.accounts(&accounts),
            verify_signatures: case.options.verifies_signatures,
            check_blockhash: case.options.checks_blockhash,
            expect,
            ..Item::default()
        };
        self.push_item(&item)
    }

    /// Adds an environment to the contents.
    fn environment(
        &mut self,
        environment: &Environment,
        blockhashes: impl IntoIterator<Item = Hash>,
    ) -> Sha256 {
        let file = record::environment_file(environment, blockhashes);
        let env_ref = self.base.add(file.to_bytes());
        self.hashes.insert(env_ref);
        env_ref
    }

    /// Returns accounts as those of an item. Long data become contents.
    fn accounts<'a>(&mut self, accounts: &'a [KeyedAccount]) -> Vec<ItemAccount<'a>> {
        let accounts: Vec<_> =
            accounts.iter().map(|it| record::item_account(it, &mut self.base)).collect();
        self.hashes.extend(accounts.iter().filter_map(|it| match it.data {
            ItemData::Ref(hash) => Some(hash),
            ItemData::Inline(_) => None,
        }));
        accounts
    }

    /// Adds an item, unless there is one with its id. Returns whether it is new.
    fn push_item(&mut self, item: &Item<'_>) -> Result<bool> {
        if !self.ids.insert(item.id()) {
            self.imported.doubled += 1;
            return Ok(false);
        }
        self.imported.items += 1;
        self.items.push(item);
        if self.items.len() >= self.rows {
            self.write_items()?;
        }
        Ok(true)
    }

    fn write_items(&mut self) -> Result<()> {
        let path = self.out.join(ITEMS).join(format!("{:05}.parquet", self.files));
        let stamp = format!("selkie {}", env!("CARGO_PKG_VERSION"));
        let mut writer = TableWriter::create(&path, schema::items(), stamp)?;
        writer.write(&self.items.finish().or_failure()?)?;
        self.items = Items::new();
        self.files += 1;
        writer.finish()
    }

    /// Writes what is left, and what items refer to.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self) -> Result<Imported> {
        if !self.items.is_empty() {
            self.write_items()?;
        }
        let path = self.out.join(CONTENTS).join("contents.parquet");
        let stamp = format!("selkie {}", env!("CARGO_PKG_VERSION"));
        let mut writer = TableWriter::create(&path, schema::contents(), stamp)?;
        let hashes: Vec<&Sha256> = self.hashes.iter().collect();
        for hashes in hashes.chunks(CONTENTS_AT_ONCE) {
            let data = hashes.iter().map(|hash| self.base.get(hash).map(|it| it.as_slice()));
            let data = Arc::new(BinaryArray::from_opt_vec(data.collect()));
            let hashes: Vec<&[u8]> = hashes.iter().map(|it| it.as_slice()).collect();
            let columns = vec![Arc::new(BinaryArray::from_vec(hashes)) as _, data as _];
            writer.write(&RecordBatch::try_new(schema::contents(), columns).or_failure()?)?;
        }
        writer.finish()?;
        Ok(self.imported)
    }
}

/// Returns the status of an item with this result, and its error.
fn status(ended: Ended<'_>) -> (&'static str, Option<String>) {
    let error = match ended {
        Ok(processed) => processed.result.as_ref().err(),
        Err(error) => Some(error),
    };
    let status = match (ended, error) {
        (Err(_), _) => "Dropped",
        (Ok(_), None) => "Success",
        (Ok(processed), Some(_)) if processed.is_executed => "Failed",
        (Ok(_), Some(_)) => "FeesOnly",
    };
    (status, error.and_then(|it| serde_json::to_string(it).ok()))
}
