//! What a test begins with.

use std::path::PathBuf;

use base64::{Engine, prelude::BASE64_STANDARD};
use selkie::{ComputeBudget, Loader, Svm, built};
use selkie_convert::to_account;
use serde::Serialize;
use solana_account::{Account, AccountSharedData};
use solana_address::Address;
use solana_hash::Hash;
use solana_keypair::Keypair;
use solana_program_entrypoint::ProcessInstruction;

use crate::{
    chain::{Chain, SharedChain},
    client::BanksClient,
    context::ProgramTestContext,
    features::active,
    files::{find_file, read_file},
    genesis::{self, GenesisConfig},
};

/// The heap of a program, in bytes.
const HEAP_BYTES: u32 = 32 * 1024;

/// What a test adds, in the order in which it does.
#[derive(Debug)]
enum Added {
    Account(Address, AccountSharedData),
    /// A program of loader v2.
    Program(Address, PathBuf),
    /// A program of loader v3, which the default address may upgrade.
    Upgradeable(Address, PathBuf),
}

/// A test that is being prepared: programs, accounts, features. By default it has no programs but mainnet's.
#[derive(Default, Debug)]
pub struct ProgramTest {
    added: Vec<Added>,
    genesis_accounts: Vec<(Address, Account)>,
    compute_max_units: Option<u64>,
    account_locks_max: Option<usize>,
    deactivated: Vec<Address>,
}

impl ProgramTest {
    /// Creates a test with a program: [`ProgramTest::add_program`].
    ///
    /// # Panics
    /// If there is no file of the program.
    #[must_use]
    pub fn new(
        program_name: &'static str,
        program_id: Address,
        builtin: Option<ProcessInstruction>,
    ) -> Self {
        let mut test = Self::default();
        test.add_program(program_name, program_id, builtin);
        test
    }

    /// Accepted, and without effect: programs always run from their `.so` files.
    pub fn prefer_bpf(&mut self, _: bool) {}

    /// Sets the compute unit limit of every transaction, whatever it requests.
    pub fn set_compute_max_units(&mut self, compute_max_units: u64) {
        self.compute_max_units = Some(compute_max_units);
    }

    /// Sets how many accounts a transaction may lock.
    pub fn set_transaction_account_lock_limit(&mut self, transaction_account_lock_limit: usize) {
        self.account_locks_max = Some(transaction_account_lock_limit);
    }

    /// Adds an account that is there when the chain begins: a stake counts from epoch 0 on.
    pub fn add_genesis_account(&mut self, address: Address, account: Account) {
        self.genesis_accounts.push((address, account));
    }

    /// Adds an account.
    pub fn add_account(&mut self, address: Address, account: Account) {
        self.added.push(Added::Account(address, account.into()));
    }

    /// Adds an account whose data are those of a file: [`find_file`].
    ///
    /// # Panics
    /// If there is no such file.
    pub fn add_account_with_file_data(
        &mut self,
        address: Address,
        lamports: u64,
        owner: Address,
        filename: &str,
    ) {
        let path = find_file(filename).unwrap_or_else(|| panic!("{}", missing(filename, "")));
        let data = read_file(path);
        self.add_account(address, Account { lamports, data, owner, ..Account::default() });
    }

    /// Adds an account whose data are given in base64.
    ///
    /// # Panics
    /// If they are not.
    pub fn add_account_with_base64_data(
        &mut self,
        address: Address,
        lamports: u64,
        owner: Address,
        data_base64: &str,
    ) {
        let data = BASE64_STANDARD.decode(data_base64);
        let data = data.unwrap_or_else(|error| panic!("the data of {address}: {error}"));
        self.add_account(address, Account { lamports, data, owner, ..Account::default() });
    }

    /// Adds an account that holds a sysvar.
    ///
    /// # Panics
    /// If the sysvar cannot be encoded.
    pub fn add_sysvar_account<S: Serialize>(&mut self, address: Address, sysvar: &S) {
        let data = bincode::serialize(sysvar).expect("sysvars are encoded without error");
        let owner = solana_sdk_ids::sysvar::ID;
        self.add_account(address, Account { lamports: 1, data, owner, ..Account::default() });
    }

    /// Adds a program of loader v3 from `NAME.so`. Its authority is the default address.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn add_upgradeable_program_to_genesis(
        &mut self,
        program_name: &'static str,
        program_id: &Address,
    ) {
        self.added.push(Added::Upgradeable(*program_id, program(program_name, program_id)));
    }

    /// Adds a program of loader v2 from `NAME.so`: in the folder of `BPF_OUT_DIR` or `SBF_OUT_DIR`, in
    /// `tests/fixtures`, in the current folder, or in `target/deploy`, where `selkie build` puts it. A function
    /// that is given is not called.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn add_program(
        &mut self,
        program_name: &'static str,
        program_id: Address,
        _: Option<ProcessInstruction>,
    ) {
        self.added.push(Added::Program(program_id, program(program_name, &program_id)));
    }

    /// Deactivates a feature.
    pub fn deactivate_feature(&mut self, feature_id: Address) {
        self.deactivated.push(feature_id);
    }

    /// Starts the chain. Returns a client, a keypair whose account has a million SOL, and a blockhash.
    ///
    /// # Panics
    /// If a program is not valid.
    pub async fn start(self) -> (BanksClient, Keypair, Hash) {
        let context = self.start_with_context().await;
        (context.banks_client, context.payer, context.last_blockhash)
    }

    /// Starts the chain.
    ///
    /// # Panics
    /// If a program is not valid.
    pub async fn start_with_context(self) -> ProgramTestContext {
        let config = GenesisConfig::default();
        let accounts = self.genesis_accounts.into_iter();
        let accounts = accounts.map(|(address, account)| (address, to_account(account).into()));
        let svm = genesis::start(&config, active(&self.deactivated), accounts);
        let limit = self.compute_max_units;
        let budget = limit
            .map(|compute_unit_limit| ComputeBudget { compute_unit_limit, heap_bytes: HEAP_BYTES });
        let mut chain = Chain::new(svm.with_transaction_budget(budget), self.account_locks_max);
        for added in self.added {
            match added {
                Added::Account(address, account) => chain.set_account(address, account),
                Added::Program(id, path) => add(chain.svm_mut(), id, path, false),
                Added::Upgradeable(id, path) => add(chain.svm_mut(), id, path, true),
            }
        }
        let client = BanksClient { chain: SharedChain::new(chain) };
        ProgramTestContext::new(client, genesis::payer(), config)
    }
}

/// Returns the file of a program.
fn program(name: &str, id: &Address) -> PathBuf {
    let file = format!("{name}.so");
    let found = find_file(&file).or_else(|| built(name).file().map(Into::into));
    found.unwrap_or_else(|| panic!("{}", missing(&file, &format!(" for the program {id}"))))
}

/// Says where a file was looked for, and how a program is built.
fn missing(file: &str, purpose: &str) -> String {
    format!(
        "there is no file {file}{purpose}: neither in the folder of BPF_OUT_DIR or SBF_OUT_DIR, nor in \
         tests/fixtures, the current folder or target/deploy\nhelp: `selkie build` builds a program there; \
         functions named by `processor!` do not run in the test's process"
    )
}

fn add(svm: &mut Svm, id: Address, path: PathBuf, is_upgradeable: bool) {
    let shown = path.display().to_string();
    let added = if is_upgradeable {
        svm.add_upgradeable_program(id, path, &Address::default())
    } else {
        svm.add_program_with_loader(id, path, Loader::V2)
    };
    added.unwrap_or_else(|error| panic!("{shown}: {error}"));
}
