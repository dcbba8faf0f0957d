//! Shows results of transactions, as text and as JSON.

use std::io::Write as _;

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{Account, Pubkey, Receipt, TransactionError};
use selkie_inspect::keep_newest;
use selkie_replay::{ReplayFile, recordings};
use selkie_report::trace::failure_place;
use serde_json::{Value, json};

use crate::{
    changes::AccountChange,
    files, folders,
    names::Names,
    replays,
    ui::{BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

/// Whether a transaction was sent or simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Sent,
    Simulated,
}

/// How many failed transactions are kept, in cargo's target folder or in that of caches.
const FAILED_MAX: usize = 16;
/// How many bytes they may have in all.
const FAILED_BYTES_MAX: u64 = 64 << 20;

/// A description of what a command did by a transaction.
pub(crate) struct Done {
    /// A sentence.
    pub(crate) text: String,
    /// Fields for the JSON object.
    pub(crate) json: Value,
}

/// Shows what a command did, with the signature, fee and compute units as JSON.
pub(crate) fn show_done(ui: &mut Ui, receipt: &Receipt, done: Done) -> Result<Status> {
    if ui.json {
        let mut value = json!({
            "success": true,
            "signature": receipt.signature().to_string(),
            "fee": receipt.fee.total(),
            "compute_units": receipt.compute_units,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut value, done.json) {
            all.extend(more);
        }
        ui.object(&value)?;
    } else {
        writeln!(ui.out, "{GOOD}ok{GOOD:#} {}", done.text)?;
    }
    Ok(Status::Success)
}

/// Shows the result of a transaction.
pub(crate) fn show(ui: &mut Ui, receipt: &Receipt, names: &Names, how: How) -> Result<Status> {
    let failed = Failed::of(receipt);
    let report = Report { receipt, names, how, failed };
    if ui.json {
        ui.object(&report.json())?;
    } else {
        report.show(ui)?;
    }
    Ok(Status::of(receipt.is_ok()))
}

/// What is known of a transaction that a program let fail.
struct Failed {
    /// The place in the user's own code, and the frames around it; empty without debug information.
    place: Vec<String>,
    /// The command that debugs it.
    debug: String,
}

impl Failed {
    /// Runs the transaction once more, and keeps it for the debugger. `None` if no program failed, or it
    /// cannot be kept.
    fn of(receipt: &Receipt) -> Option<Self> {
        receipt.failed_instruction.as_ref()?;
        let replay = ReplayFile::from(receipt.replay()?);
        let mut programs = replays::programs(&[]).ok()?;
        let timeline = replay.timeline(0).ok()?;
        programs.add(&timeline);
        let place = failure_place(&timeline, &programs);
        let target = recordings::target_folders().into_iter().next();
        let folder = target.map(|it| it.join(recordings::FAILURES));
        let folder = folder.or_else(|| Some(folders::caches().ok()?.join("sent")))?;
        let path = folder.join(format!("sent-{:.16}.replay", receipt.signature().to_string()));
        files::write_with_folders(&path, replay.to_string()).ok()?;
        // Those that cannot be removed stay until the next failure.
        let _ = keep_newest(&folder, "sent-", FAILED_MAX, FAILED_BYTES_MAX);
        Some(Self { place, debug: format!("selkie debug {}", path.display()) })
    }
}

struct Report<'a> {
    receipt: &'a Receipt,
    names: &'a Names,
    how: How,
    failed: Option<Failed>,
}

impl Report<'_> {
    fn changes(&self) -> impl Iterator<Item = AccountChange<'_>> {
        self.receipt.changes().map(|change| AccountChange {
            key: &change.key,
            before: change.before.clone().map(Account::from).unwrap_or_default(),
            after: change.after().cloned().map(Account::from).unwrap_or_default(),
        })
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        for line in &self.receipt.logs {
            let line = self.names.annotate(line);
            let line = ui.line(&line);
            writeln!(ui.out, "{DIM}{line}{DIM:#}")?;
        }
        self.show_instructions(ui)?;
        if let Some(returned) = &self.receipt.return_data {
            show_return_data(ui, &returned.data)?;
        }
        for change in self.changes() {
            change.show(ui, &self.title(&change), &|key| self.names.show(key))?;
        }
        self.show_result(ui)
    }

    /// Returns an address with its name and whether the account was created or closed.
    fn title(&self, change: &AccountChange<'_>) -> String {
        let title = self.names.show(change.key);
        match (change.before.lamports, change.after.lamports) {
            (0, _) => format!("{title} created"),
            (_, 0) => format!("{title} closed"),
            _ => title,
        }
    }

    /// Shows top-level and inner instructions, if there is more than one.
    fn show_instructions(&self, ui: &mut Ui) -> Result<()> {
        let invocations = self.receipt.invocations();
        if invocations.len() < 2 {
            return Ok(());
        }
        writeln!(ui.out, "{STRONG}instructions{STRONG:#}")?;
        for invocation in invocations {
            let program = self.program(&invocation.program_id);
            let indent = invocation.stack_height * 2 + 2;
            let number = match invocation.stack_height {
                1 => format!("#{} ", invocation.instruction_index),
                _ => String::new(),
            };
            let compute_units = invocation.compute_units;
            writeln!(ui.out, "{:indent$}{number}{program}  {compute_units} compute units", "")?;
        }
        Ok(())
    }

    fn program(&self, id: &Pubkey) -> String {
        self.names.label(id).unwrap_or_else(|| id.to_string())
    }

    fn show_result(&self, ui: &mut Ui) -> Result<()> {
        let receipt = self.receipt;
        match (&receipt.result, self.how) {
            (Ok(()), How::Sent) => write!(ui.out, "{GOOD}success{GOOD:#}")?,
            (Ok(()), How::Simulated) => write!(ui.out, "{GOOD}would succeed{GOOD:#}")?,
            (Err(error), _) => {
                let outcome = match receipt.stage {
                    selkie::Stage::Dropped => "dropped",
                    _ => "failed",
                };
                write!(ui.out, "{BAD}{outcome}{BAD:#}  {STRONG}{error}{STRONG:#}")?;
                if let Some(name) = receipt.error_name() {
                    let name = name.to_string();
                    write!(ui.out, " {}", ui.line(&name))?;
                }
            }
        }
        if receipt.stage > selkie::Stage::Dropped {
            let (compute_units, limit, fee) =
                (receipt.compute_units, receipt.compute_unit_limit, receipt.fee.total());
            write!(ui.out, "  {compute_units} of {limit} compute units  fee {fee} lamports")?;
        }
        writeln!(ui.out)?;
        if let Some(failed) = &receipt.failed_instruction {
            let program = self.names.show(&failed.program_id);
            let (index, height) = (failed.instruction_index, failed.stack_height);
            writeln!(ui.out, "  in instruction #{index}, stack height {height}: {program}")?;
        }
        show_place(ui, self.failed.as_ref().map_or(&[], |it| &it.place))?;
        if self.how == How::Sent && receipt.stage > selkie::Stage::Dropped {
            writeln!(ui.out, "  signature {}", receipt.signature())?;
        }
        for note in self.notes() {
            let note = ui.line(&note);
            writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
        }
        if let Some(help) = self.help() {
            writeln!(ui.out, "{NOTE}help{NOTE:#}: {help}")?;
        }
        if let Some(failed) = &self.failed {
            writeln!(ui.out, "{NOTE}debug it{NOTE:#}: {STRONG}{}{STRONG:#}", failed.debug)?;
        }
        Ok(())
    }

    /// Returns the notes of the runtime, and what is known of the accounts at fault.
    fn notes(&self) -> Vec<String> {
        let notes = self.receipt.notes.iter().map(|it| self.names.annotate(it).into_owned());
        notes.chain(self.receipt.explanations()).collect()
    }

    /// Returns what to do about the error, if known.
    fn help(&self) -> Option<String> {
        let payer = self.receipt.message().static_account_keys().first()?;
        Some(match self.receipt.result.as_ref().err()? {
            TransactionError::AccountNotFound | TransactionError::InsufficientFundsForFee => {
                format!("fund the payer: selkie airdrop 10 {payer}")
            }
            TransactionError::InsufficientFundsForRent { .. } => {
                "the transaction leaves an account below its rent-exempt minimum".to_owned()
            }
            TransactionError::BlockhashNotFound => {
                "the transaction was signed for another cluster or too long ago; --any-blockhash \
                 accepts it"
                    .to_owned()
            }
            TransactionError::ProgramAccountNotFound => {
                "deploy the program first: selkie deploy PROGRAM".to_owned()
            }
            TransactionError::InvalidProgramForExecution => {
                "the account is not a callable program; `selkie program list` lists those"
                    .to_owned()
            }
            TransactionError::SignatureFailure => {
                "sign again with --signer, or send with --skip-signatures".to_owned()
            }
            TransactionError::SanitizeFailure => {
                "the transaction is malformed or exceeds the size limit".to_owned()
            }
            _ => return None,
        })
    }

    fn json(&self) -> Value {
        let receipt = self.receipt;
        let invocations = receipt.invocations();
        let invocations = invocations.iter().map(|invocation| {
            json!({
                "instruction_index": invocation.instruction_index,
                "stack_height": invocation.stack_height,
                "program_id": invocation.program_id.to_string(),
                "accounts": invocation.accounts.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "data": BASE64_STANDARD.encode(invocation.data),
                "compute_units": invocation.compute_units,
            })
        });
        let failed = receipt.failed_instruction.as_ref().map(|failed| {
            json!({
                "instruction_index": failed.instruction_index,
                "stack_height": failed.stack_height,
                "program_id": failed.program_id.to_string(),
                "error": failed.error.to_string(),
                "accounts": failed.accounts.iter().map(|it| it.key.to_string()).collect::<Vec<_>>(),
            })
        });
        let changed: Vec<Value> = self.changes().map(|change| change.json()).collect();
        json!({
            "success": receipt.is_ok(),
            "simulated": self.how == How::Simulated,
            "error": receipt.result.as_ref().err().map(ToString::to_string),
            "error_name": receipt.error_name().map(|it| it.to_string()),
            "failed_instruction": failed,
            "failure_place": self.failed.as_ref().map(|it| &it.place),
            "debug": self.failed.as_ref().map(|it| &it.debug),
            "signature": receipt.signature().to_string(),
            "slot": receipt.slot,
            "fee": receipt.fee.total(),
            "compute_units": receipt.compute_units,
            "limit": receipt.compute_unit_limit,
            "logs": receipt.logs,
            "instructions": invocations.collect::<Vec<_>>(),
            "return_data": receipt.return_data.as_ref().map(|it| BASE64_STANDARD.encode(&it.data)),
            "changed": changed,
            "notes": self.notes(),
            "help": self.help(),
        })
    }
}

/// Shows a place in the user's own code, and the frames around it, if there are lines.
pub(crate) fn show_place(ui: &mut Ui, lines: &[String]) -> Result<()> {
    for (number, line) in lines.iter().enumerate() {
        let line = ui.line(line);
        match number {
            0 => writeln!(ui.out, "  {NOTE}-->{NOTE:#} {line}")?,
            _ => writeln!(ui.out, "  {line}")?,
        }
    }
    Ok(())
}

/// Shows return data as hexadecimal and base64.
pub(crate) fn show_return_data(ui: &mut Ui, data: &[u8]) -> Result<()> {
    writeln!(
        ui.out,
        "{STRONG}return data{STRONG:#}  {} bytes  {}  {DIM}base64 {}{DIM:#}",
        data.len(),
        hex::encode(data),
        BASE64_STANDARD.encode(data),
    )?;
    Ok(())
}
