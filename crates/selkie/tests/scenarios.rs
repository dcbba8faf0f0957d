//! The scenarios of `testdata/scenarios`, which every interface of Selkie runs.

use std::{collections::BTreeMap, fs, path::PathBuf};

use selkie::{
    Account, AccountMeta, FailedTransaction, Instruction, Keypair, Pubkey, Receipt, Signer, Svm,
    Transaction, keypair,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(rename = "about")]
    _about: String,
    keypairs: Vec<String>,
    addresses: BTreeMap<String, String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum Step {
    Airdrop { to: String, lamports: u64 },
    SetAccount(SetAccount),
    AddProgram { id: String, file: String },
    Send(Sent),
    Simulate(Sent),
    SendBytes { transaction: String, expect: Expected },
    WarpToSlot { slot: u64 },
    ExpireBlockhash {},
    Check(Check),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetAccount {
    address: String,
    lamports: u64,
    owner: String,
    #[serde(default)]
    data: String,
    #[serde(default)]
    executable: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    instructions: Vec<ScenarioInstruction>,
    signers: Vec<String>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioInstruction {
    program: String,
    accounts: Vec<(String, String)>,
    data: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expected {
    /// `null` for success.
    error: Value,
    compute_units: Option<u64>,
    fee: Option<u64>,
    logs: Option<Vec<String>>,
    return_data: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Check {
    #[serde(default)]
    balances: BTreeMap<String, u64>,
    #[serde(default)]
    accounts: BTreeMap<String, Option<ExpectedAccount>>,
    slot: Option<u64>,
    #[serde(default)]
    rent_exemption: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedAccount {
    lamports: Option<u64>,
    owner: Option<String>,
    data: Option<String>,
    executable: Option<bool>,
}

struct Runner {
    svm: Svm,
    keypairs: BTreeMap<String, Keypair>,
    addresses: BTreeMap<String, Pubkey>,
}

impl Runner {
    fn new(scenario: &Scenario) -> Self {
        let keypairs = scenario.keypairs.iter().map(|name| (name.clone(), keypair(name)));
        let keypairs: BTreeMap<_, _> = keypairs.collect();
        let named = scenario.addresses.iter().map(|(name, it)| (name.clone(), it.parse().unwrap()));
        let mut addresses: BTreeMap<String, Pubkey> = named.collect();
        addresses.extend(keypairs.iter().map(|(name, it)| (name.clone(), it.pubkey())));
        Self { svm: Svm::new(), keypairs, addresses }
    }

    fn address(&self, name: &str) -> Pubkey {
        *self.addresses.get(name).unwrap_or_else(|| panic!("no address has the name {name}"))
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Airdrop { to, lamports } => {
                self.svm.airdrop(&self.address(to), *lamports).unwrap();
            }
            Step::SetAccount(step) => self.set_account(step),
            Step::AddProgram { id, file } => {
                self.svm.add_program(self.address(id), folder().join(file)).unwrap();
            }
            Step::Send(sent) => sent.expect.check(self.svm.send(self.transaction(sent))),
            Step::Simulate(sent) => sent.expect.check(self.svm.simulate(self.transaction(sent))),
            Step::SendBytes { transaction, expect } => {
                expect.check(self.svm.send(bytes(transaction)));
            }
            Step::WarpToSlot { slot } => self.svm.warp_to_slot(*slot).unwrap(),
            Step::ExpireBlockhash {} => _ = self.svm.expire_blockhash(),
            Step::Check(check) => self.check(check),
        }
    }

    fn set_account(&mut self, step: &SetAccount) {
        let account = Account {
            lamports: step.lamports,
            data: bytes(&step.data),
            owner: self.address(&step.owner),
            executable: step.executable,
            rent_epoch: u64::MAX,
        };
        self.svm.set_account(self.address(&step.address), account).unwrap();
    }

    fn transaction(&self, sent: &Sent) -> Transaction {
        let instructions: Vec<_> =
            sent.instructions.iter().map(|it| self.instruction(it)).collect();
        let signers: Vec<&Keypair> = sent.signers.iter().map(|name| &self.keypairs[name]).collect();
        let payer = signers[0].pubkey();
        let blockhash = self.svm.latest_blockhash();
        Transaction::new_signed_with_payer(&instructions, Some(&payer), &signers, blockhash)
    }

    fn instruction(&self, it: &ScenarioInstruction) -> Instruction {
        let account = |(name, flags): &(String, String)| AccountMeta {
            pubkey: self.address(name),
            is_signer: flags.contains('s'),
            is_writable: flags.contains('w'),
        };
        Instruction {
            program_id: self.address(&it.program),
            accounts: it.accounts.iter().map(account).collect(),
            data: bytes(&it.data),
        }
    }

    fn check(&self, check: &Check) {
        for (name, lamports) in &check.balances {
            assert_eq!(self.svm.balance(&self.address(name)), *lamports, "balance of {name}");
        }
        for (name, expected) in &check.accounts {
            let account = self.svm.account(&self.address(name));
            match expected {
                None => assert_eq!(account, None, "{name}"),
                Some(expected) => self.check_account(name, expected, &account.unwrap()),
            }
        }
        if let Some(slot) = check.slot {
            assert_eq!(self.svm.slot(), slot);
        }
        for (len, lamports) in &check.rent_exemption {
            let balance = self.svm.minimum_balance_for_rent_exemption(len.parse().unwrap());
            assert_eq!(balance, *lamports, "minimum balance of {len} bytes");
        }
    }

    fn check_account(&self, name: &str, expected: &ExpectedAccount, account: &Account) {
        let is = |expected: Option<bool>| expected.unwrap_or(true);
        assert!(is(expected.lamports.map(|it| it == account.lamports)), "{name}: {account:?}");
        let owner = expected.owner.as_ref().map(|it| self.address(it) == account.owner);
        assert!(is(owner), "{name}: {account:?}");
        let data = expected.data.as_ref().map(|it| bytes(it) == account.data);
        assert!(is(data), "{name}: {account:?}");
        let executable = expected.executable.map(|it| it == account.executable);
        assert!(is(executable), "{name}: {account:?}");
    }
}

impl Expected {
    fn check(&self, sent: Result<std::sync::Arc<Receipt>, FailedTransaction>) {
        let receipt = sent.unwrap_or_else(|failed| failed.receipt);
        let error = receipt.result.as_ref().err();
        assert_eq!(serde_json::to_value(error).unwrap(), self.error, "{receipt}");
        if let Some(units) = self.compute_units {
            assert_eq!(receipt.compute_units, units, "compute units\n{receipt}");
        }
        if let Some(fee) = self.fee {
            assert_eq!(receipt.fee.total(), fee, "fee\n{receipt}");
        }
        if let Some(logs) = &self.logs {
            assert_eq!(receipt.logs, *logs);
        }
        if let Some(data) = &self.return_data {
            assert_eq!(receipt.returned(), bytes(data), "return data\n{receipt}");
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scenarios")
}

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "{hex} has half a byte");
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn every_scenario_holds() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let scenario = serde_json::from_str(&fs::read_to_string(&path).unwrap());
        let scenario: Scenario = scenario.unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut runner = Runner::new(&scenario);
        for (index, step) in scenario.steps.iter().enumerate() {
            eprintln!("{}, step {index}", path.display());
            runner.run(step);
        }
        count += 1;
    }
    assert!(count >= 5, "there are {count} scenarios");
}

#[test]
fn the_scenarios_program_is_the_examples_counter() {
    let source = folder().join("../../examples/counter/counter.s");
    let source = fs::read_to_string(source).unwrap();
    let built =
        selkie_asm::assemble(&source, &selkie_asm::Options::default()).assembly.unwrap().to_elf();
    assert_eq!(fs::read(folder().join("counter.so")).unwrap(), built);
}
