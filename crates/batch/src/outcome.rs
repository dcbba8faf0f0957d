//! The result of an item, and how one is executed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use selkie_svm::{ChainState, Engine, ProcessOptions, Processed, Transaction, Workspace, process};
use solana_hash::Hash;
use solana_transaction_error::TransactionError;

use crate::{
    Sha256,
    base::Base,
    effects::{self, Written},
    item::{Expectation, Item},
    rows::{ItemRows, Malformed},
    sha256,
    state::{ItemAccounts, Moment},
};

/// How an item ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The transaction succeeded.
    Success,
    /// It failed, and paid its fee.
    Failed,
    /// Its accounts could not be loaded; it paid its fee only.
    FeesOnly,
    /// It was dropped: it pays no fee and writes nothing.
    Dropped,
    /// The row is invalid.
    MalformedItem,
    /// The engine panicked: a bug in Selkie.
    EngineCrash,
}

impl Status {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Failed => "Failed",
            Self::FeesOnly => "FeesOnly",
            Self::Dropped => "Dropped",
            Self::MalformedItem => "MalformedItem",
            Self::EngineCrash => "EngineCrash",
        }
    }
}

/// A row of the result table.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) item_id: Vec<u8>,
    pub(crate) status: Status,
    pub(crate) error: Option<String>,
    pub(crate) error_index: Option<u8>,
    /// The fee and so on, if the transaction was not dropped.
    pub(crate) processed: Option<Box<Processed>>,
    pub(crate) post: Vec<Written>,
    pub(crate) effects_hash: Sha256,
    pub(crate) matches: Option<bool>,
    pub(crate) bytes_in: u64,
}

/// What a thread keeps from one item to the next.
#[derive(Default)]
pub(crate) struct Worker {
    workspace: Workspace,
    moment: Option<Moment>,
}

impl Worker {
    /// Executes the item of a row. A row that is invalid, or on which the engine panics, has a result
    /// that says so.
    pub(crate) fn execute(
        &mut self,
        rows: &ItemRows<'_>,
        row: usize,
        base: &Base,
        engine: Engine,
    ) -> Outcome {
        let stated = rows.stated_id(row);
        let run = || match rows.item(row) {
            Ok(item) => self.item(&item, stated, base, engine),
            Err(why) => Err(why),
        };
        let ended = catch_unwind(AssertUnwindSafe(run));
        match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => Outcome::unusable(stated, Status::MalformedItem, why),
            Err(panic) => {
                // The panic may have left anything in the thread's memory.
                *self = Self::default();
                Outcome::unusable(stated, Status::EngineCrash, message(&*panic))
            }
        }
    }

    fn item(
        &mut self,
        item: &Item<'_>,
        stated: &[u8],
        base: &Base,
        engine: Engine,
    ) -> Result<Outcome, Malformed> {
        let id = item.id();
        if stated != id {
            let (stated, id) = (hex::encode(stated), hex::encode(id));
            return Err(format!("`item_id` is {stated}, but the id of the row is {id}"));
        }
        let moment = Moment::of(&mut self.moment, item, base)?;
        let accounts = ItemAccounts::new(item, moment, base)?;
        let options =
            ProcessOptions { verify_signatures: item.verify_signatures, engine, budget: None };
        let features = moment.environment.features;
        let ended = Transaction::from_wire(item.message, features).and_then(|transaction| {
            let blockhash: &Hash = transaction.blockhash();
            let chain = ChainState {
                accounts: &accounts,
                environment: &moment.environment,
                blockhash_queue: &moment.blockhash_queue(item, blockhash),
                programs: base.programs(),
            };
            process(&transaction, &chain, &options, None, &mut self.workspace)
        });
        Ok(Outcome::of(id, item, ended))
    }
}

impl Outcome {
    fn of(id: Sha256, item: &Item<'_>, ended: Result<Box<Processed>, TransactionError>) -> Self {
        let post = ended.as_ref().map(|it| effects::written(it)).unwrap_or_default();
        let effects_hash = effects::hash(ended.as_deref(), &post);
        let (status, error) = match &ended {
            Ok(processed) => match &processed.result {
                Ok(()) => (Status::Success, None),
                Err(error) if processed.is_executed => (Status::Failed, Some(error)),
                Err(error) => (Status::FeesOnly, Some(error)),
            },
            Err(error) => (Status::Dropped, Some(error)),
        };
        let error_index = match error {
            Some(TransactionError::InstructionError(index, _)) => Some(*index),
            _ => None,
        };
        let mut outcome = Self {
            item_id: id.to_vec(),
            status,
            error: error.map(effects::error_text),
            error_index,
            post,
            effects_hash,
            matches: None,
            bytes_in: item.bytes(),
            processed: ended.ok(),
        };
        outcome.matches = item.expect.as_ref().map(|expected| outcome.is_as(expected));
        outcome
    }

    fn is_as(&self, expected: &Expectation<'_>) -> bool {
        let units = self.processed.as_ref().map_or(0, |it| it.compute_units);
        expected.status.is_none_or(|status| {
            status == self.status.name() && expected.error == self.error.as_deref()
        }) && expected.compute_units.is_none_or(|it| it == units)
            && expected.effects_hash.is_none_or(|it| it == self.effects_hash)
    }

    /// Returns the result of an item that could not be executed. Its effects are a hash of its status
    /// and of the row's id, so that a digest tells it from other results.
    fn unusable(stated: &[u8], status: Status, why: String) -> Self {
        Self {
            item_id: stated.to_vec(),
            status,
            error: Some(why),
            error_index: None,
            processed: None,
            post: Vec::new(),
            effects_hash: sha256(&[status.name().as_bytes(), stated].concat()),
            matches: None,
            bytes_in: 0,
        }
    }
}

fn message(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
        .to_owned()
}
