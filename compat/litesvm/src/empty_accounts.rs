//! Accounts without lamports: mainnet does not have them, and LiteSVM up to 0.6 returns those that a transaction left.

use std::collections::BTreeSet;

use selkie::{Pubkey, Receipt};

/// The accounts that transactions left without lamports, for users of LiteSVM up to 0.6; else none.
#[derive(Clone, Default, Debug)]
pub(crate) struct EmptyAccounts(BTreeSet<Pubkey>);

impl EmptyAccounts {
    /// Adds the writable accounts of a transaction that have no lamports after it.
    pub(crate) fn add(&mut self, receipt: &Receipt) {
        if cfg!(feature = "until-0-6") {
            let written = receipt.accounts.iter().filter(|it| it.is_writable);
            self.0.extend(written.filter(|it| it.after().is_none()).map(|it| it.key));
        }
    }

    /// Returns an empty account if `account` does not exist and is one of these.
    pub(crate) fn or_empty<T: Default>(&self, account: Option<T>, key: &Pubkey) -> Option<T> {
        account.or_else(|| self.0.contains(key).then(T::default))
    }
}

#[cfg(test)]
mod tests {
    use selkie_convert::{from_instruction, to_address};
    use solana_keypair::Keypair;
    use solana_message::Message;
    use solana_signer::Signer;
    use solana_transaction::Transaction;

    use crate::LiteSVM;

    #[test]
    fn accounts_that_gave_all_lamports_away_are_empty_up_to_0_6() {
        let (payer, giver) = (Keypair::new(), Keypair::new());
        let [from, to] = [&giver, &payer].map(|it| to_address(&it.pubkey()));
        let mut svm = LiteSVM::new();
        for key in [payer.pubkey(), giver.pubkey()] {
            svm.airdrop(&key, 1_000_000_000).expect("there is enough");
        }
        let all = from_instruction(selkie::system::transfer(&from, &to, 1_000_000_000));
        let message = Message::new(&[all], Some(&payer.pubkey()));
        let transaction = Transaction::new(&[&payer, &giver], message, svm.latest_blockhash());
        svm.send_transaction(transaction).expect("the payer pays the fee");
        let is_kept = cfg!(feature = "until-0-6");
        let account = svm.get_account(&giver.pubkey());
        assert_eq!(account.map(|it| it.lamports), is_kept.then_some(0));
        assert_eq!(svm.get_balance(&giver.pubkey()), is_kept.then_some(0));
        svm.airdrop(&giver.pubkey(), 2_000_000_000).expect("there is enough");
        assert_eq!(svm.get_balance(&giver.pubkey()), Some(2_000_000_000));
        assert_eq!(svm.get_account(&Keypair::new().pubkey()), None, "no transaction had it");
    }
}
