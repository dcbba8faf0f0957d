//! Programs deployed, upgraded, extended, handed over and closed by transactions.

use selkie::{
    Clock, DeployError, DeployOptions, FailedTransaction, Instruction, InstructionError, Keypair,
    ProgramError, Pubkey, ReadableAccount, Signer, Svm, TransactionError, UpgradeOptions, keypair,
    loader::State, program_data_key, programs,
};

const SOL: u64 = 1_000_000_000;

/// Assembles a program that logs a word.
fn saying(word: &str) -> Vec<u8> {
    let source = format!(
        ".rodata\nword: .ascii \"{word}\"\n.text\n.globl entrypoint\nentrypoint:\n\
         lddw r1, word\nmov64 r2, {}\ncall sol_log_\nmov64 r0, 0\nexit\n",
        word.len()
    );
    let output = selkie_asm::assemble(&source, &selkie_asm::Options::default());
    output.assembly.unwrap().to_elf()
}

struct Cluster {
    svm: Svm,
    program: Keypair,
    authority: Keypair,
}

impl Cluster {
    fn new() -> Self {
        let (program, authority) = (keypair("program"), keypair("authority"));
        let mut svm = Svm::new();
        svm.airdrop(&authority.pubkey(), 100 * SOL).unwrap();
        Self { svm, program, authority }
    }

    fn with(word: &str) -> Self {
        let mut cluster = Self::new();
        let options = DeployOptions { file_bytes_max: Some(4000), ..DeployOptions::default() };
        let Self { svm, program, authority } = &mut cluster;
        svm.deploy_with(program, saying(word), authority, authority, &options).unwrap();
        cluster
    }

    fn id(&self) -> Pubkey {
        self.program.pubkey()
    }

    fn said(&mut self) -> Result<String, FailedTransaction> {
        let call = Instruction { program_id: self.id(), accounts: vec![], data: vec![] };
        let receipt = self.svm.send_instructions(&[call], &[&self.authority])?;
        Ok(receipt.logs[1].clone())
    }

    fn state(&self, key: &Pubkey) -> Option<State> {
        State::of_data(self.svm.shared_account(key)?.data())
    }
}

#[test]
fn added_programs_can_be_invoked_at_every_clock() {
    let mut cluster = Cluster::new();
    let memo = Instruction { program_id: programs::MEMO.id, accounts: vec![], data: vec![b'a'] };
    cluster.svm.add_program(cluster.id(), saying("one")).unwrap();
    // Also at slot 0, which is that of a default clock, and after the clock was set back.
    for slot in [0, 1000, 999, 1, 0] {
        cluster.svm.set_clock(&Clock { slot, unix_timestamp: 7, ..Clock::default() });
        assert_eq!(cluster.said().unwrap(), "Program log: one", "slot {slot}");
        cluster.svm.send_instructions(std::slice::from_ref(&memo), &[&cluster.authority]).unwrap();
        assert!(cluster.svm.has_program(&cluster.id()));
    }
}

#[test]
fn programs_added_late_can_be_invoked_before() {
    let mut cluster = Cluster::new();
    cluster.svm.warp_to_slot(1000).unwrap();
    cluster.svm.add_upgradeable_program(cluster.id(), saying("late"), &cluster.id()).unwrap();
    for slot in [1000, 999, 0] {
        cluster.svm.set_clock(&Clock { slot, ..Clock::default() });
        assert_eq!(cluster.said().unwrap(), "Program log: late", "slot {slot}");
    }
}

#[test]
fn deployed_programs_cannot_be_invoked_before_their_deployment() {
    let mut cluster = Cluster::with("word");
    let slot = cluster.svm.slot();
    cluster.said().unwrap();
    for slot in [0, slot - 1] {
        cluster.svm.set_clock(&Clock { slot, ..Clock::default() });
        let error = cluster.said().unwrap_err().error;
        assert_eq!(error, failed(InstructionError::UnsupportedProgramId));
    }
}

fn failed(error: InstructionError) -> TransactionError {
    TransactionError::InstructionError(0, error)
}

#[test]
fn a_program_is_deployed_and_upgraded() {
    let mut it = Cluster::new();
    let slot = it.svm.slot();
    let before = it.svm.balance(&it.authority.pubkey());
    let deployment = it.svm.deploy(&it.program, saying("one"), &it.authority).unwrap();
    assert_eq!((deployment.slot, it.svm.slot()), (slot, slot + 1));
    assert_eq!(deployment.authority, Some(it.authority.pubkey()));
    let writes = deployment.file_bytes.div_ceil(1012);
    assert_eq!(deployment.transactions.len(), writes + 2, "create, write, deploy");
    assert_eq!(deployment.fees, (writes as u64 + 4) * 5000, "two sign the first and the last");
    assert_eq!(deployment.cost, deployment.rent + deployment.fees);
    assert_eq!(it.svm.balance(&it.authority.pubkey()), before - deployment.cost);
    assert_eq!(it.said().unwrap(), "Program log: one");

    let capacity = deployment.file_bytes_max;
    let deployment = it.svm.upgrade(&it.id(), saying("two"), &it.authority).unwrap();
    assert_eq!((deployment.file_bytes_max, deployment.cost), (capacity, deployment.fees));
    assert_eq!(it.said().unwrap(), "Program log: two");
}

#[test]
fn a_program_cannot_be_called_in_the_slot_of_its_deployment() {
    let mut it = Cluster::new();
    let options = DeployOptions { waits: false, ..DeployOptions::default() };
    let Cluster { svm, program, authority } = &mut it;
    svm.deploy_with(program, saying("one"), authority, authority, &options).unwrap();
    let early = it.said().unwrap_err();
    assert_eq!(early.error, failed(InstructionError::UnsupportedProgramId));
    assert!(early.receipt.logs.contains(&"Program is not deployed".to_owned()));
    it.svm.warp_by_slots(1);
    assert_eq!(it.said().unwrap(), "Program log: one");

    // A second change in the same slot fails, too.
    let (id, authority) = (it.id(), keypair("authority"));
    let at_once = UpgradeOptions { waits: false, ..UpgradeOptions::default() };
    it.svm.upgrade_with(&id, saying("two"), &authority, &authority, &at_once).unwrap();
    let again = it.svm.upgrade_with(&id, saying("six"), &authority, &authority, &at_once);
    let Err(DeployError::Failed(again)) = again else { panic!("{again:?}") };
    assert_eq!(again.error, failed(InstructionError::InvalidArgument));
    assert!(again.to_string().contains("Program was deployed in this block already"), "{again}");
    it.svm.warp_by_slots(1);
    assert_eq!(it.said().unwrap(), "Program log: two");
}

#[test]
fn invalid_deployments_send_no_transaction() {
    let mut it = Cluster::new();
    let before = it.svm.balance(&it.authority.pubkey());
    let mut broken = saying("one");
    let text = broken.windows(8).position(|it| it == [0x95, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    broken[text] = 0xff;
    let refused = it.svm.deploy(&it.program, &broken, &it.authority);
    assert!(matches!(refused, Err(DeployError::Program(ProgramError::Load(_)))), "{refused:?}");
    let refused = it.svm.deploy(&it.program, b"not a file", &it.authority).unwrap_err();
    assert!(refused.to_string().starts_with("the file is not a valid program: "), "{refused}");
    let poor = keypair("poor");
    let refused = it.svm.deploy(&it.program, saying("one"), &poor).unwrap_err();
    assert!(matches!(refused, DeployError::TooExpensive { balance: 0, .. }), "{refused}");
    let options = DeployOptions { file_bytes_max: Some(10), ..DeployOptions::default() };
    let Cluster { svm, program, authority } = &mut it;
    let refused = svm.deploy_with(program, saying("one"), authority, authority, &options);
    assert!(matches!(refused, Err(DeployError::TooLong { .. })));
    assert_eq!(it.svm.balance(&it.authority.pubkey()), before);
    assert_eq!(it.svm.transactions().count(), 0);
}

#[test]
fn only_the_authority_may_upgrade() {
    let mut it = Cluster::with("one");
    let thief = keypair("thief");
    it.svm.airdrop(&thief.pubkey(), 10 * SOL).unwrap();
    let refused = it.svm.upgrade(&it.id(), saying("bad"), &thief).unwrap_err();
    let owner = it.authority.pubkey();
    assert_eq!(refused.to_string(), format!("the upgrade authority of {} is {owner}", it.id()));
    let theft = it.svm.set_program_authority(&it.id(), &thief, Some(&thief.pubkey()));
    assert_eq!(theft.unwrap_err().error, failed(InstructionError::IncorrectAuthority));
    assert_eq!(it.said().unwrap(), "Program log: one");

    let new = keypair("new authority");
    it.svm.airdrop(&new.pubkey(), 10 * SOL).unwrap();
    it.svm.set_program_authority(&it.id(), &it.authority, Some(&new.pubkey())).unwrap();
    assert!(it.svm.upgrade(&it.id(), saying("bad"), &it.authority).is_err());
    it.svm.upgrade(&it.id(), saying("new"), &new).unwrap();
    assert_eq!(it.said().unwrap(), "Program log: new");

    it.svm.set_program_authority(&it.id(), &new, None).unwrap();
    let refused = it.svm.upgrade(&it.id(), saying("bad"), &new).unwrap_err();
    assert!(matches!(refused, DeployError::NotAuthority { authority: None, .. }), "{refused}");
    let late = it.svm.set_program_authority(&it.id(), &new, Some(&new.pubkey()));
    assert_eq!(late.unwrap_err().error, failed(InstructionError::Immutable));
}

#[test]
fn an_immutable_program_cannot_be_upgraded() {
    let mut it = Cluster::new();
    let options = DeployOptions { is_final: true, ..DeployOptions::default() };
    let Cluster { svm, program, authority } = &mut it;
    let deployed = svm.deploy_with(program, saying("one"), authority, authority, &options);
    assert_eq!(deployed.unwrap().authority, None);
    let data = program_data_key(&it.id());
    assert!(matches!(it.state(&data), Some(State::ProgramData { authority: None, .. })));
    assert!(it.svm.upgrade(&it.id(), saying("two"), &it.authority).is_err());
    assert_eq!(it.said().unwrap(), "Program log: one");
}

#[test]
fn extending_a_program_makes_a_larger_upgrade_possible() {
    let mut it = Cluster::new();
    it.svm.deploy(&it.program, saying("one"), &it.authority).unwrap();
    let long = saying(&"long ".repeat(500));
    let as_it_is = UpgradeOptions { extends: false, ..UpgradeOptions::default() };
    let (id, authority) = (it.id(), keypair("authority"));
    let refused = it.svm.upgrade_with(&id, &long, &authority, &authority, &as_it_is).unwrap_err();
    let DeployError::TooLong { file_bytes_max, extension_bytes: Some(10_240), .. } = refused else {
        panic!("{refused}");
    };
    assert!(refused.to_string().ends_with("extend the program by 10240 bytes first"), "{refused}");
    it.svm.extend_program(&it.id(), 10_240, &it.authority).unwrap();
    assert_eq!(it.said().unwrap(), "Program log: one", "what is there still runs");
    let deployment = it.svm.upgrade(&it.id(), &long, &it.authority).unwrap();
    assert_eq!(deployment.file_bytes_max, file_bytes_max + 10_240);
    assert_eq!(deployment.extended_bytes, 0, "the capacity was sufficient");
    assert!(deployment.transactions.len() > 4);
    assert!(it.said().unwrap().starts_with("Program log: long long"));
}

#[test]
fn an_upgrade_extends_a_program_that_is_too_small() {
    let mut it = Cluster::new();
    let first = it.svm.deploy(&it.program, saying("one"), &it.authority).unwrap();
    assert!(!first.is_upgrade);
    for (len, extended) in [(2_000, 10_240), (20_000, 10_240), (60_000, 39_000)] {
        let before = it.svm.balance(&it.authority.pubkey());
        let file = saying(&"a".repeat(len));
        let deployment = it.svm.upgrade(&it.id(), &file, &it.authority).unwrap();
        assert!(deployment.is_upgrade);
        assert!(deployment.extended_bytes >= extended, "{deployment}");
        assert!(deployment.to_string().contains(", extended by "), "{deployment}");
        assert!(deployment.file_bytes_max >= file.len());
        assert_eq!(before - it.svm.balance(&it.authority.pubkey()), deployment.cost);
        it.said().unwrap();
    }
}

#[test]
fn extensions_stop_at_the_account_size_limit() {
    const FILE_BYTES_MAX: usize = 10 * 1024 * 1024 - 45;
    let mut it = Cluster::new();
    let options =
        DeployOptions { file_bytes_max: Some(FILE_BYTES_MAX - 100), ..Default::default() };
    let Cluster { svm, program, authority } = &mut it;
    svm.deploy_with(program, saying("one"), authority, authority, &options).unwrap();
    for (bytes, accepted) in [(1, 100), (99, 100), (101, 100), (10_240, 100)] {
        let refused = it.svm.check_extension(&it.id(), bytes).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the loader would not extend the program by {bytes} bytes: use {accepted}")
        );
    }
    it.svm.check_extension(&it.id(), 100).unwrap();
    it.svm.extend_program(&it.id(), 100, &it.authority).unwrap();
    let refused = it.svm.check_extension(&it.id(), 1).unwrap_err();
    assert_eq!(refused.to_string(), "the programdata account already has the maximum size");
}

#[test]
fn unresolved_calls_are_rejected_at_deployment() {
    let mut it = Cluster::new();
    let options = selkie_asm::Options::default();
    let options = selkie_asm::Options { version: "v3".parse().unwrap(), ..options };
    let sources = [
        "entrypoint:\ncall sol_remaining_compute_units\nmov64 r0, 0\nexit\n",
        "entrypoint:\ncall entrypoint\nexit\n",
    ];
    for source in sources {
        let output = selkie_asm::assemble(&format!(".globl entrypoint\n{source}"), &options);
        let elf = output.assembly.unwrap().to_elf();
        let refused = it.svm.deploy(&it.program, &elf, &it.authority);
        assert!(matches!(refused, Err(DeployError::Program(_))), "{source}: {refused:?}");
        it.svm.add_program(it.id(), &elf).expect("a program that is there already may run");
    }
    assert_eq!(it.svm.transactions().count(), 0);
}

#[test]
fn a_closed_program_cannot_be_redeployed() {
    let mut it = Cluster::with("one");
    let (data, heir) = (program_data_key(&it.id()), keypair("heir").pubkey());
    let rent = it.svm.balance(&data);
    it.svm.close_program(&it.id(), &it.authority, &heir).unwrap();
    assert_eq!(it.svm.balance(&heir), rent);
    let call = it.said().unwrap_err();
    assert_eq!(call.error, failed(InstructionError::UnsupportedProgramId));
    assert!(call.receipt.logs.contains(&"Program is not cached".to_owned()), "{call}");
    let upgrade = it.svm.upgrade(&it.id(), saying("two"), &it.authority).unwrap_err();
    assert!(matches!(upgrade, DeployError::NoProgram(_)), "{upgrade}");
    it.svm.warp_by_slots(1);
    let Err(DeployError::Failed(failure)) =
        it.svm.deploy(&it.program, saying("two"), &it.authority)
    else {
        panic!("an address was used twice");
    };
    assert!(matches!(failure.error, TransactionError::InstructionError(0, _)), "{failure}");
    // Another address works, although the failed deployment's buffer still exists.
    let other = keypair("other program");
    it.svm.deploy(&other, saying("two"), &it.authority).unwrap();
    assert!(it.svm.has_program(&other.pubkey()));
}

#[test]
fn restoring_a_snapshot_undoes_an_upgrade() {
    let mut it = Cluster::with("one");
    let start = it.svm.snapshot();
    it.svm.upgrade(&it.id(), saying("two"), &it.authority).unwrap();
    assert_eq!(it.said().unwrap(), "Program log: two");
    it.svm.restore(&start).unwrap();
    assert_eq!(it.said().unwrap(), "Program log: one");
}

#[test]
fn programs_of_mainnet_can_be_deployed() {
    for program in [&programs::TOKEN, &programs::MEMO] {
        let elf = program.elf();
        let mut it = Cluster::new();
        let deployment = it.svm.deploy(&it.program, elf, &it.authority).unwrap();
        assert!(it.svm.has_program(&it.id()), "{}", program.name);
        assert_eq!(deployment.transactions.len(), elf.len().div_ceil(1012) + 2);
        let shown = deployment.to_string();
        assert!(shown.contains(&format!("size          {} bytes", elf.len())), "{shown}");
        let data = it.svm.shared_account(&deployment.program_data).unwrap();
        assert_eq!(data.data()[45..], *elf);
    }
}
