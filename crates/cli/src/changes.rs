//! Shows changes of accounts, as text and as JSON.

use std::io::Write as _;

use anyhow::Result;
use selkie::account_json;
use selkie_svm::{Account, Pubkey};
use serde_json::{Value, json};

use crate::{
    render::{changes, show_change},
    ui::{DIM, STRONG, Ui},
};

/// An account before and after.
pub(crate) struct AccountChange<'a> {
    pub(crate) key: &'a Pubkey,
    pub(crate) before: Account,
    pub(crate) after: Account,
}

impl AccountChange<'_> {
    /// Returns the change as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "pubkey": self.key.to_string(),
            "before": account_json(self.key, &self.before),
            "after": account_json(self.key, &self.after),
        })
    }

    /// Shows the change under `title`, which contains the address. `name` renders the addresses of
    /// owners.
    pub(crate) fn show(
        &self,
        ui: &mut Ui,
        title: &str,
        name: &dyn Fn(&Pubkey) -> String,
    ) -> Result<()> {
        let Self { before, after, .. } = self;
        writeln!(ui.out, "{STRONG}account{STRONG:#} {title}")?;
        let mut row = |field: &str, old: &dyn ToString, new: &dyn ToString| {
            let (old, new) = (old.to_string(), new.to_string());
            if old == new {
                return Ok(());
            }
            writeln!(ui.out, "    {field}  {DIM}{old}{DIM:#} → {STRONG}{new}{STRONG:#}")
        };
        row("lamports", &before.lamports, &after.lamports)?;
        row("owner", &name(&before.owner), &name(&after.owner))?;
        row("executable", &before.executable, &after.executable)?;
        row("data length", &before.data.len(), &after.data.len())?;
        for range in changes(&before.data, &after.data) {
            let of = |data: &[u8]| {
                let end = range.end.min(data.len());
                data.get(range.start..end).unwrap_or_default().to_vec()
            };
            show_change(ui, range.start, &of(&before.data), &of(&after.data))?;
        }
        Ok(())
    }
}
