//! The observable result of a transaction, and differences between two.

use std::fmt::Write;

use serde_json::Value;

use crate::case::{Account, Accounts, Key};

/// The stage at which a transaction ended.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    Sanitize,
    Sigverify,
    Locks,
    Budget,
    Age,
    StatusCache,
    SvmRejected,
    FeesOnly,
    Executed,
}

/// One instruction that a program invoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inner {
    pub(crate) program_index: u8,
    pub(crate) accounts: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) stack_height: u8,
}

/// The result of one transaction.
#[derive(Clone)]
pub(crate) struct Observed {
    pub(crate) stage: Stage,
    /// `Ok`, or the error's `Debug` text.
    pub(crate) result: String,
    /// The result in the format of vectors. Set by agave's side only, and not compared.
    pub(crate) result_json: Value,
    pub(crate) fee: u64,
    pub(crate) compute_units: u64,
    pub(crate) loaded_accounts_data_size: u64,
    pub(crate) logs: Vec<String>,
    /// By top-level instruction.
    pub(crate) inner: Vec<Vec<Inner>>,
    pub(crate) return_data: Option<(Key, Vec<u8>)>,
    /// Accounts that changed. Deleted ones have no lamports.
    pub(crate) post: Accounts,
}

impl Observed {
    /// A transaction that was dropped.
    pub(crate) fn dropped(stage: Stage, result: String, result_json: Value) -> Self {
        Self {
            stage,
            result,
            result_json,
            fee: 0,
            compute_units: 0,
            loaded_accounts_data_size: 0,
            logs: Vec::new(),
            inner: Vec::new(),
            return_data: None,
            post: Accounts::new(),
        }
    }

    /// A short name of the result for statistics.
    pub(crate) fn kind(&self) -> String {
        let variant = self.result.trim_start_matches("InstructionError(");
        let variant = match variant.split_once(", ") {
            Some((_, rest)) if self.result.starts_with("InstructionError(") => rest,
            _ => variant,
        };
        let name: String =
            variant.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect();
        format!("{:?} {name}", self.stage)
    }

    /// Returns the differences between `self` and `other`, one line each.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let mut text = String::new();
        differ(&mut text, "stage", &self.stage, &other.stage);
        differ(&mut text, "result", &self.result, &other.result);
        differ(&mut text, "fee", &self.fee, &other.fee);
        differ_in_accounts(&mut text, &self.post, &other.post);
        differ(&mut text, "compute units", &self.compute_units, &other.compute_units);
        differ(
            &mut text,
            "loaded accounts data size",
            &self.loaded_accounts_data_size,
            &other.loaded_accounts_data_size,
        );
        differ_in_lines(&mut text, &self.logs, &other.logs);
        differ(&mut text, "inner instructions", &self.inner, &other.inner);
        let return_data = |it: &Self| it.return_data.as_ref().map(|it| (name(&it.0), it.1.clone()));
        differ(&mut text, "return data", &return_data(self), &return_data(other));
        text
    }
}

pub(crate) fn name(key: &Key) -> String {
    bs58::encode(key).into_string()
}

fn differ<T: PartialEq + std::fmt::Debug>(text: &mut String, what: &str, left: &T, right: &T) {
    if left != right {
        writeln!(text, "  {what}: {left:?} | {right:?}").expect("a string takes all");
    }
}

fn differ_in_lines(text: &mut String, left: &[String], right: &[String]) {
    let at = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    if at < left.len() || at < right.len() {
        let line = |lines: &[String]| lines.get(at).cloned().unwrap_or("(end)".to_owned());
        differ(text, &format!("log line {at}"), &line(left), &line(right));
        if line(left) == line(right) {
            differ(text, "log lines", &left.len(), &right.len());
        }
    }
}

fn differ_in_accounts(text: &mut String, left: &Accounts, right: &Accounts) {
    let keys = left.keys().chain(right.keys().filter(|it| !left.contains_key(*it)));
    for key in keys {
        match (left.get(key), right.get(key)) {
            (Some(left), Some(right)) if left.lamports == 0 && right.lamports == 0 => {}
            (left, right) if left == right => {}
            (left, right) => {
                let (left, right) = (left.map(brief), right.map(brief));
                differ(text, &format!("account {}", name(key)), &left, &right);
                if left == right {
                    writeln!(text, "  account {}: other data", name(key)).expect("as above");
                }
            }
        }
    }
}

/// Describes an account in a few words.
fn brief(account: &Account) -> String {
    let Account { lamports, owner, executable, rent_epoch, data } = account;
    let head: String = data.iter().take(100).map(|byte| format!("{byte:02x}")).collect();
    let mark = if *executable { " executable" } else { "" };
    let epoch =
        if *rent_epoch == u64::MAX { String::new() } else { format!(" epoch {rent_epoch}") };
    format!("{lamports} of {}{mark}{epoch} {} bytes {head}", name(owner), data.len())
}
