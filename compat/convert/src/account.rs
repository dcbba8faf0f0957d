//! Accounts, whose data is moved.

use solana_account::{Account, AccountSharedData};

use crate::{from_address, to_address};

/// Converts an account to Selkie's version.
#[must_use]
pub fn to_account(account: Account) -> selkie::Account {
    let Account { lamports, data, owner, executable, rent_epoch } = account;
    selkie::Account { lamports, data, owner: to_address(&owner), executable, rent_epoch }
}

/// Converts an account of Selkie's version.
#[must_use]
pub fn from_account(account: selkie::Account) -> Account {
    let selkie::Account { lamports, data, owner, executable, rent_epoch } = account;
    Account { lamports, data, owner: from_address(&owner), executable, rent_epoch }
}

/// Converts an account to Selkie's version. Its data is copied if it is shared.
#[must_use]
pub fn to_shared_account(account: AccountSharedData) -> selkie::AccountSharedData {
    to_account(account.into()).into()
}

/// Converts an account of Selkie's version. Its data is copied if it is shared.
#[must_use]
pub fn from_shared_account(account: selkie::AccountSharedData) -> AccountSharedData {
    from_account(account.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_keep_every_field() {
        let account = selkie::Account {
            lamports: 1,
            data: vec![2, 3],
            owner: selkie::address("owner"),
            executable: true,
            rent_epoch: 4,
        };
        let converted = from_account(account.clone());
        assert_eq!((converted.lamports, converted.rent_epoch), (1, 4));
        assert_eq!(to_account(converted), account);
        let shared = selkie::AccountSharedData::from(account);
        assert_eq!(to_shared_account(from_shared_account(shared.clone())), shared);
    }
}
