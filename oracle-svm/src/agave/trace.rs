//! What agave's engine traces: every instruction with the registers before it.
//!
//! The processor does not hand out its `InvokeContext`, which has the traces. So a transaction that it
//! has executed is executed a second time, from the accounts before it, with a context of our own.

use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_instruction::{BorrowedAccountMeta, BorrowedInstruction};
use solana_instructions_sysvar::construct_instructions_data;
use solana_program_runtime::{
    invoke_context::{EnvironmentConfig, InvokeContext},
    loaded_programs::{ProgramCacheForTxBatch, ProgramRuntimeEnvironments},
    program_cache_entry::{ProgramCacheEntry, ProgramCacheEntryType},
    solana_sbpf::program::BuiltinProgram,
};
use solana_svm::account_loader::update_rent_exempt_status_for_account;
use solana_svm_timings::ExecuteTimings;
use solana_transaction_context::{
    DropOnBailOut,
    transaction::{ComputeMeter, TransactionContext},
};

use super::*;
use crate::case::Key;

/// An invocation that executed instructions.
pub(crate) struct Trace {
    pub(crate) program: Key,
    /// r0 to r10 and the slot, before each instruction.
    pub(crate) registers: Vec<[u64; 12]>,
    /// The program's text, relocated.
    pub(crate) text: Vec<u8>,
}

/// A transaction, the accounts before it, its result, and what the engine traced.
pub(crate) struct Traced {
    pub(crate) before: Accounts,
    pub(crate) observed: Observed,
    pub(crate) traces: Vec<Trace>,
}

/// Returns the environment with register traces. Agave's own switch for them is also one for labels, and
/// to look for those makes the engine panic if a file has no section headers.
pub(super) fn with_traces(programs: &ProgramRuntimeEnvironment) -> ProgramRuntimeEnvironment {
    let config = release::with_traces(programs.get_config().clone());
    let mut traced = BuiltinProgram::new_loader(config);
    for (_, (name, function)) in programs.get_function_registry().iter() {
        let name = std::str::from_utf8(name).expect("names of syscalls are text");
        traced.register_function(name, function).expect("names differ");
    }
    ProgramRuntimeEnvironment::from(traced)
}

impl Agave {
    /// Runs the transactions of `case` one after the other. Those that are executed are traced.
    pub(crate) fn trace(&mut self, case: &Case) -> Vec<Traced> {
        let environment = self.environment(&case.features);
        let mut bank = Bank::new(case, &environment.features);
        let graph = Arc::new(RwLock::new(Graph));
        let processor = processor(case, &environment, &graph, &bank);
        self.ready.enter(case, &environment.programs, &processor);
        let mut session = Session { case, environment: &environment, processor: &processor };
        let mut traced = Vec::new();
        for (index, bytes) in case.transactions.iter().enumerate() {
            if index == 0 && case.already_processed {
                session.remember(bytes, &mut bank);
            }
            let before = bank.accounts.clone();
            let checked = session.sanitize(bytes, &bank);
            let checked = checked
                .and_then(|it| session.check(&it, &bank).map(|(_, limits)| (it, limits.budget)));
            let observed = session.transaction(bytes, &mut bank);
            let traces = match checked {
                Ok((transaction, budget)) if observed.stage == Stage::Executed => {
                    let after = std::mem::replace(&mut bank.accounts, before.clone());
                    let traces =
                        session.traces(&transaction, budget, &bank, &observed, self.interprets);
                    bank.accounts = after;
                    traces
                }
                _ => Vec::new(),
            };
            traced.push(Traced { before, observed, traces });
        }
        self.ready.leave(case, &environment.programs, &processor);
        traced
    }
}

impl Session<'_> {
    fn traces(
        &self,
        transaction: &Transaction,
        budget: SVMTransactionExecutionBudget,
        bank: &Bank<'_>,
        observed: &Observed,
        interprets: bool,
    ) -> Vec<Trace> {
        let traced = &self.environment.traced;
        let accounts = accounts(transaction, bank, observed.fee);
        let mut programs = self.programs(&accounts, bank, interprets);
        let mut context = TransactionContext::new_with_feature_flags(
            accounts,
            bank.rent.clone(),
            budget.max_instruction_stack_depth,
            budget.max_instruction_trace_length,
            transaction.num_instructions(),
            ComputeMeter::new(budget.compute_unit_limit),
            DropOnBailOut::Disabled,
        );
        let features = self.environment.features.runtime_features();
        let environments = ProgramRuntimeEnvironments::new(traced.clone(), traced.clone());
        let sysvars = self.processor.sysvar_cache();
        let mut invoke = InvokeContext::new(
            &mut context,
            &mut programs,
            EnvironmentConfig::new(
                bank.last_blockhash(),
                self.case.lamports_per_signature,
                false,
                bank,
                &features,
                &environments,
                &sysvars,
            ),
            None,
            budget,
            self.environment.budget.to_cost(),
        );
        let mut units = 0;
        let result =
            invoke.process_message(transaction, &mut ExecuteTimings::default(), &mut units);
        // Whatever fails after the last instruction does not show here.
        let result = result.map_err(|(at, error)| TransactionError::InstructionError(at, error));
        let result = outcome(Stage::Executed, &result).result;
        assert!(
            result == observed.result || result == "Ok",
            "the second execution ends with {result}, the first with {}",
            observed.result
        );
        assert_eq!(units, observed.compute_units, "the executions take the same compute units");
        let traces = std::cell::RefCell::new(Vec::new());
        invoke.iterate_vm_traces(&|instruction, executable, registers| {
            let program = instruction.get_program_key().expect("an instruction has a program");
            traces.borrow_mut().push(Trace {
                program: program.to_bytes(),
                registers: registers.to_vec(),
                text: executable.get_text_bytes().1.to_vec(),
            });
        });
        traces.into_inner()
    }

    /// Returns the builtin programs, and the programs among the accounts, ready to be traced.
    fn programs(
        &self,
        accounts: &[(Pubkey, AccountSharedData)],
        bank: &Bank<'_>,
        interprets: bool,
    ) -> ProgramCacheForTxBatch {
        let mut programs = ProgramCacheForTxBatch::new(self.case.slot);
        for builtin in solana_builtins::BUILTINS {
            let active = |id| self.environment.features.is_active(&id);
            if builtin.enable_feature_id.is_none_or(active) {
                let entry = ProgramCacheEntry::new_builtin(builtin.register_fn);
                programs.replenish(builtin.program_id, Arc::new(entry));
            }
        }
        let traced = &self.environment.traced;
        for (id, _) in accounts.iter().filter(|it| it.1.executable()) {
            if programs.find(id).is_some() {
                continue;
            }
            let loaded = solana_svm::program_loader::load_program_with_pubkey(
                bank,
                traced,
                id,
                self.case.slot,
                &mut ExecuteTimings::default(),
            );
            let Some(entry) = loaded else { continue };
            let is_loaded = matches!(entry.program, ProgramCacheEntryType::Loaded(_));
            let entry = if is_loaded && entry.deployment_slot >= self.case.slot {
                Arc::new(ProgramCacheEntry {
                    program: ProgramCacheEntryType::DelayVisibility,
                    account_owner: entry.account_owner,
                    deployment_slot: entry.deployment_slot,
                    ..ProgramCacheEntry::default()
                })
            } else if is_loaded && interprets {
                // Entries of one kind differ only in which loader's rules serialize the input, which
                // the account's owner decides.
                let elf = programs::elf(&bank.accounts, &id.to_bytes());
                elf.and_then(|elf| programs::without_machine_code(elf, traced))
                    .map_or(entry, Arc::new)
            } else {
                entry
            };
            programs.replenish(*id, entry);
        }
        programs
    }
}

/// Returns the accounts as the processor loads them: the payer has paid, accounts that are exempt from
/// rent are marked so, and the instructions sysvar is made.
fn accounts(
    transaction: &Transaction,
    bank: &Bank<'_>,
    fee: u64,
) -> Vec<(Pubkey, AccountSharedData)> {
    let keys = transaction.account_keys();
    let account = |(index, key): (usize, &Pubkey)| {
        if solana_sdk_ids::sysvar::instructions::check_id(key) {
            return (*key, instructions_sysvar(transaction));
        }
        let Some(mut account) = bank.shared(key) else {
            return (*key, AccountSharedData::default());
        };
        if transaction.is_writable(index) {
            update_rent_exempt_status_for_account(&bank.rent, &mut account);
        }
        if index == 0 {
            account.set_lamports(account.lamports() - fee);
        }
        (*key, account)
    };
    keys.iter().enumerate().map(account).collect()
}

#[expect(deprecated, reason = "agave leaves the rent epoch of this account 0")]
fn instructions_sysvar(transaction: &Transaction) -> AccountSharedData {
    let keys = transaction.account_keys();
    let meta = |index: &u8| {
        let index = usize::from(*index);
        BorrowedAccountMeta {
            is_signer: transaction.is_signer(index),
            is_writable: transaction.is_writable(index),
            pubkey: keys.get(index).expect("a checked transaction has it"),
        }
    };
    let instructions = transaction.program_instructions_iter().map(|(program_id, it)| {
        let accounts = it.accounts.iter().map(meta).collect();
        BorrowedInstruction { accounts, data: it.data, program_id }
    });
    let data = construct_instructions_data(&instructions.collect::<Vec<_>>());
    AccountSharedData::create_from_existing_shared_data(
        0,
        Arc::new(data.expect("a transaction is short")),
        solana_sdk_ids::sysvar::ID,
        false,
        0,
    )
}
