//! [`Schedules`]: the texts of leader schedules.

use std::sync::{Arc, Mutex, PoisonError};

/// The slots of an epoch as text, counted from its first: 3 MB on a cluster like mainnet, so they are
/// written once.
#[derive(Default, Debug)]
pub(crate) struct Schedules {
    newest: Mutex<Option<(u64, Arc<str>)>>,
}

impl Schedules {
    /// Returns the list of the slots of an epoch of this length.
    pub(crate) fn of(&self, slots: u64) -> Arc<str> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((length, text)) = &*newest
            && *length == slots
        {
            return Arc::clone(text);
        }
        let list = (0..slots).map(|slot| slot.to_string()).collect::<Vec<_>>().join(",");
        let text: Arc<str> = format!("[{list}]").into();
        *newest = Some((slots, Arc::clone(&text)));
        text
    }
}
