//! Single instructions as Firedancer's protobuf fixtures (`.fix`).

use selkie_fixture::{
    Account as State, Fixture as File, Instruction as Given, InstructionAccount,
    InstructionEffects as Effects,
};
use selkie_svm::{ComputeBudget, InstructionError, cost::HEAP_BYTES_MIN, error::discriminant};
use solana_account::Account;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;

use crate::{
    fixture::FixtureError,
    fixture_account::{self, number, show, state},
    fixture_state::{self, hex},
    genesis,
    receipt::Receipt,
    svm::Svm,
};

/// An instruction with the accounts, sysvars and features it needs, and its result.
///
/// ```
/// use selkie::{address, fixture::InstructionFixture, system, Account, Svm};
///
/// let svm = Svm::new();
/// let rich = (address("alice"), Account { lamports: 10, ..Account::default() });
/// let transfer = system::transfer(&address("alice"), &address("bob"), 4);
/// let file: Vec<u8> = InstructionFixture::record(&svm, &transfer, &[rich]).to_bytes();
/// let receipt = InstructionFixture::parse(&file)?.replay()?;
/// assert_eq!(receipt.compute_units, 150);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionFixture(selkie_fixture::InstructionFixture);

impl InstructionFixture {
    /// Records an instruction with the state it needs and its result.
    #[must_use]
    pub fn record(svm: &Svm, instruction: &Instruction, accounts: &[(Pubkey, Account)]) -> Self {
        let receipt = svm.process_instruction(instruction, accounts);
        let mut states: Vec<State> = Vec::new();
        for change in &receipt.accounts {
            let found = change.before.clone().unwrap_or_default();
            states.push(state(change.key, &found));
        }
        let sysvars = svm.environment().sysvars.iter().map(|(id, _)| *id);
        let files = states
            .iter()
            .filter_map(|it| selkie_svm::program_cache::program_data_address(&it.data));
        let others: Vec<Pubkey> = sysvars.chain(files).collect();
        for key in others {
            if let Some(account) = svm.shared_account(&key)
                && !states.iter().any(|state| state.address == key)
            {
                states.push(state(key, &account));
            }
        }
        let instruction_accounts = instruction.accounts.iter().filter_map(|meta| {
            let index = states.iter().position(|state| state.address == meta.pubkey)?;
            let AccountMeta { is_signer, is_writable, .. } = *meta;
            Some(InstructionAccount { index, is_signer, is_writable })
        });
        let input = Given {
            program_id: instruction.program_id,
            instruction_accounts: instruction_accounts.collect(),
            accounts: states,
            data: instruction.data.clone(),
            compute_unit_limit: receipt.compute_unit_limit,
            features: svm.features().iter().map(number).collect(),
        };
        Self(selkie_fixture::InstructionFixture { input, output: effects(&receipt) })
    }

    /// Parses a file in Firedancer's format.
    ///
    /// # Errors
    /// If the file is malformed or of another kind.
    pub fn parse(file: &[u8]) -> Result<Self, FixtureError> {
        match File::read(file) {
            Ok(File::Instruction(fixture)) => Ok(Self(fixture)),
            Ok(_) => Err(FixtureError::Format("it is not an instruction fixture".to_owned())),
            Err(error) => Err(FixtureError::Format(error.to_string())),
        }
    }

    /// Encodes the fixture in Firedancer's format.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_firedancer()
    }

    /// Processes the instruction again and compares the result with the recorded one.
    ///
    /// # Errors
    /// If the result differs.
    pub fn replay(&self) -> Result<Receipt, FixtureError> {
        let Given {
            program_id,
            accounts,
            instruction_accounts,
            data,
            compute_unit_limit,
            features,
        } = &self.0.input;
        let budget =
            ComputeBudget { compute_unit_limit: *compute_unit_limit, heap_bytes: HEAP_BYTES_MIN };
        let mut svm = Svm::new().with_instruction_budget(budget);
        *svm.journal.state_mut() = genesis::empty_state(fixture_account::features(features));
        let given: Vec<_> = accounts.iter().map(fixture_account::account).collect();
        fixture_state::set_sysvars(&mut svm, given.iter().map(|(key, account)| (key, account)));
        let metas = instruction_accounts.iter().filter_map(|it| {
            let pubkey = accounts.get(it.index)?.address;
            Some(AccountMeta { pubkey, is_signer: it.is_signer, is_writable: it.is_writable })
        });
        let instruction =
            Instruction { program_id: *program_id, accounts: metas.collect(), data: data.clone() };
        let receipt = svm.process_instruction(&instruction, &given);
        let differences = differences(&self.0.output, &receipt);
        if differences.is_empty() { Ok(receipt) } else { Err(FixtureError::Differs(differences)) }
    }
}

fn effects(receipt: &Receipt) -> Effects {
    let error = receipt.instruction_error();
    let changed = receipt.accounts.iter().filter_map(|it| Some((it.key, it.write.as_ref()?)));
    Effects {
        result: error.map_or(0, |error| discriminant(error).saturating_add(1)),
        custom_error: match error {
            Some(InstructionError::Custom(number)) => *number,
            _ => 0,
        },
        accounts: changed.map(|(key, account)| state(key, account)).collect(),
        compute_units: None,
        compute_units_left: Some(receipt.compute_unit_limit.saturating_sub(receipt.compute_units)),
        return_data: receipt.returned().to_vec(),
    }
}

fn differences(expected: &Effects, receipt: &Receipt) -> Vec<String> {
    let found = effects(receipt);
    let mut differences = Vec::new();
    let mut compare = |what: &str, expected: String, found: String| {
        if expected != found {
            differences.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    let result = |it: &Effects| format!("{} ({})", it.result, it.custom_error);
    compare("result", result(expected), result(&found));
    if let Some(units) = expected.compute_units_left {
        let found = found.compute_units_left.unwrap_or(0);
        compare("compute units left", units.to_string(), found.to_string());
    }
    // Account changes of a failed instruction are not observable.
    if expected.result == 0 {
        let data = |it: &Effects| hex(&it.return_data);
        compare("return data", data(expected), data(&found));
        for state in &expected.accounts {
            let after = receipt.account(&state.address);
            let after = after.and_then(|it| it.write.as_ref().or(it.before.as_ref())).cloned();
            let after = self::state(state.address, &after.unwrap_or_default());
            compare(&format!("account {}", state.address), show(state), show(&after));
        }
    }
    differences
}
