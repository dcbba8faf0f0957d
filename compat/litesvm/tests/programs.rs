//! Programs: at which clocks they can be invoked, and what they return.

use selkie_litesvm::{LiteSVM, types::TransactionMetadata};
use solana_address::Address;
use solana_clock::Clock;
use solana_keypair::{Keypair, Signer};
use solana_message::{Instruction, Message, VersionedMessage};
use solana_transaction::versioned::VersionedTransaction;

/// A chain that invokes programs which need no accounts.
struct Chain {
    svm: LiteSVM,
    payer: Keypair,
}

impl Chain {
    fn new() -> Self {
        let (mut svm, payer) = (LiteSVM::new(), Keypair::new());
        svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("an airdrop");
        Self { svm, payer }
    }

    fn invoke(&mut self, program_id: Address) -> TransactionMetadata {
        self.svm.expire_blockhash();
        let memo = Instruction { program_id, accounts: vec![], data: b"memo".to_vec() };
        let blockhash = self.svm.latest_blockhash();
        let message = Message::new_with_blockhash(&[memo], Some(&self.payer.pubkey()), &blockhash);
        let message = VersionedMessage::Legacy(message);
        let transaction = VersionedTransaction::try_new(message, &[&self.payer]);
        let slot = self.svm.get_sysvar::<Clock>().slot;
        let sent = self.svm.send_transaction(transaction.expect("it is signed"));
        sent.unwrap_or_else(|failed| panic!("slot {slot}: {failed:?}"))
    }
}

#[test]
fn added_programs_can_be_invoked_at_every_clock() {
    let (mut chain, id) = (Chain::new(), Address::new_unique());
    let memo = selkie::programs::MEMO;
    // How tests set the time: all else, the slot included, is 0.
    let time = Clock { unix_timestamp: 1_700_000_000, ..Clock::default() };
    chain.svm.set_sysvar(&time);
    chain.svm.add_program(id, memo.elf()).expect("a program");
    chain.invoke(id);
    chain.invoke(memo.id);
    for slot in [1000, 999, 0] {
        chain.svm.warp_to_slot(slot);
        chain.invoke(id);
        chain.invoke(memo.id);
    }
}

/// LiteSVM's program is not deployed then.
#[test]
fn a_program_added_late_can_be_invoked_after_the_clock_was_set_back() {
    let (mut chain, id) = (Chain::new(), Address::new_unique());
    chain.svm.warp_to_slot(1000);
    chain.svm.add_program(id, selkie::programs::MEMO.elf()).expect("a program");
    chain.svm.warp_to_slot(999);
    chain.invoke(id);
}

#[test]
fn return_data_that_are_empty_are_those_of_the_program_invoked_last() {
    let (mut chain, memo) = (Chain::new(), selkie::programs::MEMO.id);
    let metadata = chain.invoke(memo);
    assert_eq!((metadata.return_data.program_id, metadata.return_data.data), (memo, vec![]));
    let airdrop = chain.svm.airdrop(&Address::new_unique(), 1_000_000_000).expect("an airdrop");
    assert_eq!(airdrop.return_data.program_id, solana_sdk_ids::system_program::ID);
}
