//! Transactions as Firedancer's protobuf fixtures (`.fix`).

use std::sync::Arc;

use selkie_fixture::{
    AddressTableLookup, CompiledInstruction, Fixture as File, Transaction as Given,
    TransactionEffects as Effects,
};
use selkie_svm::{
    AccountChange, BlockhashQueue, InstructionError,
    cost::LAMPORTS_PER_SIGNATURE,
    error::{discriminant, transaction_discriminant},
    sysvars::Clock,
};
use solana_hash::Hash;
use solana_message::{VersionedMessage, v0::MessageAddressTableLookup};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    fixture::{FixtureError, needed_accounts},
    fixture_account::{self, number, show, state},
    fixture_state::{self, hex},
    genesis,
    receipt::{Receipt, Stage},
    svm::Svm,
};

/// A transaction with the state before it and its result. Replays verify no signatures, but check
/// blockhashes. The format has the total stake, but not that of each vote account.
///
/// ```
/// use selkie::{fixture::TransactionFixture, keypair, system, Signer, Svm};
///
/// let alice = keypair("alice");
/// let mut svm = Svm::new();
/// svm.airdrop(&alice.pubkey(), 1_000_000_000)?;
/// let transfer = system::transfer(&alice.pubkey(), &alice.pubkey(), 7);
/// let transaction = svm.sign(&[transfer], &[&alice])?;
///
/// let file: Vec<u8> = TransactionFixture::record(&svm, &transaction)?.to_bytes();
/// let receipt = TransactionFixture::parse(&file)?.replay()?;
/// assert_eq!(receipt.compute_units, 150);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionFixture(selkie_fixture::TransactionFixture);

impl TransactionFixture {
    /// Records a transaction with the state it needs and its simulated result.
    ///
    /// # Errors
    /// If the format cannot express it: a transaction of version 1 (SIMD-0385), one that was
    /// processed before, or a fee per signature above 2^32 - 1 lamports.
    pub fn record(svm: &Svm, transaction: &VersionedTransaction) -> Result<Self, FixtureError> {
        let refuse = |why: &str| Err(FixtureError::Format(why.to_owned()));
        let message = &transaction.message;
        let lookups = match message {
            VersionedMessage::Legacy(_) => &[][..],
            VersionedMessage::V0(message) => &message.address_table_lookups,
            _ => {
                return refuse("the format has only legacy and version 0 transactions");
            }
        };
        let svm = svm.clone().with_signature_checks(false).with_blockhash_checks(true);
        let receipt = svm.simulate(transaction).unwrap_or_else(|failed| failed.receipt);
        if receipt.result == Err(TransactionError::AlreadyProcessed) {
            return refuse("it was processed before, which the format cannot express");
        }
        let price = svm.environment().lamports_per_signature;
        let Ok(lamports_per_signature) = u32::try_from(price) else {
            return refuse("the fee per signature exceeds the format's 32 bits");
        };
        let input = Given {
            accounts: needed_accounts(&svm, &receipt)
                .iter()
                .filter_map(|key| Some(state(*key, &svm.shared_account(key)?)))
                .collect(),
            lamports_per_signature: Some(lamports_per_signature),
            ..input(&svm, transaction, lookups)
        };
        Ok(Self(selkie_fixture::TransactionFixture { input, output: effects(&receipt) }))
    }

    /// Parses a file in Firedancer's format.
    ///
    /// # Errors
    /// If the file is malformed or of another kind.
    pub fn parse(file: &[u8]) -> Result<Self, FixtureError> {
        match File::read(file) {
            Ok(File::Transaction(fixture)) => Ok(Self(fixture)),
            Ok(_) => Err(FixtureError::Format("it is not a transaction fixture".to_owned())),
            Err(error) => Err(FixtureError::Format(error.to_string())),
        }
    }

    /// Encodes the fixture in Firedancer's format.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_firedancer()
    }

    /// Processes the transaction again and compares the result with the recorded one.
    ///
    /// # Errors
    /// If the result differs.
    pub fn replay(&self) -> Result<Arc<Receipt>, FixtureError> {
        let given = &self.0.input;
        let features = fixture_account::features(&given.features);
        // If an address is given twice, the first account counts.
        let accounts = given.accounts.iter().rev().map(fixture_account::account);
        let accounts: Vec<_> = accounts.map(|(key, account)| (key, account.into())).collect();
        let blockhash_queue =
            BlockhashQueue::new(given.blockhashes.iter().copied().map(Hash::new_from_array));
        let price = given.lamports_per_signature.map_or(LAMPORTS_PER_SIGNATURE, u64::from);
        let mut svm = fixture_state::cluster(features, &accounts, blockhash_queue, price)
            .with_signature_checks(false);
        // Builtin programs exist even if the fixture omits their accounts.
        for (key, account) in genesis::native_accounts(svm.environment()) {
            if svm.shared_account(&key).is_none() {
                svm.journal.set_account(key, Some(account));
            }
        }
        let environment = svm.journal.environment_mut();
        environment.epoch_stake.total = given.total_epoch_stake.unwrap_or_default();
        if let Some(slot) = given.slot {
            let clock = environment.sysvars.clock().unwrap_or_default();
            environment.sysvars.set_clock(&Clock { slot, ..clock });
        }
        let mut given = given.clone();
        // The header counts the signers; fixtures may omit the count or the signatures.
        given.header[0] = given.header[0].max(1);
        given.signatures.resize(given.header[0].into(), vec![0; 64]);
        let receipt = fixture_state::send(&mut svm, &given.to_wire());
        let differences = differences(&self.0.output, &receipt);
        if differences.is_empty() { Ok(receipt) } else { Err(FixtureError::Differs(differences)) }
    }
}

/// Returns a transaction and the chain's settings as a fixture's input, without accounts.
fn input(
    svm: &Svm,
    transaction: &VersionedTransaction,
    lookups: &[MessageAddressTableLookup],
) -> Given {
    let message = &transaction.message;
    let header = message.header();
    let instructions = message.instructions().iter().map(|it| CompiledInstruction {
        program: it.program_id_index,
        accounts: it.accounts.clone(),
        data: it.data.clone(),
    });
    let lookups = lookups.iter().map(|it| AddressTableLookup {
        table: it.account_key,
        writable: it.writable_indexes.clone(),
        readonly: it.readonly_indexes.clone(),
    });
    let blockhash_queue = &svm.journal.state().blockhash_queue;
    Given {
        is_legacy: matches!(message, VersionedMessage::Legacy(_)),
        header: [
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts,
        ],
        keys: message.static_account_keys().to_vec(),
        blockhash: message.recent_blockhash().to_bytes(),
        instructions: instructions.collect(),
        lookups: lookups.collect(),
        signatures: transaction.signatures.iter().map(|it| it.as_ref().to_vec()).collect(),
        message_hash: message.hash().to_bytes().to_vec(),
        accounts: Vec::new(),
        blockhashes: blockhash_queue.blockhashes().map(Hash::to_bytes).collect(),
        slot: None,
        lamports_per_signature: None,
        total_epoch_stake: Some(svm.environment().epoch_stake.total),
        features: svm.features().iter().map(number).collect(),
    }
}

fn effects(receipt: &Receipt) -> Effects {
    let error = receipt.result.as_ref().err();
    let error_number =
        |error| transaction_discriminant(error).map_or(u32::MAX, |it| it.saturating_add(1));
    let mut effects = Effects { error: error.map_or(0, error_number), ..Effects::default() };
    if let Some(TransactionError::InstructionError(index, error)) = error {
        let number = u32::try_from(discriminant(error)).unwrap_or(u32::MAX);
        effects.instruction_error = number.saturating_add(1);
        effects.instruction_index = (*index).into();
        if let InstructionError::Custom(number) = error {
            effects.custom_error = *number;
        }
    }
    if receipt.stage == Stage::Dropped {
        return effects;
    }
    let after =
        |change: &AccountChange| state(change.key, &change.after().cloned().unwrap_or_default());
    let (accounts, rollback) = if error.is_none() {
        let writable = receipt.accounts.iter().filter(|change| change.is_writable);
        (writable.map(after).collect(), Vec::new())
    } else {
        (Vec::new(), receipt.changes().map(after).collect())
    };
    Effects {
        is_executed: true,
        return_data: receipt.returned().to_vec(),
        compute_units: receipt.compute_units,
        loaded_bytes: receipt.loaded_bytes.into(),
        fees: Some((receipt.fee.signatures, receipt.fee.priority)),
        accounts,
        rollback,
        ..effects
    }
}

fn differences(expected: &Effects, receipt: &Receipt) -> Vec<String> {
    let found = effects(receipt);
    let mut differences = Vec::new();
    let mut compare = |what: &str, field: &dyn Fn(&Effects) -> String| {
        let (expected, found) = (field(expected), field(&found));
        if expected != found {
            differences.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    compare("executed", &|it| it.is_executed.to_string());
    compare("error", &|it| it.error.to_string());
    compare("instruction error", &|it| {
        let Effects { instruction_index, instruction_error, custom_error, .. } = it;
        format!("{instruction_error} ({custom_error}) of instruction {instruction_index}")
    });
    compare("compute units", &|it| it.compute_units.to_string());
    compare("fees", &|it| format!("{:?}", it.fees));
    compare("loaded bytes", &|it| it.loaded_bytes.to_string());
    compare("return data", &|it| hex(&it.return_data));
    // Accounts after a failed transaction are not observable, except those of the rollback.
    let accounts = if receipt.is_ok() { &expected.accounts } else { &expected.rollback };
    for before in accounts {
        let after = receipt.account(&before.address).and_then(|it| it.after()).cloned();
        let after = state(before.address, &after.unwrap_or_default());
        let (expected, found) = (show(before), show(&after));
        if expected != found {
            let address = before.address;
            differences.push(format!("account {address}: expected {expected}, found {found}"));
        }
    }
    for change in receipt.changes() {
        if !accounts.iter().any(|it| it.address == change.key) {
            differences.push(format!("account {}: changed", change.key));
        }
    }
    differences
}
