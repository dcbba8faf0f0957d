//! The whole state as text, to be kept longer than a store's file.
//!
//! A dump is lines of JSON: first `{"format":"selkie node","version":1}`, then `{"header":…}`, then
//! for each account `{"account":…}`, for each block `{"block":…}`, followed by `{"transaction":…}` for
//! each of its transactions, and last `{"end":…}` with the number of lines before it. Addresses,
//! hashes and signatures are base58, data base64. Fields that a reader does not know are ignored, and
//! later versions only add fields; a dump of a newer version is rejected.

use core::fmt;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::{
    block::{Block, BlockRecord, Landed},
    records::AccountRecord,
    store::Header,
};

/// The version that is written.
const VERSION: u64 = 1;
const FORMAT: &str = "selkie node";
/// The maximum length of a line: an account of 10 MiB in base64, and its other fields.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The content of a dump.
#[derive(Clone, Default, Debug)]
pub struct Dump {
    /// The state besides the accounts.
    pub header: Header,
    /// The accounts.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
    /// The blocks, oldest first.
    pub blocks: Vec<Arc<Block>>,
}

/// A dump that cannot be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum DumpError {
    /// Writing or reading failed.
    Io(io::Error),
    /// It is not a dump.
    NotADump,
    /// It was written by a newer version: its version.
    Newer(u64),
    /// A line is invalid: its number, counted from 1, and the reason.
    Line(u64, LineError),
    /// It ends too early.
    Truncated,
}

/// Why a line of a dump is invalid.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It is none of the lines of a dump.
    Json(serde_json::Error),
    /// A block is not later than the one before it.
    BlockOrder,
    /// A transaction does not follow its block.
    LooseTransaction,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::BlockOrder => f.write_str("blocks are not in order"),
            Self::LooseTransaction => f.write_str("a transaction is not behind its block"),
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot transfer the dump: {error}"),
            Self::NotADump => f.write_str("not a dump of a node's state"),
            Self::Newer(version) => write!(
                f,
                "the dump has version {version}, and this version knows those up to {VERSION}\nhelp: \
                 use the version that wrote it"
            ),
            Self::Line(number, why) => write!(f, "line {number} of the dump is invalid: {why}"),
            Self::Truncated => f.write_str("the dump is truncated"),
        }
    }
}

impl core::error::Error for DumpError {}

impl From<io::Error> for DumpError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[derive(Serialize, Deserialize)]
struct Preamble {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Header(Box<Header>),
    Account(AccountRecord),
    Block(BlockLine),
    Transaction(Box<Landed>),
    End(u64),
}

#[derive(Serialize, Deserialize)]
struct BlockLine {
    slot: u64,
    #[serde(flatten)]
    record: BlockRecord,
}

/// Writes a dump.
///
/// # Errors
/// If writing fails.
pub fn write(dump: &Dump, to: &mut dyn Write) -> Result<(), DumpError> {
    put_line(to, &Preamble { format: FORMAT.to_owned(), version: VERSION })?;
    let mut lines = 0_u64;
    let mut put = |line: &Line| {
        lines = lines.saturating_add(1);
        put_line(to, line)
    };
    put(&Line::Header(Box::new(dump.header.clone())))?;
    for (key, account) in &dump.accounts {
        put(&Line::Account(AccountRecord::new(key, account)))?;
    }
    for block in &dump.blocks {
        put(&Line::Block(BlockLine { slot: block.slot, record: BlockRecord::new(block) }))?;
        for landed in &block.transactions {
            put(&Line::Transaction(Box::new(Landed::clone(landed))))?;
        }
    }
    put_line(to, &Line::End(lines))
}

fn put_line(to: &mut dyn Write, line: &impl Serialize) -> Result<(), DumpError> {
    let mut bytes = serde_json::to_vec(line).map_err(io::Error::from)?;
    bytes.push(b'\n');
    Ok(to.write_all(&bytes)?)
}

/// Reads a dump.
///
/// # Errors
/// If reading fails, or if it is not a complete dump of a known version.
pub fn read(from: &mut dyn Read) -> Result<Dump, DumpError> {
    let mut from = BufReader::new(from);
    let preamble = next_line(&mut from)?.ok_or(DumpError::NotADump)?;
    let preamble: Preamble = serde_json::from_slice(&preamble).map_err(|_| DumpError::NotADump)?;
    match (preamble.format.as_str(), preamble.version) {
        (FORMAT, ..=VERSION) => {}
        (FORMAT, newer) => return Err(DumpError::Newer(newer)),
        _ => return Err(DumpError::NotADump),
    }
    let mut dump = Dump::default();
    let mut has_header = false;
    let mut lines = 0_u64;
    while let Some(line) = next_line(&mut from)? {
        lines = lines.saturating_add(1);
        let failed = |why| DumpError::Line(lines.saturating_add(1), why);
        match serde_json::from_slice(&line).map_err(|error| failed(LineError::Json(error)))? {
            Line::End(count) if has_header && count.saturating_add(1) == lines => return Ok(dump),
            Line::End(_) => return Err(DumpError::Truncated),
            line => {
                has_header |= matches!(line, Line::Header(_));
                dump.add(line).map_err(failed)?;
            }
        }
    }
    Err(DumpError::Truncated)
}

fn next_line(from: &mut impl BufRead) -> Result<Option<Vec<u8>>, DumpError> {
    let mut line = Vec::new();
    let len = from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if len as u64 == LINE_BYTES_MAX => Err(DumpError::NotADump),
        Some(_) => Err(DumpError::Truncated),
    }
}

impl Dump {
    fn add(&mut self, line: Line) -> Result<(), LineError> {
        match line {
            Line::Header(header) => self.header = *header,
            Line::Account(record) => self.accounts.push(record.into_account()),
            Line::Block(line) => {
                if self.blocks.last().is_some_and(|last| last.slot >= line.slot) {
                    return Err(LineError::BlockOrder);
                }
                self.blocks.push(Arc::new(line.record.into_block(line.slot)));
            }
            Line::Transaction(landed) => {
                let block = self.blocks.last_mut().filter(|block| block.slot == landed.slot);
                let block = block.ok_or(LineError::LooseTransaction)?;
                Arc::make_mut(block).transactions.push(Arc::from(landed));
            }
            Line::End(_) => {}
        }
        Ok(())
    }
}
