//! A folder of items that is run into a folder of results.

use core::{fmt, num::NonZeroUsize, str::FromStr};
use std::{fs, path::PathBuf};

use selkie::Pubkey;
use selkie_isa::failure::{Context as _, OrFailure as _};

use super::{
    Result,
    contents::{Programs, programs, read_base, threads},
    job::{Job, Progress, made_by},
    parts,
    shards::{self, ITEMS},
    total::Total,
};
use crate::{base::Base, options::RunOptions};

/// A folder of items, and how it is run.
#[derive(Clone, Debug)]
pub struct FolderRun {
    /// The folder of items.
    pub items: PathBuf,
    /// The folder of results, which is created.
    pub out: PathBuf,
    /// The files that replace programs of the items.
    pub programs: Vec<(Pubkey, PathBuf)>,
    /// How many threads work; without it, one per processor. Those of `options` do not count.
    pub threads: Option<NonZeroUsize>,
    /// How many rows are in memory for each thread.
    pub rows: NonZeroUsize,
    /// Whether results that are there already are replaced.
    pub restart: bool,
    /// How batches are run.
    pub options: RunOptions,
}

/// What a process does of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Everything.
    First,
    /// What an earlier process has left.
    Again,
    /// Some rows of a file of items.
    Rows {
        /// The file, by its place in the order of names.
        shard: usize,
        /// The first row.
        first: u64,
        /// How many rows.
        count: u64,
    },
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Again => f.write_str("again"),
            Self::Rows { shard, first, count } => write!(f, "rows:{shard}:{first}:{count}"),
        }
    }
}

impl FromStr for Work {
    type Err = &'static str;

    fn from_str(text: &str) -> core::result::Result<Self, Self::Err> {
        let rows = || {
            let mut numbers = text.strip_prefix("rows:")?.splitn(3, ':');
            let mut number = || numbers.next()?.parse::<u64>().ok();
            let (shard, first, count) = (number()?, number()?, number()?);
            Some(Self::Rows { shard: usize::try_from(shard).ok()?, first, count })
        };
        match text {
            "first" => Ok(Self::First),
            "again" => Ok(Self::Again),
            _ => rows().ok_or("expected `first`, `again` or `rows:SHARD:FIRST:COUNT`"),
        }
    }
}

impl FolderRun {
    /// How many rows are in memory for each thread, unless another number is given.
    pub const ROWS: NonZeroUsize = NonZeroUsize::new(1024).expect("it is not 0");

    /// Returns a run with the default options.
    #[must_use]
    pub fn new(items: PathBuf, out: PathBuf) -> Self {
        Self {
            items,
            out,
            programs: Vec::new(),
            threads: None,
            rows: Self::ROWS,
            restart: false,
            options: RunOptions::default(),
        }
    }

    /// Returns the files of items.
    ///
    /// # Errors
    /// If there are none, or the folder cannot be read.
    pub(super) fn shards(&self) -> Result<Vec<PathBuf>> {
        shards::required(&self.items.join(ITEMS))
    }

    /// Returns what results are made of besides the items.
    pub(super) fn made_by(&self) -> Result<String> {
        Ok(made_by(&self.options, &programs(&self.programs)?))
    }

    /// Reads what items refer to, and creates the folder of results.
    ///
    /// # Errors
    /// If there are no items, a file cannot be used, or this host does not support the engine.
    pub fn prepare(&self) -> Result<Ready<'_>> {
        let shards = self.shards()?;
        let programs = programs(&self.programs)?;
        let base = read_base(&self.items, &programs)?;
        fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot create {}", self.out.display()))?;
        self.options.engine.resolve().or_failure()?;
        Ok(Ready { run: self, programs, base, shards })
    }
}

/// A run that can begin.
#[derive(Debug)]
pub struct Ready<'a> {
    run: &'a FolderRun,
    programs: Programs,
    base: Base,
    shards: Vec<PathBuf>,
}

impl Ready<'_> {
    /// Returns the sum of the rows that the files state: no more than `u64::MAX`, as files may lie.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn rows(&self) -> Result<u64> {
        shards::rows(&self.shards)
    }

    /// Does some work. Returns what was executed; `None` if it is of some rows alone.
    ///
    /// # Errors
    /// If files cannot be used, or results are there that are of other items, programs or options.
    pub fn run(&self, work: &Work, progress: &Progress<'_>) -> Result<Option<Total>> {
        let out = &self.run.out;
        let threads = threads(self.run.threads);
        let options = RunOptions { threads, ..self.run.options };
        let job = Job::new(&self.base, &self.programs, options, self.run.rows);
        match *work {
            Work::First => parts::remove(out, &self.shards, self.run.restart)?,
            Work::Again => {}
            Work::Rows { shard, first, count } => {
                let shard = self.shards.get(shard).context("there are fewer files of items")?;
                job.run_rows(shard, &parts::rows(out, shard), first, count)?;
                return Ok(None);
            }
        }
        job.run_files(&self.shards, out, progress).map(Some)
    }
}
