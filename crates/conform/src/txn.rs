//! Transactions of fixtures, recorded in December 2024.
//!
//! Rules have changed since. A fixture whose differences a later rule explains is skipped, with a
//! reason that names the rule ([`LATER_RULES`]). Other differences are failures.

use std::collections::BTreeMap;

use selkie_builtins::{program_account, sysvar_account};
use selkie_fixture::{Transaction as Given, TransactionEffects, TransactionFixture};
use selkie_svm::{
    AccountSharedData, BlockhashQueue, ChainState, Environment, InstructionError, Loader,
    ProcessOptions, Processed, Pubkey, Transaction, Workspace,
    cost::LAMPORTS_PER_SIGNATURE,
    error, process,
    program_cache::{ProgramCache, program_data_address},
    sysvars::Clock,
};
use solana_account::ReadableAccount;
use solana_hash::Hash;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    BadVector, Check, Difference, Verdict, features::FeatureIds, instr::State, runtime, sysvars,
    vector::hex,
};

/// The feature since which a transaction whose accounts cannot be loaded pays its fee (SIMD-0082).
/// Before, it was dropped.
const FEES_ONLY: Pubkey = Pubkey::from_str_const("PaymEPK2oqwT9TXAVfadjztH2H6KfLEB9Hhd5Q5frvP");

/// Processes the transaction and compares its result, the fee, compute units, the return data and,
/// if it succeeded, the accounts.
pub(crate) fn judge(fixture: &TransactionFixture) -> Result<Verdict, BadVector> {
    let ids: FeatureIds = fixture.input.features.iter().copied().collect();
    let case = Case::new(&fixture.input, ids);
    let outcome = case.process();
    let mut check = Check::default();
    case.compare(&mut check, &fixture.output, &outcome);
    let verdict = check.finish()?;
    let Verdict::Failed(differences) = &verdict else { return Ok(verdict) };
    Ok(match LATER_RULES.iter().find(|it| it.explains(&case, &fixture.output, differences)) {
        Some(rule) => Verdict::Skipped(format!("recorded before this rule: {}", rule.text)),
        None => verdict,
    })
}

/// A rule introduced after the fixtures were recorded.
struct LaterRule {
    text: &'static str,
    /// The feature that introduced the rule, if any. Fixtures with this feature are not excused.
    feature: Option<Pubkey>,
    /// Returns whether the rule can explain these differences.
    concerns: fn(&Case<'_>, &TransactionEffects, &[Difference]) -> bool,
}

const fn later(
    text: &'static str,
    feature: Option<&'static str>,
    concerns: fn(&Case<'_>, &TransactionEffects, &[Difference]) -> bool,
) -> LaterRule {
    let feature = match feature {
        Some(address) => Some(Pubkey::from_str_const(address)),
        None => None,
    };
    LaterRule { text, feature, concerns }
}

const LATER_RULES: &[LaterRule] = &[
    later(
        "the config, stake and address lookup table programs are programs of loader v3, not \
         builtins (SIMD-0128, SIMD-0140, SIMD-0196)",
        None,
        |case, _, _| case.uses(&MIGRATED),
    ),
    later(
        "precompiles are verified when they are executed, not before the transaction (SIMD-0159)",
        Some("9ypxGLzkMxi89eDerRKXWDXe44UY2z4hBig4mDhNq5Dp"),
        |case, _, _| {
            let precompiles: Vec<_> =
                case.environment.precompiles.iter().map(|(key, _)| *key).collect();
            case.uses(&precompiles)
        },
    ),
    later(
        "an account is a program by its owner, not by its executable flag (SIMD-0162)",
        Some("FXs1zh47QbNnhXcnB6YiAQoJ4sGB91tKF3UFHLcKT7PM"),
        |_, expected, differences| {
            // Executable accounts could not be changed.
            const EXECUTABLE_DATA_MODIFIED: u32 = 28;
            let changes = [
                ("instruction_error", "4", "31"),
                ("status", "14", "4"),
                ("status", "4", "14"),
                ("status", "4", "9"),
                ("status", "9", "14"),
            ];
            let is_changed = changes.iter().any(|(field, expected, got)| {
                let matches = |it: &Difference| {
                    it.field == *field && it.expected == *expected && it.got == *got
                };
                differences.iter().any(matches)
            });
            is_changed || expected.instruction_error == EXECUTABLE_DATA_MODIFIED
        },
    ),
    later(
        "instructions of builtin programs request 3,000 compute units by default (SIMD-0170)",
        Some("C9oAhLxDBm3ssWtJx1yBGzPY55r2rArHmN1pbQn6HogH"),
        |_, expected, differences| {
            const BUDGET_EXCEEDED: u32 = 38;
            expected.instruction_error == BUDGET_EXCEEDED
                || differences.iter().any(|it| it.field == "fee_details")
        },
    ),
    later(
        "vote accounts have a new version, and the vote program new instructions (SIMD-0185)",
        Some("Gx4XFcrVMt4HUvPzTpTSVkdDVgcDSjKhDN1RqRS6KDuZ"),
        |case, _, _| case.uses(&[VOTE]),
    ),
    later(
        "the ZK ElGamal proof program was repaired",
        Some("zkexuyPRdyTVbZqEAREueqL2xvvoBhRgth9xGSc1tMN"),
        |case, _, _| case.uses(&[ZK_ELGAMAL]),
    ),
    later(
        "the nonce account of a transaction must be a static account (SIMD-0242)",
        Some("7VVhpg5oAjAmnmz1zCcSHb2Z9ecZB2FQqpnEwReka9Zm"),
        |_, _, differences| {
            const BLOCKHASH_NOT_FOUND: &str = "8";
            differences.iter().any(|it| it.field == "status" && it.got == BLOCKHASH_NOT_FOUND)
        },
    ),
    later("the programdata account of a program must belong to loader v3", None, |case, _, _| {
        case.has_foreign_programdata()
    }),
    later(
        "nonce accounts store the bank's current fee per signature",
        None,
        |case, _, differences| {
            // AdvanceNonceAccount and InitializeNonceAccount.
            const NONCES: [[u8; 4]; 2] = [[4, 0, 0, 0], [6, 0, 0, 0]];
            let mut data = case.given.instructions.iter().map(|it| it.data.first_chunk::<4>());
            let has_nonce = data.any(|tag| tag.is_some_and(|tag| NONCES.contains(tag)));
            has_nonce
                && case.uses(&[SYSTEM])
                && differences.iter().all(|it| it.field.starts_with("account "))
        },
    ),
    later(
        "loader v3 checks the owner of a buffer before its state",
        None,
        |case, _, differences| {
            let matches = |it: &Difference| {
                it.field == "instruction_error" && it.expected == "4" && it.got == "7"
            };
            case.uses(&[Loader::V3.address()]) && differences.iter().any(matches)
        },
    ),
    later(
        "the native loader cannot be invoked",
        Some("EQUMpNFr7Nacb1sva56xn1aLfBxppEoSBH8RRVdkcD1x"),
        |case, _, _| case.uses(&[selkie_svm::NATIVE_LOADER]),
    ),
    later(
        "rent is not collected",
        Some("CJzY83ggJHqPGDq8VisV3U91jDJLuEaALZooBrXtnnLU"),
        |_, expected, _| {
            const ACCOUNT_NOT_FOUND: u32 = 3;
            expected.error == ACCOUNT_NOT_FOUND
        },
    ),
];

/// Programs that were builtin when the fixtures were recorded.
const MIGRATED: [Pubkey; 4] = [
    Pubkey::from_str_const("Config1111111111111111111111111111111111111"),
    Pubkey::from_str_const("Stake11111111111111111111111111111111111111"),
    Pubkey::from_str_const("AddressLookupTab1e1111111111111111111111111"),
    Pubkey::from_str_const("ZkTokenProof1111111111111111111111111111111"),
];
const ZK_ELGAMAL: Pubkey = Pubkey::from_str_const("ZkE1Gama1Proof11111111111111111111111111111");
const SYSTEM: Pubkey = Pubkey::new_from_array([0; 32]);
const VOTE: Pubkey = Pubkey::from_str_const("Vote111111111111111111111111111111111111111");

impl LaterRule {
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
        // A bank overwrites sysvars whose accounts have no lamports.
        let funded: Vec<_> = all.iter().filter(|(_, it)| it.lamports > 0).cloned().collect();
        let mut sysvars = sysvars::sysvars(&funded);
        // The fixtures' bank had a slot of its own; here the slot is that of the clock.
        let clock = sysvars.clock().unwrap_or_default();
        sysvars.set_clock(&Clock { slot: given.slot.unwrap_or(10), ..clock });
        let price = given.lamports_per_signature.map_or(LAMPORTS_PER_SIGNATURE, u64::from);
        sysvars::set_recent_blockhashes(&mut sysvars, &given.blockhashes, price);
        let mut environment = runtime::environment(ids.features(), sysvars);
        environment.lamports_per_signature = price;
        let last = given.blockhashes.last().copied().unwrap_or_default();
        environment.blockhash = Hash::new_from_array(last);
        let mut accounts = BTreeMap::new();
        let builtins = environment.builtins.iter().map(|(key, _)| key);
        for key in builtins.chain(environment.precompiles.iter().map(|(key, _)| key)) {
            accounts.insert(*key, program_account(key));
        }
        for (key, account) in all {
            // Of several accounts with the same address the first counts, as in the harness.
            accounts.entry(key).or_insert_with(|| account.into());
        }
        // A bank creates the accounts of sysvars itself.
        for (key, data) in environment.sysvars.iter() {
            if accounts.get(key).is_none_or(|account| account.lamports() == 0) {
                accounts.insert(*key, sysvar_account(data.to_vec(), 1, 0));
            }
        }
        Self { given, ids, accounts, environment }
    }

    /// Returns whether a program of loader v3 has a programdata account of another owner.
    fn has_foreign_programdata(&self) -> bool {
        let loader = Loader::V3.address();
        let programs = self.accounts.values().filter(|account| *account.owner() == loader);
        let mut data = programs
            .filter_map(|program| self.accounts.get(&program_data_address(program.data())?));
        data.any(|account| *account.owner() != loader)
    }

    /// Returns whether an instruction invokes one of these programs.
    fn uses(&self, programs: &[Pubkey]) -> bool {
        let invoked = self.given.instructions.iter();
        let mut invoked = invoked.filter_map(|it| self.given.keys.get(usize::from(it.program)));
        invoked.any(|program| programs.contains(program))
    }

    fn process(&self) -> Result<Box<Processed>, TransactionError> {
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
        let chain = ChainState {
            accounts: &self.accounts,
            environment: &self.environment,
            blockhash_queue: &BlockhashQueue::new(blockhashes),
            programs: &ProgramCache::new(),
        };
        let options = ProcessOptions { verify_signatures: false, ..ProcessOptions::default() };
        process(&transaction, &chain, &options, None, &mut Workspace::default())
    }

    fn compare(
        &self,
        check: &mut Check,
        expected: &TransactionEffects,
        outcome: &Result<Box<Processed>, TransactionError>,
    ) {
        let result = match outcome {
            Ok(processed) => processed.result.clone(),
            Err(error) => Err(error.clone()),
        };
        let is_executed = outcome.as_ref().is_ok_and(|it| it.is_executed);
        // Fixtures record transactions that only paid their fee as executed.
        let is_processed = is_executed || outcome.is_ok() && self.ids.has(&FEES_ONLY);
        check.same("executed", expected.is_executed, is_processed);
        compare_result(check, expected, &result);
        let Ok(processed) = outcome else { return };
        if expected.is_executed && is_executed {
            check.same("executed_units", expected.compute_units, processed.compute_units);
            let fee = processed.fee;
            check.equal("fee_details", expected.fees, (fee.signatures, fee.priority));
            let returned = processed.return_data.as_ref().map_or(&[][..], |it| &it.data);
            check.same("return_data", hex(&expected.return_data), hex(returned));
        }
        if result.is_ok() && expected.error == 0 {
            compare_accounts(check, expected, processed);
        }
    }
}

fn compare_result(
    check: &mut Check,
    expected: &TransactionEffects,
    result: &Result<(), TransactionError>,
) {
    let (index, instruction_error) = match result {
        Err(TransactionError::InstructionError(index, error)) => {
            (u32::from(*index), error::discriminant(error) + 1)
        }
        _ => (0, 0),
    };
    let custom = match result {
        Err(TransactionError::InstructionError(_, InstructionError::Custom(number))) => *number,
        _ => 0,
    };
    check.same("status", expected.error, number(result));
    check.same("instruction_error", u64::from(expected.instruction_error), instruction_error);
    check.same("instruction_error_index", expected.instruction_index, index);
    check.same("custom_error", expected.custom_error, custom);
}

fn compare_accounts(check: &mut Check, expected: &TransactionEffects, processed: &Processed) {
    for given in &expected.accounts {
        let (address, account) = runtime::account(given);
        let change = processed.accounts.iter().find(|change| change.key == address);
        let after = change.and_then(|change| change.after()).cloned().unwrap_or_default();
        let expected = match account.lamports {
            0 => State::new(address, &Default::default()),
            _ => State::new(address, &account),
        };
        check.same(&format!("account {address}"), expected, State::new(address, &after.into()));
    }
}

/// Returns 0 for success; otherwise 1 plus the discriminant of the error.
fn number(result: &Result<(), TransactionError>) -> u32 {
    let number = |error| error::transaction_discriminant(error).map_or(u32::MAX, |it| it + 1);
    result.as_ref().err().map_or(0, number)
}
