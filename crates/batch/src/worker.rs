//! Executes items, whatever their kind.

use std::panic::{AssertUnwindSafe, catch_unwind};

use selkie_case::RunMemory;

use crate::{
    base::Base,
    error::Malformed,
    fuzz,
    item::{Item, Kind},
    options::RunOptions,
    outcome::{Outcome, Status},
    rows::ItemRows,
    segment,
    state::{self, Moment},
    transaction,
};

/// What a thread keeps from one item to the next.
#[derive(Default)]
pub(crate) struct Worker {
    memory: RunMemory,
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
        options: &RunOptions,
    ) -> Outcome {
        let stated = rows.stated_id(row);
        let run = || match rows.item(row) {
            Ok(item) => self.item(&item, stated, base, options),
            Err(why) => Err(why),
        };
        let ended = catch_unwind(AssertUnwindSafe(run));
        match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => Outcome::unusable(stated, Status::MalformedItem, why.to_string()),
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
        options: &RunOptions,
    ) -> Result<Outcome, Malformed> {
        let id = item.id();
        if stated != id {
            let (stated, id) = (hex::encode(stated), hex::encode(id));
            return Err(Malformed::from(format!(
                "`item_id` is {stated}, but the id of the row is {id}"
            )));
        }
        let moment = Moment::of(&mut self.moment, item, base)?;
        let case = state::case(item, moment, base)?;
        let ended = match item.kind {
            Kind::Transaction => transaction::run(&case, base, options, &mut self.memory),
            Kind::Fuzz => fuzz::run(item, &case, options)?,
            Kind::Segment => segment::run(item, &case, options)?,
        };
        Ok(Outcome::of(item, ended))
    }
}

fn message(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
        .to_owned()
}
