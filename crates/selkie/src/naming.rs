//! Names of a chain's accounts and of a receipt's.

use std::{collections::BTreeMap, sync::Arc};

use solana_pubkey::Pubkey;

use crate::{
    names::{NAMES_MAX, find, is_name, show, well_known},
    receipt::Receipt,
    svm::Svm,
};

impl Svm {
    /// Names an account, for receipts, replays and traces. Addresses made by [`keypair`](crate::keypair)
    /// and [`address`](crate::address), well-known programs and programs that were added from a file have
    /// names already; this is for the others, as derived addresses. Text that is empty, longer than 64
    /// characters or has control characters is no name, and is not shown.
    ///
    /// ```
    /// use selkie::{Pubkey, Svm, system};
    ///
    /// let (vault, _) = Pubkey::find_program_address(&[b"vault"], &system::ID);
    /// let mut svm = Svm::new();
    /// svm.set_name(vault, "vault");
    /// assert_eq!(svm.show(&vault), format!("vault ({vault})"));
    /// ```
    pub fn set_name(&mut self, key: Pubkey, name: &str) {
        let is_full = self.names.as_ref().is_some_and(|names| names.len() >= NAMES_MAX);
        if is_name(name) && !is_full {
            Arc::make_mut(self.names.get_or_insert_default()).insert(key, name.to_owned());
        }
    }

    /// Returns the name of an account, if it has one.
    #[must_use]
    pub fn name_of(&self, key: &Pubkey) -> Option<String> {
        find(key, self.names.as_deref(), self.origins.as_deref())
    }

    /// Renders an address with its name, if it has one.
    #[must_use]
    pub fn show(&self, key: &Pubkey) -> String {
        show(key, self.name_of(key).as_deref())
    }
}

impl Receipt {
    /// Returns the name of an account, if it has one.
    #[must_use]
    pub fn name_of(&self, key: &Pubkey) -> Option<String> {
        let evidence = self.evidence.as_ref();
        let given = evidence.and_then(|it| it.names.as_deref());
        find(key, given, evidence.and_then(|it| it.origins.as_deref()))
    }

    /// Renders an address with its name, if it has one: `vault (7V1F…)`.
    #[must_use]
    pub fn show(&self, key: &Pubkey) -> String {
        show(key, self.name_of(key).as_deref())
    }

    /// Returns the names of the transaction's accounts that only this process knows.
    pub(crate) fn own_names(&self) -> BTreeMap<Pubkey, String> {
        let is_own = |key: &&Pubkey| !well_known().any(|(_, id)| id == **key);
        let changes = self.accounts.iter().map(|change| &change.key);
        let keys = changes.chain(self.message().static_account_keys()).filter(is_own);
        keys.filter_map(|key| Some((*key, self.name_of(key)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use solana_signer::Signer as _;

    use super::*;
    use crate::{
        address, keypair,
        names::{annotate, name_of},
    };

    #[test]
    fn addresses_made_of_names_have_them() {
        let (alice, vault) = (keypair("alice").pubkey(), address("vault"));
        assert_eq!(name_of(&alice).as_deref(), Some("alice"));
        let svm = Svm::new();
        assert_eq!(svm.show(&vault), format!("vault ({vault})"));
        let text =
            format!("{alice} pays {vault}, not 7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq");
        let expected = text.replace(&vault.to_string(), &format!("{vault} (vault)"));
        let expected = expected.replace(&alice.to_string(), &format!("{alice} (alice)"));
        assert_eq!(annotate(&text, name_of), expected);
        assert_eq!(annotate(&expected, name_of), expected);
        let shown = format!("{} pays", Svm::new().show(&alice));
        assert_eq!(annotate(&shown, name_of), shown);
    }

    #[test]
    fn texts_that_are_no_names_are_not_shown() {
        for text in ["", " ", "\x1b[2J", "a\nb", &"x".repeat(65)] {
            let mut svm = Svm::new();
            let key = address(text);
            svm.set_name(key, text);
            assert_eq!(svm.show(&key), key.to_string(), "{text:?}");
        }
    }
}
