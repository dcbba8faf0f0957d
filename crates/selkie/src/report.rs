//! Receipts rendered as text.

use core::fmt::{self, Write};

use selkie_isa::plain;
use selkie_layout::program;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    interface::Interface,
    names::annotate,
    receipt::{FailedTransaction, Receipt, Stage},
};

/// How many log lines are shown: the last ones.
const LOG_LINES: usize = 24;

impl Receipt {
    /// Describes the changed accounts as text.
    #[must_use]
    pub fn diff(&self) -> String {
        diff(self)
    }

    /// Renders the invoked instructions as an indented tree, one per line, with the compute units
    /// of each.
    #[must_use]
    pub fn call_tree(&self) -> String {
        call_tree(self)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        receipt(self, f)
    }
}

impl fmt::Display for FailedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        receipt(&self.receipt, f)
    }
}

impl fmt::Debug for FailedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        receipt(&self.receipt, f)?;
        self.receipt.debug_command().map_or(Ok(()), |it| write!(f, "\n  debug: {it}"))
    }
}

/// Writes a summary of a receipt.
fn receipt(receipt: &Receipt, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &receipt.result {
        Ok(()) => write!(f, "transaction {} succeeded", receipt.signature())?,
        Err(error) => write!(f, "transaction {} {}: {error}", receipt.signature(), how(receipt))?,
    }
    let name = receipt.error_name().map_or_else(String::new, |name| format!(" {name}"));
    f.write_str(&name)?;
    if let Err(error) = &receipt.result {
        why(receipt, error, &name, f)?;
    }
    if let Some(place) = receipt.error_place() {
        write!(f, "\n  program {} returned its error", receipt.show(&place.program_id))?;
        write!(f, "\n      --> {}", place.place_line())?;
        place.other_lines().iter().try_for_each(|line| write!(f, "\n      {line}"))?;
    }
    if let (Some(stopped), Some(trap)) = (&receipt.stopped, receipt.trap()) {
        write!(f, "\n  program {} was stopped", receipt.show(&stopped.program_id))?;
        trap.to_string().lines().try_for_each(|line| write!(f, "\n    {line}"))?;
    }
    if receipt.stage > Stage::Dropped {
        let (units, of, fee) =
            (receipt.compute_units, receipt.compute_unit_limit, receipt.fee.total());
        write!(f, "\n  used {units} of {of} compute units; paid {fee} lamports")?;
    }
    for note in &receipt.notes {
        write!(f, "\n  note: {}", annotate(note, |key| receipt.name_of(key)))?;
    }
    if receipt.result.is_err() {
        receipt.explanations().iter().try_for_each(|note| write!(f, "\n  note: {note}"))?;
        receipt.stale_programs().iter().try_for_each(|note| write!(f, "\n  note: {note}"))?;
    }
    log(receipt, f)
}

fn how(receipt: &Receipt) -> &'static str {
    match receipt.stage {
        Stage::Dropped => "was dropped",
        Stage::FeesOnly => "paid its fee without being executed",
        Stage::Executed => "failed",
    }
}

fn why(
    receipt: &Receipt,
    error: &TransactionError,
    name: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if let Some(failed_instruction) = &receipt.failed_instruction {
        write!(
            f,
            "\n  instruction #{}, depth {}, program {}: {}{name}",
            failed_instruction.instruction_index,
            failed_instruction.stack_height,
            receipt.show(&failed_instruction.program_id),
            failed_instruction.error,
        )?;
    } else if let TransactionError::InstructionError(index, error) = error {
        write!(f, "\n  instruction #{index}: {error}{name}")?;
    }
    match help(error) {
        Some(help) => write!(f, "\n  help: {help}"),
        None => Ok(()),
    }
}

/// Returns a hint on how to fix the error, if there is one.
fn help(error: &TransactionError) -> Option<&'static str> {
    Some(match error {
        TransactionError::AlreadyProcessed => {
            "call `advance_blockhash` and sign again to make a new transaction"
        }
        TransactionError::BlockhashNotFound => {
            "sign with `latest_blockhash`; `warp_to_slot` and `expire_blockhash` expire older ones"
        }
        TransactionError::AccountNotFound => "the fee payer has no lamports: use `airdrop`",
        TransactionError::InsufficientFundsForFee => "`airdrop` the fee payer more lamports",
        TransactionError::ProgramAccountNotFound => {
            "add the program with `add_program` or `add_well_known_program`"
        }
        TransactionError::SignatureFailure => {
            "sign after the last change of the message, or use `with_signature_checks(false)`"
        }
        _ => return None,
    })
}

/// Writes the end of the log, with names beside the addresses.
fn log(receipt: &Receipt, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let lines = &receipt.logs;
    if lines.is_empty() {
        return Ok(());
    }
    let left_out = lines.len().saturating_sub(LOG_LINES);
    f.write_str("\n  log:")?;
    if left_out > 0 {
        write!(f, "\n    ... {left_out} earlier lines")?;
    }
    let mut shown = lines.iter().skip(left_out);
    shown.try_for_each(|line| write!(f, "\n    {}", annotate(line, |key| receipt.name_of(key))))
}

/// Renders the invoked instructions, one per line, indented by stack height.
fn call_tree(receipt: &Receipt) -> String {
    let mut text = String::new();
    for invocation in receipt.invocations() {
        let indent = invocation.stack_height.saturating_sub(1).saturating_mul(2);
        let (program, units) = (receipt.show(&invocation.program_id), invocation.compute_units);
        let number = if invocation.stack_height == 1 {
            format!("#{} ", invocation.instruction_index)
        } else {
            String::new()
        };
        let _ = writeln!(text, "{:indent$}{number}{program} {units}", "");
    }
    text
}

/// Renders all account changes.
fn diff(receipt: &Receipt) -> String {
    let mut text = String::new();
    for change in receipt.changes() {
        let how = account(receipt, change.before.as_ref(), change.after());
        let _ = writeln!(text, "{}{how}", receipt.show(&change.key));
    }
    text
}

/// Renders how an account changed.
pub(crate) fn account(
    receipt: &Receipt,
    before: Option<&AccountSharedData>,
    after: Option<&AccountSharedData>,
) -> String {
    let mut text = match (before, after) {
        (None, Some(_)) => " created".to_owned(),
        (Some(_), None) => " closed".to_owned(),
        _ => String::new(),
    };
    let none = AccountSharedData::default();
    let (before, after) = (before.unwrap_or(&none), after.unwrap_or(&none));
    let (from, to) = (before.lamports(), after.lamports());
    if from != to {
        let delta = i128::from(to).saturating_sub(i128::from(from));
        let _ = write!(text, "\n  lamports {from} -> {to} ({delta:+})");
    }
    if before.owner() != after.owner() {
        let _ = write!(
            text,
            "\n  owner {} -> {}",
            receipt.show(before.owner()),
            receipt.show(after.owner())
        );
    }
    if before.executable() != after.executable() {
        let _ = write!(text, "\n  executable {} -> {}", before.executable(), after.executable());
    }
    let (old, new) = (before.data(), after.data());
    if old.len() != new.len() {
        let _ = write!(text, "\n  length {} -> {}", old.len(), new.len());
    }
    for (start, end) in changed_ranges(old, new) {
        let part = |data: &[u8]| hex(data.get(start..end).unwrap_or_default());
        let _ = write!(text, "\n  data {start}..{end}: {} -> {}", part(old), part(new));
    }
    if before.owner() == after.owner() {
        text.push_str(&fields_differ(receipt, after.owner(), old, new));
    }
    text
}

/// Renders the fields that changed, if the layout of an account is known: by the rows of its owner, or by
/// the description of the owner's interface.
fn fields_differ(receipt: &Receipt, owner: &Pubkey, old: &[u8], new: &[u8]) -> String {
    if old == new {
        return String::new();
    }
    let known = |data| program::account(owner, data);
    let interface = match (known(old), known(new)) {
        (Some(_), Some(_)) => None,
        _ => Interface::find(owner, receipt.origin(owner)),
    };
    let layout = |data| known(data).or_else(|| interface.as_ref()?.account(data));
    let (Some(before), Some(after)) = (layout(old), layout(new)) else { return String::new() };
    let (Ok(before), Ok(after)) = (before.read(old), after.read(new)) else { return String::new() };
    let changed = before.iter().zip(&after).filter(|(old, new)| old != new);
    let shown = changed.filter(|(old, new)| old.field.name == new.field.name).map(|(old, new)| {
        let name = plain::line(&new.field.name);
        let line = format!("\n  {name}: {} -> {}", old.value, new.value);
        annotate(&line, |key| receipt.name_of(key)).into_owned()
    });
    shown.collect()
}

/// Renders the difference of two byte strings that begin at `offset`, one line per range.
pub(crate) fn bytes_differ(what: &str, offset: usize, expected: &[u8], found: &[u8]) -> String {
    let mut lines: Vec<String> = Vec::new();
    if expected.len() != found.len() {
        let (long, what) =
            if expected.len() > found.len() { (expected, "missing") } else { (found, "surplus") };
        let common = expected.len().min(found.len());
        let (from, to) = (offset.saturating_add(common), offset.saturating_add(long.len()));
        let rest = hex(long.get(common..).unwrap_or_default());
        let (expected, found) = (expected.len(), found.len());
        lines.push(format!(
            ": expected {expected} bytes, found {found}; {what} {from}..{to}: {rest}"
        ));
    }
    for (start, end) in changed_ranges(expected, found) {
        let part = |data: &[u8]| hex(data.get(start..end).unwrap_or_default());
        let (from, to) = (offset.saturating_add(start), offset.saturating_add(end));
        let (expected, found) = (part(expected), part(found));
        lines.push(format!(" {from}..{to}: expected {expected}, found {found}"));
    }
    match lines.as_slice() {
        [line] => format!("{what}{line}"),
        _ => {
            let lines = lines.iter().map(|line| format!("\n    {what}{line}"));
            format!("{what} differs:{}", lines.collect::<String>())
        }
    }
}

/// Returns the ranges in which the common prefixes differ; ranges less than `GAP` bytes apart are
/// joined.
fn changed_ranges(old: &[u8], new: &[u8]) -> Vec<(usize, usize)> {
    const GAP: usize = 8;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (index, _) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new) {
        let end = index.saturating_add(1);
        match ranges.last_mut() {
            Some(last) if index.saturating_sub(last.1) < GAP => last.1 = end,
            _ => ranges.push((index, end)),
        }
    }
    ranges
}

/// Renders bytes in hexadecimal, truncated after `SHOWN` bytes.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    let mut text: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN {
        text.push_str("...");
    }
    text
}
