//! What changes in accounts between two moments.

use selkie::{AccountSharedData, Pubkey, ReadableAccount as _};

/// Returns what has changed in an account, as text. `None` if nothing has.
pub(super) fn change(
    key: &Pubkey,
    before: &AccountSharedData,
    after: &AccountSharedData,
) -> Option<String> {
    let mut parts = Vec::new();
    let (old, new) = (before.lamports(), after.lamports());
    if old != new {
        parts.push(format!("lamports {old} → {new}"));
    }
    let (old, new) = (before.owner(), after.owner());
    if old != new {
        parts.push(format!("owner {old} → {new}"));
    }
    let (old, new) = (before.data(), after.data());
    if old.len() != new.len() {
        parts.push(format!("length {} → {}", old.len(), new.len()));
    }
    let mut changed = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
    if let Some((first, _)) = changed.next() {
        let last = changed.next_back().map_or(first, |(last, _)| last);
        parts.push(format!("data in {first}..{}", last + 1));
    }
    (!parts.is_empty()).then(|| format!("{key}: {}", parts.join(", ")))
}
