//! Transactions of fixtures, which recorded what became of them in December 2024.
//!
//! Much has changed since. A difference that a later rule explains is none: the fixture is skipped,
//! and the reason names the rule ([`LATER`]). What no rule explains fails.

use std::collections::BTreeMap;

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
        |case, _, _| {
            let precompiles: Vec<_> =
                case.environment.precompiles.iter().map(|(key, _)| *key).collect();
            case.uses(&precompiles)
        },
    ),
    later(
        "what makes an account a program is its owner, not its flag (SIMD-0162)",
        Some("FXs1zh47QbNnhXcnB6YiAQoJ4sGB91tKF3UFHLcKT7PM"),
        |_, expected, differences| {
            // What was marked as a program could not be changed.
            const EXECUTABLE_DATA_MODIFIED: u32 = 28;
            let changes = [
                ("instruction_error", "4", "31"),
                ("status", "14", "4"),
                ("status", "4", "14"),
                ("status", "4", "9"),
                ("status", "9", "14"),
            ];
            let is_changed = changes.iter().any(|(field, expected, got)| {
                let is_it = |it: &Difference| {
                    it.field == *field && it.expected == *expected && it.got == *got
                };
                differences.iter().any(is_it)
            });
            is_changed || expected.instruction_error == EXECUTABLE_DATA_MODIFIED
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
    later(
        "the ZK ElGamal proof program was repaired",
        Some("zkexuyPRdyTVbZqEAREueqL2xvvoBhRgth9xGSc1tMN"),
        |case, _, _| case.uses(&[ZK_ELGAMAL]),
    ),
    later(
        "a transaction has the address of its durable nonce itself (SIMD-0242)",
        Some("7VVhpg5oAjAmnmz1zCcSHb2Z9ecZB2FQqpnEwReka9Zm"),
        |_, _, differences| {
            const BLOCKHASH_NOT_FOUND: &str = "8";
            differences.iter().any(|it| it.field == "status" && it.got == BLOCKHASH_NOT_FOUND)
        },
    ),
    later("the program data account of a program belongs to loader v3, too", None, |case, _, _| {
        case.has_data_of_others()
    }),
    later(
        "nonce accounts keep the price that all signatures have",
        None,
        |case, _, differences| {
            // To advance a nonce, and to make one.
            const NONCES: [[u8; 4]; 2] = [[4, 0, 0, 0], [6, 0, 0, 0]];
            let mut data = case.given.instructions.iter().map(|it| it.data.first_chunk::<4>());
            let has_nonce = data.any(|tag| tag.is_some_and(|tag| NONCES.contains(tag)));
            has_nonce
                && case.uses(&[SYSTEM])
                && differences.iter().all(|it| it.field.starts_with("account "))
        },
    ),
    later(
        "loader v3 asks who owns a buffer before it looks into it",
        None,
        |case, _, differences| {
            let is_it = |it: &Difference| {
                it.field == "instruction_error" && it.expected == "4" && it.got == "7"
            };
            case.uses(&[Loader::V3.address()]) && differences.iter().any(is_it)
        },
    ),
    later(
        "the native loader is no program",
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

/// Builtin programs of the time that are none today.
const MIGRATED: [Pubkey; 4] = [
    Pubkey::from_str_const("Config1111111111111111111111111111111111111"),
    Pubkey::from_str_const("Stake11111111111111111111111111111111111111"),
    Pubkey::from_str_const("AddressLookupTab1e1111111111111111111111111"),
    Pubkey::from_str_const("ZkTokenProof1111111111111111111111111111111"),
];
const ZK_ELGAMAL: Pubkey = Pubkey::from_str_const("ZkE1Gama1Proof11111111111111111111111111111");
const SYSTEM: Pubkey = Pubkey::new_from_array([0; 32]);
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
        // A bank writes the sysvars whose accounts have no lamports.
        let funded: Vec<_> = all.iter().filter(|(_, it)| it.lamports > 0).cloned().collect();
        let mut sysvars = sysvars::sysvars(&funded);
        // The bank of the time knew its slot by itself; here the clock tells it.
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
            accounts.insert(*key, runtime::builtin_account());
        }
        for (key, account) in all {
            // The first one counts, as it did then.
            accounts.entry(key).or_insert_with(|| account.into());
        }
        // A bank writes the accounts of sysvars by itself.
        for (key, data) in environment.sysvars.iter() {
            if accounts.get(key).is_none_or(|account| account.lamports() == 0) {
                accounts.insert(*key, runtime::sysvar_account(data));
            }
        }
        Self { given, ids, accounts, environment }
    }

    /// Whether a program of loader v3 is there whose program data account somebody else owns.
    fn has_data_of_others(&self) -> bool {
        let loader = Loader::V3.address();
        let programs = self.accounts.values().filter(|account| *account.owner() == loader);
        let mut data = programs
            .filter_map(|program| self.accounts.get(&program_data_address(program.data())?));
        data.any(|account| *account.owner() != loader)
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
        check.same("custom_error", expected.custom_error, custom);
        let Ok(processed) = outcome else { return };
        if expected.is_executed && is_executed {
            check.same("executed_units", expected.compute_units, processed.compute_units);
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
    let number = |error| error::transaction_discriminant(error).map_or(u32::MAX, |it| it + 1);
    result.as_ref().err().map_or(0, number)
}
