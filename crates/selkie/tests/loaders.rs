//! The it cycle of a program under each loader, by transactions, with programs of mainnet.

use std::{path::Path, sync::Arc};

use selkie::{
    AccountMeta, FailedTransaction, Feature, FeatureSet, Instruction, InstructionError as E,
    Keypair, Loader, Pubkey, Receipt, Signer, Svm, TransactionError, ids, keypair,
    program_data_key, system,
};

/// How many bytes of a file fit into a transaction besides signatures and addresses.
const CHUNK_BYTES: usize = 800;
const BUFFER_HEADER_BYTES: u64 = 37;
const PROGRAM_BYTES: u64 = 36;

/// Reads an ELF file of mainnet.
fn file(name: &str) -> Vec<u8> {
    std::fs::read(selkie_testdata::elf(name)).unwrap()
}

/// Returns a program that returns 0, and one that logs its data.
fn noop_and_memo() -> [Vec<u8>; 2] {
    ["2dab999bce6c", "0c92063c6838"].map(file)
}

/// Returns an invalid ELF file.
fn broken(file: &[u8]) -> Vec<u8> {
    [&[0], &file[1..]].concat()
}

/// The first memo program, which was built for loader v1.
const MEMO_V1: &str = "67053ed6b0c4";

/// A chain, a fee payer, and the keypairs of a program and its buffer.
struct Setup {
    svm: Svm,
    payer: Keypair,
    program: Keypair,
    buffer: Keypair,
}

type Sent = Result<Arc<Receipt>, Box<FailedTransaction>>;

impl Setup {
    fn new(features: FeatureSet) -> Self {
        let mut svm = Svm::new().with_features(features).with_signature_checks(false);
        let payer = keypair("payer");
        svm.airdrop(&payer.pubkey(), 1_000_000_000_000).unwrap();
        svm.warp_by_slots(10);
        Self { svm, payer, program: keypair("program"), buffer: keypair("buffer") }
    }

    fn id(&self) -> Pubkey {
        self.program.pubkey()
    }

    /// Sends an instruction that only the payer signs.
    fn send(&mut self, instruction: Instruction) -> Sent {
        self.send_all(&[instruction], &[])
    }

    fn send_all(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> Sent {
        let mut all: Vec<&dyn Signer> = vec![&self.payer];
        signers.iter().for_each(|signer| all.push(*signer));
        let signers = all;
        self.svm.send_instructions(instructions, &signers).map_err(Box::new)
    }

    /// Creates an account, followed by other instructions in the same transaction.
    fn create(&mut self, account: &Keypair, space: u64, owner: Loader, then: &[Instruction]) {
        let len = usize::try_from(space).unwrap();
        let lamports = self.svm.minimum_balance_for_rent_exemption(len);
        let (from, to) = (self.payer.pubkey(), account.pubkey());
        let create = system::create_account(&from, &to, lamports, space, &owner.address());
        let all = [&[create], then].concat();
        self.send_all(&all, &[account]).unwrap();
    }

    fn call(&mut self) -> Sent {
        let data = b"hello".to_vec();
        self.send(Instruction { program_id: self.id(), accounts: vec![], data })
    }

    /// Asserts that invoking the program fails with this log line.
    fn call_fails(&mut self, line: &str) {
        let failed = self.call().unwrap_err();
        assert_eq!(failed.instruction_error(), Some(&E::UnsupportedProgramId), "{failed}");
        assert!(failed.receipt.logs.iter().any(|it| it == line), "{failed}");
    }
}

/// Asserts that a transaction failed with this instruction error and log line.
fn check(sent: Sent, error: &E, line: &str) {
    let failed = sent.unwrap_err();
    assert_eq!(failed.instruction_error(), Some(error), "{failed}");
    let is_there = failed.receipt.logs.iter().any(|it| it == line);
    assert!(line.is_empty() || is_there, "{line}: {failed}");
}

fn instruction(loader: Loader, accounts: Vec<AccountMeta>, parts: &[&[u8]]) -> Instruction {
    Instruction { program_id: loader.address(), accounts, data: parts.concat() }
}

fn tag(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

/// Adds loader v3 as an account: without it, invoked programs are demoted to read-only.
fn with_loader_v3(mut instruction: Instruction) -> Instruction {
    instruction.accounts.push(AccountMeta::new_readonly(Loader::V3.address(), false));
    instruction
}

/// Returns instructions that write a file in chunks, in the format of all loaders.
fn writes<'a>(
    loader: Loader,
    number: u32,
    accounts: &'a [AccountMeta],
    file: &'a [u8],
) -> impl Iterator<Item = Instruction> + 'a {
    file.chunks(CHUNK_BYTES).zip((0_u32..).step_by(CHUNK_BYTES)).map(move |(piece, offset)| {
        let len = (piece.len() as u64).to_le_bytes();
        let parts = [&tag(number)[..], &offset.to_le_bytes(), &len, piece];
        instruction(loader, accounts.to_vec(), &parts)
    })
}

// Loaders v1 and v2

/// Returns the features with which an old loader still deploys programs.
fn before(loader: Loader) -> FeatureSet {
    // The executable flag told programs from accounts being written.
    let mainnet = FeatureSet::mainnet().without(Feature::IgnoreExecutableFlag);
    match loader {
        // Its programs allocate by a syscall that was removed.
        Loader::V1 => mainnet
            .without(Feature::DisableDeprecatedLoader)
            .without(Feature::DisableDeployOfAllocFree),
        _ => mainnet.without(Feature::DisableBpfLoaderInstructions),
    }
}

fn own(it: &Setup) -> Vec<AccountMeta> {
    vec![AccountMeta::new(it.id(), true)]
}

/// Writes a file to an account of `len` bytes.
fn written(loader: Loader, features: FeatureSet, file: &[u8], len: usize) -> Setup {
    let mut it = Setup::new(features);
    let program = it.program.insecure_clone();
    it.create(&program, len as u64, loader, &[]);
    let accounts = own(&it);
    for write in writes(loader, 0, &accounts, file) {
        it.send_all(&[write], &[&program]).unwrap();
    }
    it
}

fn finalize(it: &mut Setup, loader: Loader) -> Sent {
    let program = it.program.insecure_clone();
    let finalize = instruction(loader, own(it), &[&tag(1)]);
    it.send_all(&[finalize], &[&program])
}

#[test]
fn programs_of_old_loaders_are_written_and_finalized() {
    for (loader, name) in [(Loader::V1, MEMO_V1), (Loader::V2, "0c92063c6838")] {
        let elf = file(name);
        let mut it = written(loader, before(loader), &elf, elf.len());
        assert!(!it.svm.account(&it.id()).unwrap().executable);
        let receipt = finalize(&mut it, loader).unwrap();
        let line = format!("Finalized account {}", it.id());
        assert!(receipt.logs.contains(&line), "{:#?}", receipt.logs);
        let account = it.svm.account(&it.id()).unwrap();
        assert_eq!((account.data.as_slice(), account.executable), (elf.as_slice(), true));
        it.svm.warp_by_slots(1);
        it.call().unwrap();

        // Nothing can change the finalized account, not even with its own signature.
        let program = it.program.insecure_clone();
        let write = writes(loader, 0, &own(&it), &[0; 4]).next().unwrap();
        check(it.send_all(&[write], &[&program]), &E::ExecutableDataModified, "");
        it.call().unwrap();
    }
}

#[test]
fn a_program_of_an_old_loader_cannot_be_called_in_the_slot_it_is_finalized() {
    for (loader, name) in [(Loader::V1, MEMO_V1), (Loader::V2, "0c92063c6838")] {
        let elf = file(name);
        let mut it = written(loader, before(loader), &elf, elf.len());
        let finalize = with_loader_v3(instruction(loader, own(&it), &[&tag(1)]));
        let call = Instruction { program_id: it.id(), accounts: vec![], data: vec![] };
        let program = it.program.insecure_clone();
        let sent = it.send_all(&[finalize, call], &[&program]);
        assert_eq!(sent.unwrap_err().error, TransactionError::InvalidProgramForExecution);
        assert_eq!(it.call().unwrap_err().error, TransactionError::InvalidProgramForExecution);

        // With this feature the flag is ignored, and the written file is a program already.
        it.svm.activate_feature(Feature::IgnoreExecutableFlag);
        it.call().unwrap();
    }
}

#[test]
fn old_loaders_reject_invalid_programs() {
    let [noop, _] = noop_and_memo();
    for loader in [Loader::V1, Loader::V2] {
        // The account is shorter than the file, longer than the written part, or holds no ELF file.
        let mut it = written(loader, before(loader), &noop[..1000], 1000);
        let write = writes(loader, 0, &own(&it), &noop).nth(1).unwrap();
        let program = it.program.insecure_clone();
        let sent = it.send_all(&[write], &[&program]);
        check(sent, &E::AccountDataTooSmall, "Write overflow: 1000 < 1600");
        check(finalize(&mut it, loader), &E::InvalidAccountData, "");
        let mut it = written(loader, before(loader), &broken(&noop), noop.len());
        let line = "Failed to parse ELF file: invalid file header";
        check(finalize(&mut it, loader), &E::InvalidAccountData, line);

        // A write without the account's signature.
        let accounts = vec![AccountMeta::new(it.id(), false)];
        let write = writes(loader, 0, &accounts, &[0]).next().unwrap();
        let line = "Program account did not sign";
        check(it.send(write), &E::MissingRequiredSignature, line);
        let finalize = instruction(loader, accounts, &[&tag(1)]);
        let line = "key[0] did not sign the transaction";
        check(it.send(finalize), &E::MissingRequiredSignature, line);
    }
}

#[test]
fn programs_that_allocate_by_syscall_are_rejected() {
    let elf = file(MEMO_V1);
    let features = FeatureSet::mainnet().without(Feature::DisableDeprecatedLoader);
    let mut it = written(Loader::V1, features, &elf, elf.len());
    let line = "Unresolved symbol (sol_alloc_free_) at instruction #759 (ELF file offset 0x17b8)";
    check(finalize(&mut it, Loader::V1), &E::InvalidAccountData, line);
}

#[test]
fn old_loaders_deploy_nothing_on_mainnet() {
    for (loader, line) in [
        (Loader::V1, "Deprecated loader is no longer supported"),
        (Loader::V2, "BPF loader management instructions are no longer supported"),
    ] {
        let mut it = Setup::new(FeatureSet::mainnet());
        let program = it.program.insecure_clone();
        it.create(&program, 100, loader, &[]);
        check(finalize(&mut it, loader), &E::UnsupportedProgramId, line);
    }
}

// Loader v3

impl Setup {
    fn data_key(&self) -> Pubkey {
        program_data_key(&self.id())
    }

    /// Creates a buffer and writes a file to it.
    fn write_buffer(&mut self, file: &[u8]) {
        let (payer, key) = (self.payer.pubkey(), self.buffer.pubkey());
        let buffer = self.buffer.insecure_clone();
        let accounts = vec![AccountMeta::new(key, false), AccountMeta::new_readonly(payer, true)];
        let initialize = instruction(Loader::V3, accounts.clone(), &[&tag(0)]);
        let space = BUFFER_HEADER_BYTES + file.len() as u64;
        self.create(&buffer, space, Loader::V3, &[initialize]);
        for write in writes(Loader::V3, 1, &accounts, file) {
            self.send(write).unwrap();
        }
    }

    fn deploy_instruction(&self, len_max: u64) -> Instruction {
        let accounts = vec![
            AccountMeta::new(self.payer.pubkey(), true),
            AccountMeta::new(self.data_key(), false),
            AccountMeta::new(self.id(), false),
            AccountMeta::new(self.buffer.pubkey(), false),
            AccountMeta::new_readonly(ids::sysvar::rent::ID, false),
            AccountMeta::new_readonly(ids::sysvar::clock::ID, false),
            AccountMeta::new_readonly(ids::system_program::ID, false),
            AccountMeta::new_readonly(self.payer.pubkey(), true),
        ];
        instruction(Loader::V3, accounts, &[&tag(2), &len_max.to_le_bytes()])
    }

    /// Deploys a program with capacity for `len_max` bytes in the current slot.
    fn deploy(&mut self, file: &[u8], len_max: usize) {
        self.write_buffer(file);
        let program = self.program.insecure_clone();
        let deploy = self.deploy_instruction(len_max as u64);
        self.create(&program, PROGRAM_BYTES, Loader::V3, &[deploy]);
    }

    fn upgrade(&mut self, authority: &Keypair) -> Sent {
        let accounts = vec![
            AccountMeta::new(self.data_key(), false),
            AccountMeta::new(self.id(), false),
            AccountMeta::new(self.buffer.pubkey(), false),
            AccountMeta::new(self.payer.pubkey(), false),
            AccountMeta::new_readonly(ids::sysvar::rent::ID, false),
            AccountMeta::new_readonly(ids::sysvar::clock::ID, false),
            AccountMeta::new_readonly(authority.pubkey(), true),
        ];
        let upgrade = instruction(Loader::V3, accounts, &[&tag(3)]);
        match authority.pubkey() == self.payer.pubkey() {
            true => self.send(upgrade),
            false => self.send_all(&[upgrade], &[authority]),
        }
    }

    fn extend(&mut self, bytes: u32) -> Sent {
        let accounts = vec![
            AccountMeta::new(self.data_key(), false),
            AccountMeta::new(self.id(), false),
            AccountMeta::new_readonly(ids::system_program::ID, false),
            AccountMeta::new(self.payer.pubkey(), true),
        ];
        self.send(instruction(Loader::V3, accounts, &[&tag(6), &bytes.to_le_bytes()]))
    }

    fn close(&mut self) -> Sent {
        let accounts = vec![
            AccountMeta::new(self.data_key(), false),
            AccountMeta::new(self.payer.pubkey(), false),
            AccountMeta::new_readonly(self.payer.pubkey(), true),
            AccountMeta::new(self.id(), false),
        ];
        self.send(instruction(Loader::V3, accounts, &[&tag(5)]))
    }

    fn set_authority(&mut self, account: Pubkey, new: Option<Pubkey>) -> Sent {
        let mut accounts = vec![
            AccountMeta::new(account, false),
            AccountMeta::new_readonly(self.payer.pubkey(), true),
        ];
        accounts.extend(new.map(|new| AccountMeta::new_readonly(new, false)));
        self.send(instruction(Loader::V3, accounts, &[&tag(4)]))
    }

    /// Returns whether the program logs its data, as the second version does.
    fn is_memo(&mut self) -> bool {
        let receipt = self.call().unwrap();
        receipt.logs.iter().any(|it| it.contains("hello"))
    }
}

#[test]
fn a_program_of_loader_v3_is_deployed_upgraded_and_closed() {
    let [noop, memo] = noop_and_memo();
    let mut it = Setup::new(FeatureSet::mainnet());
    let payer = it.payer.insecure_clone();
    it.deploy(&noop, noop.len());
    // The program exists, but is invocable from the next slot on.
    it.call_fails("Program is not deployed");
    it.write_buffer(&noop);
    let line = "Program was deployed in this block already";
    check(it.upgrade(&payer), &E::InvalidArgument, line);
    check(it.close(), &E::InvalidArgument, line);
    let line = "Program was extended in this block already";
    check(it.extend(10_240), &E::InvalidArgument, line);
    it.svm.warp_by_slots(1);
    assert!(!it.is_memo());

    // The next version is larger.
    it.upgrade(&payer).unwrap();
    it.svm.warp_by_slots(1);
    it.write_buffer(&memo);
    let line = "ProgramData account not large enough";
    check(it.upgrade(&payer), &E::AccountDataTooSmall, line);
    it.extend(10_240).unwrap();
    it.call_fails("Program is not deployed");
    it.svm.warp_by_slots(1);
    it.upgrade(&payer).unwrap();
    it.call_fails("Program is not deployed");
    it.svm.warp_by_slots(1);
    assert!(it.is_memo());

    it.close().unwrap();
    it.call_fails("Program is not cached");
    it.svm.warp_by_slots(1);
    it.call_fails("Program is not cached");
    // The address cannot be reused.
    it.write_buffer(&memo);
    let deploy = it.deploy_instruction(memo.len() as u64);
    let line = "Program account already initialized";
    check(it.send(deploy), &E::AccountAlreadyInitialized, line);
}

#[test]
fn a_program_of_loader_v3_cannot_be_called_in_the_slot_it_is_deployed_or_closed() {
    let [noop, _] = noop_and_memo();
    let mut it = Setup::new(FeatureSet::mainnet());
    it.deploy(&noop, noop.len());
    it.svm.warp_by_slots(1);
    let call = Instruction { program_id: it.id(), accounts: vec![], data: vec![] };
    let accounts = vec![
        AccountMeta::new(it.data_key(), false),
        AccountMeta::new(it.payer.pubkey(), false),
        AccountMeta::new_readonly(it.payer.pubkey(), true),
        AccountMeta::new(it.id(), false),
    ];
    let close = instruction(Loader::V3, accounts, &[&tag(5)]);
    let sent = it.send_all(&[call.clone(), close.clone(), call.clone()], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    it.send_all(&[call, close], &[]).unwrap();
}

#[test]
fn loader_v3_rejects_invalid_programs() {
    let [noop, _] = noop_and_memo();
    let mut it = Setup::new(FeatureSet::mainnet());
    let (payer, other) = (it.payer.insecure_clone(), keypair("other"));
    it.write_buffer(&broken(&noop));
    let program = it.program.insecure_clone();
    it.create(&program, PROGRAM_BYTES, Loader::V3, &[]);
    let line = "Failed to parse ELF file: invalid file header";
    let deploy = it.deploy_instruction(noop.len() as u64);
    check(it.send(deploy), &E::InvalidAccountData, line);
    let line = "Max data length is too small to hold Buffer data";
    let deploy = it.deploy_instruction(noop.len() as u64 - 1);
    check(it.send(deploy), &E::AccountDataTooSmall, line);

    let mut it = Setup::new(FeatureSet::mainnet());
    it.deploy(&noop, noop.len());
    it.svm.warp_by_slots(1);
    it.write_buffer(&broken(&noop));
    check(it.upgrade(&other), &E::IncorrectAuthority, "Buffer and upgrade authority don't match");
    let line = "Failed to parse ELF file: invalid file header";
    check(it.upgrade(&payer), &E::InvalidAccountData, line);
    it.call().unwrap();
    // A buffer of another authority cannot be deployed.
    let buffer = it.buffer.pubkey();
    it.set_authority(buffer, Some(other.pubkey())).unwrap();
    check(it.upgrade(&other), &E::IncorrectAuthority, "Incorrect upgrade authority provided");
}

#[test]
fn a_program_of_loader_v3_can_become_immutable() {
    let [noop, _] = noop_and_memo();
    let mut it = Setup::new(FeatureSet::mainnet());
    let payer = it.payer.insecure_clone();
    it.deploy(&noop, noop.len());
    let data = it.data_key();
    it.set_authority(data, None).unwrap();
    it.svm.warp_by_slots(1);
    it.call().unwrap();
    it.write_buffer(&noop);
    check(it.upgrade(&payer), &E::Immutable, "Program not upgradeable");
    check(it.close(), &E::Immutable, "Account is immutable");
    let line = "Cannot extend ProgramData accounts that are not upgradeable";
    check(it.extend(10_240), &E::Immutable, line);
    check(it.set_authority(data, Some(payer.pubkey())), &E::Immutable, "Program not upgradeable");
    it.call().unwrap();
}

#[test]
fn an_upgrade_resizes_programdata_to_the_file() {
    let [noop, memo] = noop_and_memo();
    let resize = Feature::LoaderV3SetProgramDataToElfLength;
    let mut it = Setup::new(FeatureSet::mainnet().with(resize));
    let payer = it.payer.insecure_clone();
    it.deploy(&noop, noop.len() + 500);
    for file in [&memo, &noop] {
        it.svm.warp_by_slots(1);
        it.write_buffer(file);
        it.upgrade(&payer).unwrap();
        let account = it.svm.account(&it.data_key()).unwrap();
        assert_eq!(account.data.len(), 45 + file.len());
        let required = it.svm.minimum_balance_for_rent_exemption(account.data.len());
        assert_eq!(account.lamports, required);
    }
    it.svm.warp_by_slots(1);
    assert!(!it.is_memo());
}

// Loader v4

const WRITE: u32 = 0;
const COPY: u32 = 1;
const SET_PROGRAM_LENGTH: u32 = 2;
const DEPLOY: u32 = 3;
const RETRACT: u32 = 4;
const TRANSFER_AUTHORITY: u32 = 5;
const FINALIZE: u32 = 6;

impl Setup {
    fn v4_accounts(&self, others: &[AccountMeta]) -> Vec<AccountMeta> {
        let program = AccountMeta::new(self.id(), false);
        let authority = AccountMeta::new_readonly(self.payer.pubkey(), true);
        [&[program, authority], others].concat()
    }

    fn v4(&self, number: u32, others: &[AccountMeta], fields: &[u8]) -> Instruction {
        instruction(Loader::V4, self.v4_accounts(others), &[&tag(number), fields])
    }

    fn send_v4(&mut self, number: u32, others: &[AccountMeta]) -> Sent {
        let instruction = self.v4(number, others, &[]);
        self.send(instruction)
    }

    fn set_length(&mut self, len: usize) -> Sent {
        let payer = AccountMeta::new(self.payer.pubkey(), true);
        let len = u32::try_from(len).unwrap().to_le_bytes();
        let instruction = self.v4(SET_PROGRAM_LENGTH, &[payer], &len);
        self.send(instruction)
    }

    fn write_v4(&mut self, file: &[u8]) {
        let accounts = self.v4_accounts(&[]);
        for write in writes(Loader::V4, WRITE, &accounts, file) {
            self.send(write).unwrap();
        }
    }

    /// Creates a program with a file, not deployed yet.
    fn new_v4(file: &[u8]) -> Self {
        let mut it = Self::new(FeatureSet::mainnet().with(Feature::LoaderV4));
        it.create_v4(file);
        it
    }

    fn create_v4(&mut self, file: &[u8]) {
        let lamports = self.svm.minimum_balance_for_rent_exemption(48 + file.len());
        let (from, to) = (self.payer.pubkey(), self.id());
        let owner = Loader::V4.address();
        let create = system::create_account(&from, &to, lamports, 0, &owner);
        let program = self.program.insecure_clone();
        self.send_all(&[create], &[&program]).unwrap();
        self.set_length(file.len()).unwrap();
        self.write_v4(file);
    }
}

const COOLDOWN: &str = "Program was deployed recently, cooldown still in effect";

#[test]
fn a_program_of_loader_v4_is_deployed_replaced_and_closed() {
    let [noop, memo] = noop_and_memo();
    let mut it = Setup::new_v4(&noop);
    it.call_fails("Program is not cached");
    it.send_v4(DEPLOY, &[]).unwrap();
    check(it.send_v4(DEPLOY, &[]), &E::InvalidArgument, COOLDOWN);
    check(it.send_v4(RETRACT, &[]), &E::InvalidArgument, COOLDOWN);
    it.call_fails("Program is not deployed");
    it.svm.warp_by_slots(1);
    assert!(!it.is_memo());
    let line = "Destination program is not retracted";
    check(it.send_v4(DEPLOY, &[]), &E::InvalidArgument, line);
    let line = "Program is not retracted";
    check(it.set_length(memo.len()), &E::InvalidArgument, line);

    // Retract the program and deploy a larger version.
    it.send_v4(RETRACT, &[]).unwrap();
    it.call_fails("Program is not cached");
    let sent = it.set_length(memo.len());
    assert_eq!(sent.unwrap_err().instruction_error(), Some(&E::InsufficientFunds));
    let more = system::transfer(&it.payer.pubkey(), &it.id(), 1_000_000_000);
    it.send(more).unwrap();
    it.set_length(memo.len()).unwrap();
    let account = it.svm.account(&it.id()).unwrap();
    let required = it.svm.minimum_balance_for_rent_exemption(account.data.len());
    assert_eq!((account.data.len(), account.lamports), (48 + memo.len(), required));
    it.write_v4(&memo);
    it.send_v4(DEPLOY, &[]).unwrap();
    it.svm.warp_by_slots(1);
    assert!(it.is_memo());

    // Close the program and reuse its address.
    it.send_v4(RETRACT, &[]).unwrap();
    it.set_length(0).unwrap();
    assert!(it.svm.account(&it.id()).is_none());
    it.create_v4(&noop);
    it.send_v4(DEPLOY, &[]).unwrap();
    it.call_fails("Program is not deployed");
    it.svm.warp_by_slots(1);
    assert!(!it.is_memo());
}

#[test]
fn a_program_of_loader_v4_cannot_be_called_in_the_slot_it_is_deployed_or_retracted() {
    let [noop, _] = noop_and_memo();
    let mut it = Setup::new_v4(&noop);
    let call = Instruction { program_id: it.id(), accounts: vec![], data: vec![] };
    let (deploy, retract) = (it.v4(DEPLOY, &[], &[]), it.v4(RETRACT, &[], &[]));
    let sent = it.send_all(&[with_loader_v3(deploy.clone()), call.clone()], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    it.send(deploy).unwrap();
    it.svm.warp_by_slots(1);
    let sent = it.send_all(&[call.clone(), with_loader_v3(retract), call], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    it.call().unwrap();
}

#[test]
fn loader_v4_copies_from_other_loaders() {
    let [noop, memo] = noop_and_memo();
    let mut it = Setup::new_v4(&vec![0; memo.len()]);
    let line = "Failed to parse ELF file: invalid file header";
    check(it.send_v4(DEPLOY, &[]), &E::InvalidAccountData, line);
    let known = selkie::address("known");
    it.svm.add_program(known, &memo).unwrap();
    let source = AccountMeta::new_readonly(program_data_key(&known), false);
    let len = u32::try_from(memo.len()).unwrap();
    let fields = [0, 0, len].map(u32::to_le_bytes).concat();
    let copy = it.v4(COPY, &[source], &fields);
    it.send(copy).unwrap();
    it.send_v4(DEPLOY, &[]).unwrap();
    it.svm.warp_by_slots(1);
    assert!(it.is_memo());
    assert_ne!(noop, memo);
}

#[test]
fn a_program_of_loader_v4_changes_authority_and_is_finalized() {
    let [noop, _] = noop_and_memo();
    let mut it = Setup::new_v4(&noop);
    let other = keypair("other");
    let line = "Program must be deployed to be finalized";
    let itself = AccountMeta::new_readonly(it.id(), false);
    let next = core::slice::from_ref(&itself);
    check(it.send_v4(FINALIZE, next), &E::InvalidArgument, line);
    let transfer =
        it.v4(TRANSFER_AUTHORITY, &[AccountMeta::new_readonly(other.pubkey(), true)], &[]);
    it.send_all(&[transfer], &[&other]).unwrap();
    check(it.send_v4(DEPLOY, &[]), &E::IncorrectAuthority, "Incorrect authority provided");
    let by_other = |it: &Setup, number, others: &[AccountMeta]| {
        let mut instruction = it.v4(number, others, &[]);
        instruction.accounts[1].pubkey = other.pubkey();
        instruction
    };
    let deploy = by_other(&it, DEPLOY, &[]);
    it.send_all(&[deploy], &[&other]).unwrap();
    let finalize = by_other(&it, FINALIZE, next);
    it.send_all(&[finalize], &[&other]).unwrap();
    it.svm.warp_by_slots(1);
    it.call().unwrap();
    // Finalized with itself as the next version: no authority can sign any more.
    let retract = by_other(&it, RETRACT, &[]);
    let sent = it.send_all(&[retract], &[&other]);
    check(sent, &E::IncorrectAuthority, "Incorrect authority provided");
    let mut retract = it.v4(RETRACT, &[], &[]);
    retract.accounts[1].pubkey = it.id();
    let program = it.program.insecure_clone();
    check(it.send_all(&[retract], &[&program]), &E::Immutable, "Program is finalized");
    it.call().unwrap();
}

#[test]
fn loader_v4_does_not_exist_on_mainnet() {
    let mut it = Setup::new(FeatureSet::mainnet());
    let sent = it.send_v4(DEPLOY, &[]);
    assert!(sent.unwrap_err().instruction_error().is_none());
}

// A program under the wrong loader

/// Adds a program of mainnet under a loader, invokes it with two token accounts, and returns the
/// rendered failure.
fn shown(name: &str, loader: Loader) -> String {
    let elf = file(name);
    let mut it = Setup::new(FeatureSet::mainnet());
    let id = it.id();
    it.svm.add_program_with_loader(id, &elf, loader).unwrap();
    for account in ["one", "two"] {
        let data: Vec<u8> = (1..=165).collect();
        let account_of_program =
            selkie::Account { lamports: 1_000_000_000, data, owner: id, ..Default::default() };
        it.svm.set_account(selkie::address(account), account_of_program).unwrap();
    }
    let accounts = ["one", "two"].map(|it| AccountMeta::new(selkie::address(it), false)).to_vec();
    let failed = it.send(Instruction { program_id: id, accounts, data: vec![3; 9] });
    failed.unwrap_err().to_string()
}

#[test]
fn failures_explain_a_program_under_the_wrong_loader() {
    const SPL_TOKEN: &str = "7b44674b9704";
    let shown_v1 = shown(SPL_TOKEN, Loader::V1);
    let hint = "it was made for loader v2, v3 or v4, and runs under loader v1";
    assert!(shown_v1.contains(hint), "{shown_v1}");
    let shown_v2 = shown(SPL_TOKEN, Loader::V2);
    assert!(!shown_v2.contains("it was made for"), "{shown_v2}");
    let shown_v3 = shown(MEMO_V1, Loader::V3);
    let hint = "it was made for loader v1, and runs under another";
    assert!(shown_v3.contains(hint), "{shown_v3}");
}

#[test]
fn files_that_are_no_programs_are_named_as_what_they_are() {
    let mut svm = Svm::new();
    let mut refused =
        |file: &[u8]| svm.add_program(Pubkey::default(), file).unwrap_err().to_string();
    let text = refused(b".globl entrypoint\n");
    assert_eq!(text, "the file is not a valid program: not an ELF file but text");
    let key = refused(b"[1,2,3]");
    assert!(key.ends_with("not an ELF file but a JSON list of numbers, as key files are"), "{key}");
    assert!(refused(b"!<arch>\n").ends_with("an archive of object files"));
    // A path that is missing names the file that is meant.
    let meant = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let typo = meant.with_file_name("Cagro.toml");
    let missing = svm.add_program(Pubkey::default(), typo.as_path()).unwrap_err().to_string();
    assert!(missing.ends_with(&format!("help: did you mean {}?", meant.display())), "{missing}");
}
