//! The accounts of the transaction at the present moment.

use selkie::{AccountSharedData, Pubkey, ReadableAccount as _, runtime::input::Record};
use selkie_isa::layout::INPUT_START;
use selkie_replay::Level;

use super::{Session, Shown};
use crate::value::{Contents, Value};

impl Session {
    /// Returns the accounts of the transaction. Those of the instruction that runs are as the program
    /// sees them, and have the address of their data.
    pub fn accounts(&self) -> Vec<Shown> {
        let state = self.history.timeline().state_at(self.position());
        let level = state.levels.last();
        let accounts = state.accounts.iter();
        let name = |key: &Pubkey| self.history.timeline().svm().show(key);
        accounts.map(|(key, account)| shown(key, account, level, &name)).collect()
    }
}

fn shown(
    key: &Pubkey,
    account: &AccountSharedData,
    level: Option<&Level>,
    name: &dyn Fn(&Pubkey) -> String,
) -> Shown {
    let seen = level.and_then(|it| seen_by(it, key));
    let (lamports, bytes, contents) = seen.map_or_else(
        || (account.lamports(), account.data().len() as u64, Contents::Absent),
        |(lamports, bytes, data)| (lamports, bytes, Contents::Memory(data)),
    );
    Shown {
        name: name(key),
        type_name: "account".to_owned(),
        text: format!("{lamports} lamports, {bytes} bytes, of {}", name(account.owner())),
        children: 0,
        is_parameter: false,
        value: Value::new(Default::default(), contents),
    }
}

/// Returns lamports, length and address of the data of an account in a program's input.
fn seen_by(level: &Level, key: &Pubkey) -> Option<(u64, u64, u64)> {
    let index = level.accounts.iter().position(|it| it == key)?;
    let Record::Account(layout) = level.layout.records.get(index)? else { return None };
    let address = |offset: usize| INPUT_START + offset as u64;
    let number = |offset: usize| {
        let bytes = level.memory.read(address(offset), 8);
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    Some((number(layout.lamports)?, number(layout.data_len)?, address(layout.data)))
}
