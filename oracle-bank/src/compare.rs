//! The comparison of a block: of transactions, accounts, hashes, and records.

use selkie_bank::{Bank, Outcome};
use selkie_svm::{
    AccountSharedData, EpochStake, Pubkey, ReadableAccount, RewardKind, sysvars::Sysvars,
};
use solana_runtime::bank::Bank as Theirs;
use solana_transaction::{Transaction, versioned::VersionedTransaction};

/// Compares what programs see in a bank that was just opened: sysvars and stakes.
pub(crate) fn begin(ours: &Bank, theirs: &Theirs) -> Result<(), String> {
    for id in Sysvars::ids() {
        let found = ours.environment().sysvars.get(&id).unwrap_or_default();
        let expected = theirs.get_account(&id).unwrap_or_default();
        if found != expected.data() {
            return Err(format!("at the start, sysvar {id}: {found:?}, not {:?}", expected.data()));
        }
    }
    let vote_accounts = theirs.get_current_epoch_vote_accounts();
    let vote_accounts = vote_accounts.iter().map(|(key, (stake, _))| (*key, *stake)).collect();
    let total = theirs.get_current_epoch_total_stake();
    let expected = EpochStake { total, vote_accounts };
    let found = &ours.environment().epoch_stake;
    equal("stakes", found, &expected)
}

fn equal<T: PartialEq + core::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} {found:?}, not {wanted:?}")) }
}

/// Processes a transaction in both banks, and compares the outcomes. Returns whether it was committed.
pub(crate) fn process(
    ours: &Bank,
    theirs: &Theirs,
    transaction: &Transaction,
) -> Result<bool, String> {
    let versioned = VersionedTransaction::from(transaction.clone());
    let wire = wincode::serialize(&versioned).map_err(|it| it.to_string())?;
    let read = selkie_svm::Transaction::from_wire(&wire, ours.environment().rules());
    let read = read.map_err(|it| format!("{it}: {transaction:?}"))?;
    let found: Outcome = ours.process(&read, &Default::default()).map_err(|it| it.to_string())?;
    let expected = theirs.process_transaction_with_metadata(transaction.clone());
    let found = found.map(|it| {
        let fee = (it.fee.signatures, it.fee.priority);
        let logs = it.is_executed.then_some(it.logs);
        (it.result, it.compute_units, fee, it.loaded_bytes, logs)
    });
    let expected = expected.map(|it| {
        let fee = (it.fee_details.transaction_fee(), it.fee_details.prioritization_fee());
        let loaded = it.loaded_account_stats.loaded_accounts_data_size;
        (it.status, it.executed_units, fee, loaded, it.log_messages)
    });
    equal("transaction", &found, &expected).map_err(|it| format!("{it}\n{transaction:?}"))?;
    Ok(found.is_ok())
}

/// Compares frozen banks.
pub(crate) fn end(ours: &Bank, theirs: &Theirs, is_first: bool) -> Result<(), String> {
    let mut differences = Vec::new();
    let accounts = ours.accounts().map_err(|it| it.to_string())?;
    let sum: u64 = accounts.iter().map(|(_, account)| account.lamports()).sum();
    let mut keys = ours.changed_addresses();
    if is_first {
        keys.extend(accounts.iter().map(|(key, _)| *key));
    }
    let modified = theirs.get_all_accounts_modified_since_parent();
    keys.extend(modified.iter().map(|(key, _)| *key));
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let found = ours.get_account(&key).ok().flatten();
        let expected = theirs.get_account(&key);
        if found != expected {
            differences.push(format!("{key}:\n  {}\n  not\n  {}", show(&found), show(&expected)));
        }
    }
    if is_first {
        let expected: Vec<u8> = theirs
            .calculate_accounts_lt_hash_for_tests()
            .0
            .0
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        if ours.lattice_hash().map(|it| it.to_bytes()) != Some(expected) {
            differences.push("hash of all accounts".into());
        }
    }
    differences.extend(equal("capitalization", &sum, &theirs.capitalization()).err());
    differences.extend(equal("rewards", &rewards(ours), &their_rewards(theirs)).err());
    let partitions = theirs.get_rewards_and_num_partitions().num_partitions;
    differences.extend(equal("partitions", &ours.reward_partitions(), &partitions).err());
    differences
        .extend(equal("blockhash", &ours.latest_blockhash(), &theirs.last_blockhash()).err());
    differences.extend(equal("bank hash", &ours.hash(), &Some(theirs.hash())).err());
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

type Record = (Pubkey, String, i64, u64, Option<u16>);

fn rewards(bank: &Bank) -> Vec<Record> {
    let record = |it: &selkie_bank::rewards::Reward| {
        let kind = match it.kind {
            RewardKind::AdmissionDebit => "VATDebit".into(),
            kind => format!("{kind:?}"),
        };
        (it.address, kind, it.lamports, it.post_balance, it.commission_bps)
    };
    let mut records: Vec<Record> = bank.rewards().iter().map(record).collect();
    records.sort_unstable();
    records
}

fn their_rewards(bank: &Theirs) -> Vec<Record> {
    let rewards = bank.get_rewards_and_num_partitions().keyed_rewards;
    let mut records: Vec<Record> = rewards
        .iter()
        .map(|(key, it)| {
            let kind = format!("{:?}", it.reward_type);
            (*key, kind, it.lamports, it.post_balance, it.commission_bps)
        })
        .collect();
    records.sort_unstable();
    records
}

fn show(account: &Option<AccountSharedData>) -> String {
    let Some(it) = account else { return "none".into() };
    let data = &it.data()[..it.data().len().min(400)];
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{} lamports, {} bytes {hex}, rent epoch {}",
        it.lamports(),
        it.data().len(),
        it.rent_epoch()
    )
}
