//! How transactions change the data and owners of accounts.

use selkie_ledger::{AccountDiff, DataDiff};
use selkie_svm::AccountChange;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// Ranges that are at most this far apart are one.
const GAP_BYTES: usize = 8;
/// The bytes of an account's ranges, before and afterwards, beyond which they are left out.
const RANGES_BYTES_MAX: usize = 2048;

/// Returns the changes of a transaction's accounts, without those of lamports alone.
pub(crate) fn of(accounts: &[AccountChange]) -> Vec<AccountDiff> {
    let indexed = (0_u8..).zip(accounts).filter(|(_, change)| change.write.is_some());
    indexed.filter_map(|(index, change)| diff(index, change)).collect()
}

fn diff(account_index: u8, change: &AccountChange) -> Option<AccountDiff> {
    let (before, after) = (change.before.as_ref(), change.after());
    let owner = |account: Option<&AccountSharedData>| account.map(|it| *it.owner());
    let (owner_before, owner_after) = (
        owner(before).or_else(|| owner(after)).unwrap_or_default(),
        owner(after).unwrap_or_else(Pubkey::default),
    );
    fn data(account: Option<&AccountSharedData>) -> &[u8] {
        account.map(ReadableAccount::data).unwrap_or_default()
    }
    let (before, after) = (data(before), data(after));
    if owner_before == owner_after && before == after {
        return None;
    }
    let (ranges, is_truncated) = ranges(before, after);
    Some(AccountDiff {
        account_index,
        owner_before,
        owner_after,
        bytes_before: before.len() as u64,
        bytes_after: after.len() as u64,
        ranges,
        is_truncated,
    })
}

/// Returns the ranges that differ, and whether some are left out.
fn ranges(before: &[u8], after: &[u8]) -> (Vec<DataDiff>, bool) {
    let (mut ranges, mut bytes) = (Vec::new(), 0_usize);
    let mut offset = 0;
    while let Some((start, end)) = next_range(before, after, offset) {
        let part = |data: &[u8]| {
            let end = end.min(data.len());
            data.get(start.min(end)..end).unwrap_or_default().to_vec()
        };
        bytes = bytes.saturating_add(end.saturating_sub(start).saturating_mul(2));
        if bytes > RANGES_BYTES_MAX {
            return (ranges, true);
        }
        ranges.push(DataDiff { offset: start as u64, before: part(before), after: part(after) });
        offset = end;
    }
    (ranges, false)
}

/// Returns the first range at or after `offset` that differs.
fn next_range(before: &[u8], after: &[u8], offset: usize) -> Option<(usize, usize)> {
    let len = before.len().max(after.len());
    let differs = |at: &usize| before.get(*at) != after.get(*at);
    let start = (offset..len).find(differs)?;
    let mut end = start.saturating_add(1);
    while let Some(next) = (end..len.min(end.saturating_add(GAP_BYTES))).find(differs) {
        end = next.saturating_add(1);
        if end.saturating_sub(start) > RANGES_BYTES_MAX {
            break;
        }
    }
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_changes_are_one_range() {
        let before = [0; 100];
        let mut after = vec![0; 104];
        (after[3], after[8], after[50]) = (1, 2, 3);
        let (found, is_truncated) = ranges(&before, &after);
        let places: Vec<_> = found.iter().map(|it| (it.offset, it.after.len())).collect();
        assert_eq!((places, is_truncated), (vec![(3, 6), (50, 1), (100, 4)], false));
        assert_eq!(
            (found[0].before.as_slice(), found[2].before.as_slice()),
            (&[0; 6][..], &[][..])
        );
        let (found, is_truncated) = ranges(&[1; 5000], &[2; 5000]);
        assert_eq!((found, is_truncated), (vec![], true));
    }
}
