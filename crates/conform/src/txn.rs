//! Transactions of fixtures, which recorded what became of them in December 2024.
//!
//! Much has changed since. A difference that a later rule explains is none: the fixture is skipped,
//! and the reason names the rule ([`LATER`]). What no rule explains fails.

use std::collections::BTreeMap;

use selkie_fixture::{Transaction as Given, TransactionEffects, TransactionFixture};
use selkie_svm::{
    AccountSharedData, Environment, InstructionError, Pubkey, Recent, Transaction, error,
    process::{Bank, ProcessOptions, Processed, process},
    program_cache::ProgramCache,
};
use solana_hash::Hash;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    BadVector, Check, Context, Verdict, features::FeatureIds, instr::State, runtime, sysvars,
    vector::hex,
};

/// What a signature cost then, and does today.
const LAMPORTS_PER_SIGNATURE: u64 = 5000;

/// Processes the transaction and compares what became of it, the fee, compute units, what was
/// returned, and, where it succeeded, the accounts.
pub(crate) fn judge(fixture: &TransactionFixture, context: &Context) -> Result<Verdict, BadVector> {
    let ids: FeatureIds = fixture.input.features.iter().copied().collect();
    let case = Case::new(&fixture.input, ids);
    let outcome = case.process();
    let mut check = Check::default();
    case.compare(&mut check, &fixture.output, &outcome);
    let verdict = check.finish()?;
    let _ = context;
    Ok(verdict)
}

struct Case<'f> {
    given: &'f Given,
    ids: FeatureIds,
    accounts: BTreeMap<Pubkey, AccountSharedData>,
    environment: Environment,
}

impl<'f> Case<'f> {
    fn new(given: &'f Given, ids: FeatureIds) -> Self {
        let all: Vec<_> = given.accounts.iter().map(runtime::account).collect();
        let mut environment = runtime::environment(ids.features(), sysvars::sysvars(&all));
        environment.lamports_per_signature = LAMPORTS_PER_SIGNATURE;
        let last = given.blockhashes.last().copied().unwrap_or_default();
        environment.blockhash = Hash::new_from_array(last);
        let mut accounts = BTreeMap::new();
        for (key, _) in environment.builtins.iter() {
            accounts.insert(*key, runtime::builtin_account());
        }
        for (key, account) in all {
            // The first one counts, as it did then.
            accounts.entry(key).or_insert_with(|| account.into());
        }
        Self { given, ids, accounts, environment }
    }

    fn process(&self) -> Result<Processed, TransactionError> {
        let mut given = self.given.clone();
        given.header[0] = given.header[0].max(1);
        if given.signatures.is_empty() {
            given.signatures.push(vec![0; 64]);
        }
        let wire = given.to_wire();
        let read = wincode::deserialize_exact::<VersionedTransaction>(&wire);
        let read = read.map_err(|_| TransactionError::SanitizeFailure)?;
        let transaction = Transaction::new(read, self.environment.features)?;
        let blockhashes = match given.blockhashes.as_slice() {
            [] => vec![Hash::default()],
            some => some.iter().copied().map(Hash::new_from_array).collect(),
        };
        let bank = Bank {
            accounts: &self.accounts,
            environment: &self.environment,
            recent: &Recent::new(blockhashes),
            programs: &ProgramCache::new(),
        };
        let options = ProcessOptions { verify_signatures: false, ..ProcessOptions::default() };
        process(&transaction, &bank, &options, None)
    }

    fn compare(
        &self,
        check: &mut Check,
        expected: &TransactionEffects,
        outcome: &Result<Processed, TransactionError>,
    ) {
        let result = match outcome {
            Ok(processed) => processed.result.clone(),
            Err(error) => Err(error.clone()),
        };
        let is_executed = outcome.as_ref().is_ok_and(|it| it.is_executed);
        check.same("executed", expected.is_executed, is_executed);
        let (index, instruction_error) = match &result {
            Err(TransactionError::InstructionError(index, error)) => {
                (u32::from(*index), error::discriminant(error) + 1)
            }
            _ => (0, 0),
        };
        let custom = match &result {
            Err(TransactionError::InstructionError(_, InstructionError::Custom(number))) => *number,
            _ => 0,
        };
        check.same("status", expected.error, number(&result));
        check.same("instruction_error", u64::from(expected.instruction_error), instruction_error);
        check.same("instruction_error_index", expected.instruction_index, index);
        check.same("custom_error", expected.custom, custom);
        let Ok(processed) = outcome else { return };
        if expected.is_executed && is_executed {
            check.same("executed_units", expected.units, processed.units);
            let fee = processed.fee;
            check.equal("fee_details", expected.fees, (fee.signatures, fee.priority));
            let returned = processed.return_data.as_ref().map_or(&[][..], |it| &it.data);
            check.same("return_data", hex(&expected.return_data), hex(returned));
        }
        if result.is_ok() && expected.error == 0 {
            for given in &expected.accounts {
                let (address, account) = runtime::account(given);
                let found = processed.accounts.iter().find(|change| change.key == address);
                let after = found.and_then(|change| change.after()).cloned().unwrap_or_default();
                let expected = match account.lamports {
                    0 => State::new(address, &Default::default()),
                    _ => State::new(address, &account),
                };
                check.same(
                    &format!("account {address}"),
                    expected,
                    State::new(address, &after.into()),
                );
            }
        }
    }
}

/// One more than an error's place; 0 for success.
fn number(result: &Result<(), TransactionError>) -> u32 {
    const NAMES: [&str; 39] = [
        "AccountInUse",
        "AccountLoadedTwice",
        "AccountNotFound",
        "ProgramAccountNotFound",
        "InsufficientFundsForFee",
        "InvalidAccountForFee",
        "AlreadyProcessed",
        "BlockhashNotFound",
        "InstructionError",
        "CallChainTooDeep",
        "MissingSignatureForFee",
        "InvalidAccountIndex",
        "SignatureFailure",
        "InvalidProgramForExecution",
        "SanitizeFailure",
        "ClusterMaintenance",
        "AccountBorrowOutstanding",
        "WouldExceedMaxBlockCostLimit",
        "UnsupportedVersion",
        "InvalidWritableAccount",
        "WouldExceedMaxAccountCostLimit",
        "WouldExceedAccountDataBlockLimit",
        "TooManyAccountLocks",
        "AddressLookupTableNotFound",
        "InvalidAddressLookupTableOwner",
        "InvalidAddressLookupTableData",
        "InvalidAddressLookupTableIndex",
        "InvalidRentPayingAccount",
        "WouldExceedMaxVoteCostLimit",
        "WouldExceedAccountDataTotalLimit",
        "DuplicateInstruction",
        "InsufficientFundsForRent",
        "MaxLoadedAccountsDataSizeExceeded",
        "InvalidLoadedAccountsDataSizeLimit",
        "ResanitizationNeeded",
        "ProgramExecutionTemporarilyRestricted",
        "UnbalancedTransaction",
        "ProgramCacheHitMaxLimit",
        "CommitCancelled",
    ];
    let Err(error) = result else { return 0 };
    let name = format!("{error:?}");
    let name = name.split(['(', ' ']).next().unwrap_or_default();
    let place = NAMES.iter().position(|known| *known == name);
    place.and_then(|place| u32::try_from(place).ok()).map_or(u32::MAX, |place| place + 1)
}
