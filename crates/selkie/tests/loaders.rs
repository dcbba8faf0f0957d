//! The whole life of a program under each loader, by transactions, on programs that mainnet has.

use std::sync::Arc;

use selkie::{
    AccountMeta, FailedTransaction, Feature, FeatureSet, Instruction, InstructionError as E,
    Keypair, Loader, Pubkey, Receipt, Signer, Svm, TransactionError, ids, keypair,
    program_data_key, system,
};

/// What a transaction has room for besides its signatures and addresses.
const CHUNK_BYTES: usize = 800;
const BUFFER_HEADER_BYTES: u64 = 37;
const PROGRAM_BYTES: u64 = 36;

/// A program of mainnet, as packages ship it.
fn file(name: &str) -> Vec<u8> {
    std::fs::read(selkie_testdata::elf(name)).unwrap()
}

/// A program that returns 0, and one that logs what it is given.
fn noop_and_memo() -> [Vec<u8>; 2] {
    ["2dab999bce6c", "0c92063c6838"].map(file)
}

/// A file that is none of a program.
fn broken(file: &[u8]) -> Vec<u8> {
    [&[0], &file[1..]].concat()
}

/// The first memo program, which was made for loader v1.
const MEMO_V1: &str = "67053ed6b0c4";

/// A cluster, somebody who pays, and a program that is to be.
struct Life {
    svm: Svm,
    payer: Keypair,
    program: Keypair,
    buffer: Keypair,
}

type Sent = Result<Arc<Receipt>, Box<FailedTransaction>>;

impl Life {
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

    /// Sends what only the payer signs.
    fn send(&mut self, instruction: Instruction) -> Sent {
        self.send_all(&[instruction], &[])
    }

    fn send_all(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> Sent {
        let mut all: Vec<&dyn Signer> = vec![&self.payer];
        signers.iter().for_each(|signer| all.push(*signer));
        let signers = all;
        self.svm.send_instructions(instructions, &signers).map_err(Box::new)
    }

    /// Makes an account, and does something with it at once.
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

    /// The program cannot be called.
    fn call_fails(&mut self, line: &str) {
        let failed = self.call().unwrap_err();
        assert_eq!(failed.instruction_error(), Some(&E::UnsupportedProgramId), "{failed}");
        assert!(failed.receipt.logs.iter().any(|it| it == line), "{failed}");
    }
}

/// An instruction failed like this, and said so.
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

/// Names loader v3 besides: without it, a program that a transaction calls cannot be written to.
fn with_loader_v3(mut instruction: Instruction) -> Instruction {
    instruction.accounts.push(AccountMeta::new_readonly(Loader::V3.address(), false));
    instruction
}

/// Instructions that write a file piece by piece, as all loaders have them.
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

/// What must not be on for programs to be deployed by an old loader.
fn before(loader: Loader) -> FeatureSet {
    // Files in the making were told from programs by the flag.
    let mainnet = FeatureSet::mainnet().without(Feature::IgnoreExecutableFlag);
    match loader {
        // Its programs had a syscall of their own for the heap.
        Loader::V1 => mainnet
            .without(Feature::DisableDeprecatedLoader)
            .without(Feature::DisableDeployOfAllocFree),
        _ => mainnet.without(Feature::DisableBpfLoaderInstructions),
    }
}

fn own(life: &Life) -> Vec<AccountMeta> {
    vec![AccountMeta::new(life.id(), true)]
}

/// Writes a file to an account that holds so many bytes.
fn written(loader: Loader, features: FeatureSet, file: &[u8], len: usize) -> Life {
    let mut life = Life::new(features);
    let program = life.program.insecure_clone();
    life.create(&program, len as u64, loader, &[]);
    let accounts = own(&life);
    for write in writes(loader, 0, &accounts, file) {
        life.send_all(&[write], &[&program]).unwrap();
    }
    life
}

fn finalize(life: &mut Life, loader: Loader) -> Sent {
    let program = life.program.insecure_clone();
    let finalize = instruction(loader, own(life), &[&tag(1)]);
    life.send_all(&[finalize], &[&program])
}

#[test]
fn programs_of_old_loaders_are_written_and_finalized() {
    for (loader, name) in [(Loader::V1, MEMO_V1), (Loader::V2, "0c92063c6838")] {
        let elf = file(name);
        let mut life = written(loader, before(loader), &elf, elf.len());
        assert!(!life.svm.account(&life.id()).unwrap().executable);
        let receipt = finalize(&mut life, loader).unwrap();
        let line = format!("Finalized account {}", life.id());
        assert!(receipt.logs.contains(&line), "{:#?}", receipt.logs);
        let account = life.svm.account(&life.id()).unwrap();
        assert_eq!((account.data.as_slice(), account.executable), (elf.as_slice(), true));
        life.svm.warp_by_slots(1);
        life.call().unwrap();

        // Nobody changes it any more, the account itself included.
        let program = life.program.insecure_clone();
        let write = writes(loader, 0, &own(&life), &[0; 4]).next().unwrap();
        check(life.send_all(&[write], &[&program]), &E::ExecutableDataModified, "");
        life.call().unwrap();
    }
}

#[test]
fn a_program_of_an_old_loader_cannot_be_called_where_it_is_finalized() {
    for (loader, name) in [(Loader::V1, MEMO_V1), (Loader::V2, "0c92063c6838")] {
        let elf = file(name);
        let mut life = written(loader, before(loader), &elf, elf.len());
        let finalize = with_loader_v3(instruction(loader, own(&life), &[&tag(1)]));
        let call = Instruction { program_id: life.id(), accounts: vec![], data: vec![] };
        let program = life.program.insecure_clone();
        let sent = life.send_all(&[finalize, call], &[&program]);
        assert_eq!(sent.unwrap_err().error, TransactionError::InvalidProgramForExecution);
        assert_eq!(life.call().unwrap_err().error, TransactionError::InvalidProgramForExecution);

        // Today the flag makes no difference, and the file would be a program as it is.
        life.svm.activate_feature(Feature::IgnoreExecutableFlag);
        life.call().unwrap();
    }
}

#[test]
fn old_loaders_refuse_bad_programs() {
    let [noop, _] = noop_and_memo();
    for loader in [Loader::V1, Loader::V2] {
        // The account is shorter than the file, longer than what was written, or holds no program.
        let mut life = written(loader, before(loader), &noop[..1000], 1000);
        let write = writes(loader, 0, &own(&life), &noop).nth(1).unwrap();
        let program = life.program.insecure_clone();
        let sent = life.send_all(&[write], &[&program]);
        check(sent, &E::AccountDataTooSmall, "Write overflow: 1000 < 1600");
        check(finalize(&mut life, loader), &E::InvalidAccountData, "");
        let mut life = written(loader, before(loader), &broken(&noop), noop.len());
        let line = "Failed to parse ELF file: invalid file header";
        check(finalize(&mut life, loader), &E::InvalidAccountData, line);

        // Somebody else writes.
        let accounts = vec![AccountMeta::new(life.id(), false)];
        let write = writes(loader, 0, &accounts, &[0]).next().unwrap();
        let line = "Program account did not sign";
        check(life.send(write), &E::MissingRequiredSignature, line);
        let finalize = instruction(loader, accounts, &[&tag(1)]);
        let line = "key[0] did not sign the transaction";
        check(life.send(finalize), &E::MissingRequiredSignature, line);
    }
}

#[test]
fn programs_that_allocate_by_syscall_are_not_deployed_any_more() {
    let elf = file(MEMO_V1);
    let features = FeatureSet::mainnet().without(Feature::DisableDeprecatedLoader);
    let mut life = written(Loader::V1, features, &elf, elf.len());
    let line = "Unresolved symbol (sol_alloc_free_) at instruction #759 (ELF file offset 0x17b8)";
    check(finalize(&mut life, Loader::V1), &E::InvalidAccountData, line);
}

#[test]
fn old_loaders_are_switched_off_on_mainnet() {
    for (loader, line) in [
        (Loader::V1, "Deprecated loader is no longer supported"),
        (Loader::V2, "BPF loader management instructions are no longer supported"),
    ] {
        let mut life = Life::new(FeatureSet::mainnet());
        let program = life.program.insecure_clone();
        life.create(&program, 100, loader, &[]);
        check(finalize(&mut life, loader), &E::UnsupportedProgramId, line);
    }
}

// Loader v3

impl Life {
    fn data_key(&self) -> Pubkey {
        program_data_key(&self.id())
    }

    /// Makes a buffer and writes a file to it.
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

    /// A program with room for so many bytes, deployed in this slot.
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

    /// Whether the program logs what it is given: the second version does.
    fn is_memo(&mut self) -> bool {
        let receipt = self.call().unwrap();
        receipt.logs.iter().any(|it| it.contains("hello"))
    }
}

#[test]
fn a_program_of_loader_v3_lives() {
    let [noop, memo] = noop_and_memo();
    let mut life = Life::new(FeatureSet::mainnet());
    let payer = life.payer.insecure_clone();
    life.deploy(&noop, noop.len());
    // It is there, and its time comes with the next slot.
    life.call_fails("Program is not deployed");
    life.write_buffer(&noop);
    let line = "Program was deployed in this block already";
    check(life.upgrade(&payer), &E::InvalidArgument, line);
    check(life.close(), &E::InvalidArgument, line);
    let line = "Program was extended in this block already";
    check(life.extend(10_240), &E::InvalidArgument, line);
    life.svm.warp_by_slots(1);
    assert!(!life.is_memo());

    // The next version is longer.
    life.upgrade(&payer).unwrap();
    life.svm.warp_by_slots(1);
    life.write_buffer(&memo);
    let line = "ProgramData account not large enough";
    check(life.upgrade(&payer), &E::AccountDataTooSmall, line);
    life.extend(10_240).unwrap();
    life.call_fails("Program is not deployed");
    life.svm.warp_by_slots(1);
    life.upgrade(&payer).unwrap();
    life.call_fails("Program is not deployed");
    life.svm.warp_by_slots(1);
    assert!(life.is_memo());

    life.close().unwrap();
    life.call_fails("Program is not cached");
    life.svm.warp_by_slots(1);
    life.call_fails("Program is not cached");
    // The address is gone for good.
    life.write_buffer(&memo);
    let deploy = life.deploy_instruction(memo.len() as u64);
    let line = "Program account already initialized";
    check(life.send(deploy), &E::AccountAlreadyInitialized, line);
}

#[test]
fn a_program_of_loader_v3_cannot_be_called_where_it_is_deployed_or_closed() {
    let [noop, _] = noop_and_memo();
    let mut life = Life::new(FeatureSet::mainnet());
    life.deploy(&noop, noop.len());
    life.svm.warp_by_slots(1);
    let call = Instruction { program_id: life.id(), accounts: vec![], data: vec![] };
    let accounts = vec![
        AccountMeta::new(life.data_key(), false),
        AccountMeta::new(life.payer.pubkey(), false),
        AccountMeta::new_readonly(life.payer.pubkey(), true),
        AccountMeta::new(life.id(), false),
    ];
    let close = instruction(Loader::V3, accounts, &[&tag(5)]);
    let sent = life.send_all(&[call.clone(), close.clone(), call.clone()], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    life.send_all(&[call, close], &[]).unwrap();
}

#[test]
fn loader_v3_refuses_bad_programs() {
    let [noop, _] = noop_and_memo();
    let mut life = Life::new(FeatureSet::mainnet());
    let (payer, other) = (life.payer.insecure_clone(), keypair("other"));
    life.write_buffer(&broken(&noop));
    let program = life.program.insecure_clone();
    life.create(&program, PROGRAM_BYTES, Loader::V3, &[]);
    let line = "Failed to parse ELF file: invalid file header";
    let deploy = life.deploy_instruction(noop.len() as u64);
    check(life.send(deploy), &E::InvalidAccountData, line);
    let line = "Max data length is too small to hold Buffer data";
    let deploy = life.deploy_instruction(noop.len() as u64 - 1);
    check(life.send(deploy), &E::AccountDataTooSmall, line);

    let mut life = Life::new(FeatureSet::mainnet());
    life.deploy(&noop, noop.len());
    life.svm.warp_by_slots(1);
    life.write_buffer(&broken(&noop));
    check(life.upgrade(&other), &E::IncorrectAuthority, "Buffer and upgrade authority don't match");
    let line = "Failed to parse ELF file: invalid file header";
    check(life.upgrade(&payer), &E::InvalidAccountData, line);
    life.call().unwrap();
    // Somebody else's buffer makes nobody the program's authority.
    let buffer = life.buffer.pubkey();
    life.set_authority(buffer, Some(other.pubkey())).unwrap();
    check(life.upgrade(&other), &E::IncorrectAuthority, "Incorrect upgrade authority provided");
}

#[test]
fn a_program_of_loader_v3_becomes_final() {
    let [noop, _] = noop_and_memo();
    let mut life = Life::new(FeatureSet::mainnet());
    let payer = life.payer.insecure_clone();
    life.deploy(&noop, noop.len());
    let data = life.data_key();
    life.set_authority(data, None).unwrap();
    life.svm.warp_by_slots(1);
    life.call().unwrap();
    life.write_buffer(&noop);
    check(life.upgrade(&payer), &E::Immutable, "Program not upgradeable");
    check(life.close(), &E::Immutable, "Account is immutable");
    let line = "Cannot extend ProgramData accounts that are not upgradeable";
    check(life.extend(10_240), &E::Immutable, line);
    check(life.set_authority(data, Some(payer.pubkey())), &E::Immutable, "Program not upgradeable");
    life.call().unwrap();
}

#[test]
fn an_upgrade_makes_the_data_as_long_as_the_file() {
    let [noop, memo] = noop_and_memo();
    let resize = Feature::LoaderV3SetProgramDataToElfLength;
    let mut life = Life::new(FeatureSet::mainnet().with(resize));
    let payer = life.payer.insecure_clone();
    life.deploy(&noop, noop.len() + 500);
    for file in [&memo, &noop] {
        life.svm.warp_by_slots(1);
        life.write_buffer(file);
        life.upgrade(&payer).unwrap();
        let account = life.svm.account(&life.data_key()).unwrap();
        assert_eq!(account.data.len(), 45 + file.len());
        let required = life.svm.minimum_balance_for_rent_exemption(account.data.len());
        assert_eq!(account.lamports, required);
    }
    life.svm.warp_by_slots(1);
    assert!(!life.is_memo());
}

// Loader v4

const WRITE: u32 = 0;
const COPY: u32 = 1;
const SET_PROGRAM_LENGTH: u32 = 2;
const DEPLOY: u32 = 3;
const RETRACT: u32 = 4;
const TRANSFER_AUTHORITY: u32 = 5;
const FINALIZE: u32 = 6;

impl Life {
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

    /// A program with a file, not deployed yet.
    fn new_v4(file: &[u8]) -> Self {
        let mut life = Self::new(FeatureSet::mainnet().with(Feature::LoaderV4));
        life.make_v4(file);
        life
    }

    fn make_v4(&mut self, file: &[u8]) {
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
fn a_program_of_loader_v4_lives() {
    let [noop, memo] = noop_and_memo();
    let mut life = Life::new_v4(&noop);
    life.call_fails("Program is not cached");
    life.send_v4(DEPLOY, &[]).unwrap();
    check(life.send_v4(DEPLOY, &[]), &E::InvalidArgument, COOLDOWN);
    check(life.send_v4(RETRACT, &[]), &E::InvalidArgument, COOLDOWN);
    life.call_fails("Program is not deployed");
    life.svm.warp_by_slots(1);
    assert!(!life.is_memo());
    let line = "Destination program is not retracted";
    check(life.send_v4(DEPLOY, &[]), &E::InvalidArgument, line);
    let line = "Program is not retracted";
    check(life.set_length(memo.len()), &E::InvalidArgument, line);

    // It is taken down, and another version is put up, which is longer.
    life.send_v4(RETRACT, &[]).unwrap();
    life.call_fails("Program is not cached");
    let sent = life.set_length(memo.len());
    assert_eq!(sent.unwrap_err().instruction_error(), Some(&E::InsufficientFunds));
    let more = system::transfer(&life.payer.pubkey(), &life.id(), 1_000_000_000);
    life.send(more).unwrap();
    life.set_length(memo.len()).unwrap();
    let account = life.svm.account(&life.id()).unwrap();
    let required = life.svm.minimum_balance_for_rent_exemption(account.data.len());
    assert_eq!((account.data.len(), account.lamports), (48 + memo.len(), required));
    life.write_v4(&memo);
    life.send_v4(DEPLOY, &[]).unwrap();
    life.svm.warp_by_slots(1);
    assert!(life.is_memo());

    // It is closed, and its address can be used again.
    life.send_v4(RETRACT, &[]).unwrap();
    life.set_length(0).unwrap();
    assert!(life.svm.account(&life.id()).is_none());
    life.make_v4(&noop);
    life.send_v4(DEPLOY, &[]).unwrap();
    life.call_fails("Program is not deployed");
    life.svm.warp_by_slots(1);
    assert!(!life.is_memo());
}

#[test]
fn a_program_of_loader_v4_cannot_be_called_where_it_is_deployed_or_retracted() {
    let [noop, _] = noop_and_memo();
    let mut life = Life::new_v4(&noop);
    let call = Instruction { program_id: life.id(), accounts: vec![], data: vec![] };
    let (deploy, retract) = (life.v4(DEPLOY, &[], &[]), life.v4(RETRACT, &[], &[]));
    let sent = life.send_all(&[with_loader_v3(deploy.clone()), call.clone()], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    life.send(deploy).unwrap();
    life.svm.warp_by_slots(1);
    let sent = life.send_all(&[call.clone(), with_loader_v3(retract), call], &[]);
    check(sent, &E::UnsupportedProgramId, "Program is not deployed");
    life.call().unwrap();
}

#[test]
fn loader_v4_copies_from_other_loaders() {
    let [noop, memo] = noop_and_memo();
    let mut life = Life::new_v4(&vec![0; memo.len()]);
    let line = "Failed to parse ELF file: invalid file header";
    check(life.send_v4(DEPLOY, &[]), &E::InvalidAccountData, line);
    let known = selkie::address("known");
    life.svm.add_program(known, &memo).unwrap();
    let source = AccountMeta::new_readonly(program_data_key(&known), false);
    let len = u32::try_from(memo.len()).unwrap();
    let fields = [0, 0, len].map(u32::to_le_bytes).concat();
    let copy = life.v4(COPY, &[source], &fields);
    life.send(copy).unwrap();
    life.send_v4(DEPLOY, &[]).unwrap();
    life.svm.warp_by_slots(1);
    assert!(life.is_memo());
    assert_ne!(noop, memo);
}

#[test]
fn a_program_of_loader_v4_changes_hands_and_becomes_final() {
    let [noop, _] = noop_and_memo();
    let mut life = Life::new_v4(&noop);
    let other = keypair("other");
    let line = "Program must be deployed to be finalized";
    let itself = AccountMeta::new_readonly(life.id(), false);
    let next = core::slice::from_ref(&itself);
    check(life.send_v4(FINALIZE, next), &E::InvalidArgument, line);
    let transfer =
        life.v4(TRANSFER_AUTHORITY, &[AccountMeta::new_readonly(other.pubkey(), true)], &[]);
    life.send_all(&[transfer], &[&other]).unwrap();
    check(life.send_v4(DEPLOY, &[]), &E::IncorrectAuthority, "Incorrect authority provided");
    let by_other = |life: &Life, number, others: &[AccountMeta]| {
        let mut instruction = life.v4(number, others, &[]);
        instruction.accounts[1].pubkey = other.pubkey();
        instruction
    };
    let deploy = by_other(&life, DEPLOY, &[]);
    life.send_all(&[deploy], &[&other]).unwrap();
    let finalize = by_other(&life, FINALIZE, next);
    life.send_all(&[finalize], &[&other]).unwrap();
    life.svm.warp_by_slots(1);
    life.call().unwrap();
    // Its authority is its next version now, which is itself, and signs nothing.
    let retract = by_other(&life, RETRACT, &[]);
    let sent = life.send_all(&[retract], &[&other]);
    check(sent, &E::IncorrectAuthority, "Incorrect authority provided");
    let mut retract = life.v4(RETRACT, &[], &[]);
    retract.accounts[1].pubkey = life.id();
    let program = life.program.insecure_clone();
    check(life.send_all(&[retract], &[&program]), &E::Immutable, "Program is finalized");
    life.call().unwrap();
}

#[test]
fn loader_v4_is_not_there_on_mainnet() {
    let mut life = Life::new(FeatureSet::mainnet());
    let sent = life.send_v4(DEPLOY, &[]);
    assert!(sent.unwrap_err().instruction_error().is_none());
}

// A program under a loader that it was not made for

/// Adds a program of mainnet under a loader, calls it with two token accounts, and takes what is
/// shown of the failure.
fn shown(name: &str, loader: Loader) -> String {
    let elf = file(name);
    let mut life = Life::new(FeatureSet::mainnet());
    let id = life.id();
    life.svm.add_program_with_loader(id, &elf, loader).unwrap();
    for account in ["one", "two"] {
        let data: Vec<u8> = (1..=165).collect();
        let account_of_program =
            selkie::Account { lamports: 1_000_000_000, data, owner: id, ..Default::default() };
        life.svm.set_account(selkie::address(account), account_of_program).unwrap();
    }
    let accounts = ["one", "two"].map(|it| AccountMeta::new(selkie::address(it), false)).to_vec();
    let failed = life.send(Instruction { program_id: id, accounts, data: vec![3; 9] });
    failed.unwrap_err().to_string()
}

#[test]
fn a_program_under_the_wrong_loader_is_told() {
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
