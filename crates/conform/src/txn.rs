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
    sysvars::Clock,
};
use solana_hash::Hash;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    BadVector, Check, Difference, Verdict, features::FeatureIds, instr::State, runtime, sysvars,
    vector::hex,
};

/// What a signature cost then, and does today.
const LAMPORTS_PER_SIGNATURE: u64 = 5000;

/// A transaction that cannot load its accounts pays (SIMD-0082). Before, it was dropped.
const FEES_ONLY: Pubkey = Pubkey::from_str_const("PaymEPK2oqwT9TXAVfadjztH2H6KfLEB9Hhd5Q5frvP");

/// Processes the transaction and compares what became of it, the fee, compute units, what was
/// returned, and, where it succeeded, the accounts.
pub(crate) fn judge(fixture: &TransactionFixture) -> Result<Verdict, BadVector> {
    let ids: FeatureIds = fixture.input.features.iter().copied().collect();
    let case = Case::new(&fixture.input, ids);
    let outcome = case.process();
    let mut check = Check::default();
    case.compare(&mut check, &fixture.output, &outcome);
    let verdict = check.finish()?;
    let Verdict::Failed(differences) = &verdict else { return Ok(verdict) };
    Ok(match LATER.iter().find(|later| later.explains(&case, &fixture.output, differences)) {
        Some(later) => Verdict::Skipped(format!("recorded before this rule: {}", later.what)),
        None => verdict,
    })
}

/// A rule that came after the fixtures were made.
struct Later {
    what: &'static str,
    /// The feature that brought it, if it was one: fixtures that have it, it does not excuse.
    feature: Option<Pubkey>,
    /// Whether it may be the reason of these differences.
    concerns: fn(&Case<'_>, &TransactionEffects, &[Difference]) -> bool,
}

const fn later(
    what: &'static str,
    feature: Option<&'static str>,
    concerns: fn(&Case<'_>, &TransactionEffects, &[Difference]) -> bool,
) -> Later {
    let feature = match feature {
        Some(address) => Some(Pubkey::from_str_const(address)),
        None => None,
    };
    Later { what, feature, concerns }
}

const LATER: &[Later] = &[
    later(
        "config, stake and address lookup tables are programs of loader v3, no builtins \
         (SIMD-0128, SIMD-0140, SIMD-0196)",
        None,
        |case, _, _| case.uses(&MIGRATED),
    ),
    later(
        "precompiles are verified when they are executed, not before anything else (SIMD-0159)",
        Some("9ypxGLzkMxi89eDerRKXWDXe44UY2z4hBig4mDhNq5Dp"),
        |case, expected, _| {
            let precompiles: Vec<_> =
                case.environment.precompiles.iter().map(|(key, _)| *key).collect();
            expected.is_refused && expected.instruction_error != 0 && case.uses(&precompiles)
        },
    ),
    later(
        "what makes an account a program is its owner, not its flag (SIMD-0162)",
        Some("FXs1zh47QbNnhXcnB6YiAQoJ4sGB91tKF3UFHLcKT7PM"),
        |_, _, differences| {
            let changes = [
                ("instruction_error", "4", "31"),
                ("status", "14", "4"),
                ("status", "4", "14"),
                ("status", "4", "9"),
            ];
            changes.iter().any(|(field, expected, got)| {
                let is_it = |it: &Difference| {
                    it.field == *field && it.expected == *expected && it.got == *got
                };
                differences.iter().any(is_it)
            })
        },
    ),
    later(
        "instructions of builtin programs ask for 3,000 compute units (SIMD-0170)",
        Some("C9oAhLxDBm3ssWtJx1yBGzPY55r2rArHmN1pbQn6HogH"),
        |_, expected, differences| {
            const BUDGET_EXCEEDED: u32 = 38;
            expected.instruction_error == BUDGET_EXCEEDED
                || differences.iter().any(|it| it.field == "fee_details")
        },
    ),
    later(
        "vote accounts have another state, and other instructions (SIMD-0185)",
        Some("Gx4XFcrVMt4HUvPzTpTSVkdDVgcDSjKhDN1RqRS6KDuZ"),
        |case, _, _| case.uses(&[VOTE]),
    ),
    later("nonce accounts keep the price that all signatures have", None, |_, _, differences| {
        // An account of a nonce has 80 bytes.
        differences
            .iter()
            .all(|it| it.field.starts_with("account ") && it.expected.contains("80, "))
    }),
];

/// Builtin programs of the time that are none today.
const MIGRATED: [Pubkey; 4] = [
    Pubkey::from_str_const("Config1111111111111111111111111111111111111"),
    Pubkey::from_str_const("Stake11111111111111111111111111111111111111"),
    Pubkey::from_str_const("AddressLookupTab1e1111111111111111111111111"),
    Pubkey::from_str_const("ZkTokenProof1111111111111111111111111111111"),
];
const VOTE: Pubkey = Pubkey::from_str_const("Vote111111111111111111111111111111111111111");

impl Later {
    fn explains(
        &self,
        case: &Case<'_>,
        expected: &TransactionEffects,
        differences: &[Difference],
    ) -> bool {
        self.feature.is_none_or(|feature| !case.ids.has(&feature))
            && (self.concerns)(case, expected, differences)
    }
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
        let mut sysvars = sysvars::sysvars(&all);
        // The bank of the time knew its slot by itself; here the clock tells it.
        let clock = sysvars.clock().unwrap_or_default();
        sysvars.set_clock(&Clock { slot: given.slot.unwrap_or(10), ..clock });
        sysvars::set_recent_blockhashes(&mut sysvars, &given.blockhashes, LAMPORTS_PER_SIGNATURE);
        let mut environment = runtime::environment(ids.features(), sysvars);
        environment.lamports_per_signature = LAMPORTS_PER_SIGNATURE;
        let last = given.blockhashes.last().copied().unwrap_or_default();
        environment.blockhash = Hash::new_from_array(last);
        let mut accounts = BTreeMap::new();
        let builtins = environment.builtins.iter().map(|(key, _)| key);
        for key in builtins.chain(environment.precompiles.iter().map(|(key, _)| key)) {
            accounts.insert(*key, runtime::builtin_account());
        }
        for (key, account) in all {
            // The first one counts, as it did then.
            accounts.entry(key).or_insert_with(|| account.into());
        }
        Self { given, ids, accounts, environment }
    }

    /// Whether an instruction is for one of these programs.
    fn uses(&self, programs: &[Pubkey]) -> bool {
        let called = self.given.instructions.iter();
        let mut called = called.filter_map(|it| self.given.keys.get(usize::from(it.program)));
        called.any(|program| programs.contains(program))
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
        // What the fixture calls executed, may have paid only.
        let is_processed = is_executed || outcome.is_ok() && self.ids.has(&FEES_ONLY);
        check.same("executed", expected.is_executed, is_processed);
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
