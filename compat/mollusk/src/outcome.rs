//! A run of instructions, and its parts in Mollusk's types.

use std::{collections::BTreeMap, time::Instant};

use selkie::{Receipt, Svm};
use selkie_convert::{
    from_account, from_instruction_error, from_transaction_error, to_account, to_instruction,
};
use solana_account::Account;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
#[cfg(feature = "inner-instructions")]
use solana_message::{LegacyMessage, Message, SanitizedMessage};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction_error::TransactionError;

#[cfg(feature = "cpi-compute-units")]
use crate::result::CpiComputeUnits;
#[cfg(feature = "inner-instructions")]
use crate::result::InnerInstruction;
use crate::{Mollusk, features};

/// What instructions did.
pub(crate) struct Outcome {
    receipt: Receipt,
    pub(crate) microseconds: u64,
    #[cfg(feature = "inner-instructions")]
    pub(crate) message: SanitizedMessage,
}

impl Outcome {
    /// Processes instructions as those of one transaction.
    #[track_caller]
    pub(crate) fn new(
        mollusk: &Mollusk,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        payer: Option<&Pubkey>,
    ) -> Self {
        let given = given(accounts, payer);
        check_given(mollusk, instructions, &given);
        let mut svm = mollusk.program_cache.svm.borrow_mut();
        prepare(&mut svm, mollusk, &given);
        let given: Vec<(Pubkey, selkie::Account)> =
            given.into_iter().map(|(key, account)| (key, to_account(account))).collect();
        let converted: Vec<_> = instructions.iter().cloned().map(to_instruction).collect();
        let begun = Instant::now();
        let receipt = svm.process_instructions(&converted, &given);
        let microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        log(mollusk, &receipt);
        Self {
            receipt,
            microseconds,
            #[cfg(feature = "inner-instructions")]
            message: message(instructions, payer),
        }
    }

    /// Returns the given accounts as they are afterwards.
    pub(crate) fn resulting_accounts(&self, given: &[(Pubkey, Account)]) -> Vec<(Pubkey, Account)> {
        let after = |key: &Pubkey| {
            let change = self.receipt.account(key)?;
            Some(from_account(change.write.clone()?.into()))
        };
        let result = |(key, account): &(Pubkey, Account)| {
            (*key, after(key).unwrap_or_else(|| account.clone()))
        };
        given.iter().map(result).collect()
    }

    pub(crate) fn transaction_result(&self) -> Result<(), TransactionError> {
        self.receipt.result.clone().map_err(from_transaction_error)
    }

    pub(crate) fn instruction_result(&self) -> Result<(), InstructionError> {
        match self.receipt.instruction_error() {
            Some(error) => Err(from_instruction_error(error.clone())),
            None => Ok(()),
        }
    }

    pub(crate) fn compute_units(&self) -> u64 {
        self.receipt.compute_units
    }

    pub(crate) fn return_data(&self) -> Vec<u8> {
        self.receipt.returned().to_vec()
    }

    /// Returns the inner instructions of each top-level instruction, with the account indexes of
    /// the compiled message.
    #[cfg(feature = "inner-instructions")]
    pub(crate) fn inner_instructions(&self) -> Vec<Vec<InnerInstruction>> {
        use solana_message::compiled_instruction::CompiledInstruction;

        let keys = self.message.account_keys();
        let index = |key: &Pubkey| {
            let place = keys.iter().position(|it| it == key);
            place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
        };
        let mut lists = vec![Vec::new(); self.message.instructions().len()];
        for inner in self.receipt.invocations().iter().filter(|it| it.stack_height > 1) {
            lists[inner.instruction_index].push(InnerInstruction {
                instruction: CompiledInstruction {
                    program_id_index: index(&inner.program_id),
                    accounts: inner.accounts.iter().map(index).collect(),
                    data: inner.data.to_vec(),
                },
                stack_height: u32::try_from(inner.stack_height).ok(),
            });
        }
        lists
    }

    /// Returns the compute units of the inner instructions of each top-level instruction.
    #[cfg(feature = "cpi-compute-units")]
    pub(crate) fn cpi_compute_units(&self) -> Vec<Vec<CpiComputeUnits>> {
        let mut lists = vec![Vec::new(); self.receipt.message().instructions().len()];
        for inner in self.receipt.invocations().iter().filter(|it| it.stack_height > 1) {
            lists[inner.instruction_index].push(CpiComputeUnits {
                stack_height: inner.stack_height,
                program_id: inner.program_id,
                compute_units_consumed: inner.compute_units,
            });
        }
        lists
    }
}

/// Returns the given accounts by key. The first of several with the same key counts. The instructions
/// sysvar is left out: the runtime makes it.
fn given(accounts: &[(Pubkey, Account)], payer: Option<&Pubkey>) -> BTreeMap<Pubkey, Account> {
    let mut given = BTreeMap::new();
    for (key, account) in accounts.iter().filter(|(key, _)| *key != sysvar::instructions::ID) {
        given.entry(*key).or_insert_with(|| account.clone());
    }
    if let Some(payer) = payer {
        given.entry(*payer).or_default();
    }
    given
}

/// Checks that all accounts are given, and that all programs are known.
#[track_caller]
fn check_given(mollusk: &Mollusk, instructions: &[Instruction], given: &BTreeMap<Pubkey, Account>) {
    let is_program = |key: &Pubkey| instructions.iter().any(|it| it.program_id == *key);
    for instruction in instructions {
        let id = &instruction.program_id;
        let is_known = given.contains_key(id)
            || mollusk.program_cache.get(id).is_some()
            || mollusk
                .program_cache
                .svm
                .borrow()
                .environment()
                .precompiles
                .iter()
                .any(|it| it.0 == id);
        assert!(is_known, "program {id} was not added\nhelp: add it with `Mollusk::add_program`");
        for key in instruction.accounts.iter().map(|meta| &meta.pubkey) {
            let is_given =
                given.contains_key(key) || is_program(key) || *key == sysvar::instructions::ID;
            assert!(is_given, "account {key} of an instruction of {id} is not among the accounts");
        }
    }
}

/// Sets what instructions see besides their accounts. Sysvars among the accounts count.
fn prepare(svm: &mut Svm, mollusk: &Mollusk, given: &BTreeMap<Pubkey, Account>) {
    let features = features::runtime(&mollusk.feature_set);
    let vote_accounts: BTreeMap<_, _> =
        mollusk.epoch_stake.iter().map(|(key, stake)| (*key, *stake)).collect();
    let total = vote_accounts.values().sum();
    let budget = selkie::ComputeBudget {
        compute_unit_limit: mollusk.compute_budget.compute_unit_limit,
        heap_bytes: mollusk.compute_budget.heap_size,
    };
    let mut changed = core::mem::take(svm).with_instruction_budget(budget);
    if changed.features() != features {
        changed = changed.with_features(features);
    }
    let stake = selkie::EpochStake { total, vote_accounts };
    if changed.environment().epoch_stake != stake {
        changed = changed.with_epoch_stake(stake);
    }
    for (id, data) in mollusk.sysvars.data() {
        let data = given.get(&id).map_or(&data, |account| &account.data);
        if changed.sysvar(&id) != Some(data) {
            // Data that are not valid leave the sysvar as it was.
            let _ = changed.set_sysvar(id, data);
        }
    }
    *svm = changed;
}

#[allow(clippy::print_stdout, reason = "cargo shows the log of tests that fail")]
fn log(mollusk: &Mollusk, receipt: &Receipt) {
    for line in &receipt.logs {
        println!("{line}");
        if let Some(logger) = &mollusk.logger {
            logger.borrow_mut().log(line);
        }
    }
}

#[cfg(feature = "inner-instructions")]
fn message(instructions: &[Instruction], payer: Option<&Pubkey>) -> SanitizedMessage {
    let message = Message::new(instructions, payer);
    SanitizedMessage::Legacy(LegacyMessage::new(message, &std::collections::HashSet::new()))
}
