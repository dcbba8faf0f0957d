//! What the tests share: a cluster with a program, tokens, and a transcript of all that was sent.
//!
//! `WILD_PROGRAMS` is the folder of the programs, `WILD_ARCH` the version of their instruction set.
//! A file there that is named for an SPL program's address is used in place of the bundled one.
//! Where `WILD_TRANSCRIPTS` names a folder, each test writes there what each of its transactions did,
//! so that engines can be compared.

use std::{env, fmt::Write as _, fs, path::PathBuf};

use litesvm::{
    LiteSVM,
    types::{FailedTransactionMetadata, TransactionMetadata},
};
use sha2::{Digest as _, Sha256};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_message::Message;
use solana_program_pack::Pack as _;
use solana_rent::Rent;
use solana_signer::Signer as _;
use solana_system_interface::instruction::create_account;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;
use spl_token_interface::{instruction as token, state::Mint};

/// What the programs of frameworks declare as their address.
pub const ANCHOR_ID: Address =
    Address::from_str_const("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");
/// The SPL Token program.
pub const TOKEN: Address = spl_token_interface::ID;
/// The Token-2022 program.
pub const TOKEN_2022: Address =
    Address::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
/// The Associated Token Account program.
pub const ASSOCIATED: Address =
    Address::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
/// The system program.
pub const SYSTEM: Address = Address::new_from_array([0; 32]);
/// The Rent sysvar.
pub const RENT: Address = Address::from_str_const("SysvarRent111111111111111111111111111111111");

/// What each byte of an account costs on mainnet, in lamports (SIMD-0437).
const RENT_PER_BYTE: u64 = 5_080;

/// A key pair that is the same in each run.
#[must_use]
pub fn key(number: u8) -> Keypair {
    Keypair::new_from_array([number; 32])
}

/// The first eight bytes of Anchor's instructions, `global:name`, accounts and events.
#[must_use]
pub fn discriminator(space: &str, name: &str) -> [u8; 8] {
    let hash = Sha256::digest(format!("{space}:{name}"));
    hash[..8].try_into().expect("a hash has 32 bytes")
}

/// The data of an Anchor instruction.
#[must_use]
pub fn anchor_data(name: &str, arguments: &[&[u8]]) -> Vec<u8> {
    [&discriminator("global", name)[..], &arguments.concat()].concat()
}

/// The associated token account of a wallet.
#[must_use]
pub fn associated(wallet: &Address, mint: &Address, program: &Address) -> Address {
    let seeds = [wallet.as_ref(), program.as_ref(), mint.as_ref()];
    Address::find_program_address(&seeds, &ASSOCIATED).0
}

/// A text as borsh writes it.
#[must_use]
pub fn borsh(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len()).expect("texts of tests are short");
    [&len.to_le_bytes(), text.as_bytes()].concat()
}

/// A cluster with one program or more.
pub struct World {
    /// The cluster.
    pub svm: LiteSVM,
    /// Who pays fees.
    pub payer: Keypair,
    name: String,
    transcript: String,
}

impl World {
    /// Starts a cluster with programs, each by the name of its file; `name` is the test's.
    #[must_use]
    pub fn new(name: &str, programs: &[(&str, Address)]) -> Self {
        let folder = env::var_os("WILD_PROGRAMS").expect("WILD_PROGRAMS names a folder");
        let arch = env::var("WILD_ARCH").unwrap_or_else(|_| "v3".to_owned());
        let mut svm = LiteSVM::new();
        #[cfg(feature = "interpreter")]
        {
            let chain = std::mem::take(svm.svm_mut());
            *svm.svm_mut() = chain.with_engine(selkie::Engine::Interpreter);
        }
        // LiteSVM starts with the rent of 6,960 lamports per byte that mainnet had until 2026.
        svm.set_sysvar(&Rent { lamports_per_byte: RENT_PER_BYTE, ..Rent::default() });
        svm.warp_to_slot(1_000_000);
        for id in [TOKEN, TOKEN_2022, ASSOCIATED] {
            if let Ok(elf) = fs::read(PathBuf::from(&folder).join(format!("{id}.so"))) {
                svm.add_program(id, &elf).expect("the program is valid");
            }
        }
        for (program, id) in programs {
            let path = PathBuf::from(&folder).join(format!("{program}.{arch}.so"));
            let elf = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            svm.add_program(*id, &elf).expect("the program is valid");
        }
        let payer = key(1);
        svm.airdrop(&payer.pubkey(), 1_000_000_000_000).expect("the payer has no account yet");
        Self { svm, payer, name: format!("{name}.{arch}"), transcript: String::new() }
    }

    /// Sends a transaction that must succeed.
    pub fn pass(
        &mut self,
        step: &str,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> TransactionMetadata {
        match self.send(step, instructions, signers) {
            Ok(done) => done,
            Err(failed) => panic!("{step}: {:?}\n{:#?}", failed.err, failed.meta.logs),
        }
    }

    /// Sends a transaction whose last instruction must fail with a custom error.
    pub fn fail(
        &mut self,
        step: &str,
        instructions: &[Instruction],
        signers: &[&Keypair],
        code: u32,
    ) {
        self.fail_with(step, instructions, signers, InstructionError::Custom(code));
    }

    /// Sends a transaction whose last instruction must fail.
    pub fn fail_with(
        &mut self,
        step: &str,
        instructions: &[Instruction],
        signers: &[&Keypair],
        error: InstructionError,
    ) {
        let last = u8::try_from(instructions.len() - 1).expect("there are few instructions");
        let expected = TransactionError::InstructionError(last, error);
        match self.send(step, instructions, signers) {
            Ok(done) => panic!("{step} succeeded: {:#?}", done.logs),
            Err(failed) => assert_eq!(failed.err, expected, "{step}: {:#?}", failed.meta.logs),
        }
    }

    fn send(
        &mut self,
        step: &str,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> Result<TransactionMetadata, FailedTransactionMetadata> {
        // Otherwise two equal transactions would be one.
        self.svm.expire_blockhash();
        let mut all = vec![&self.payer];
        all.extend(signers.iter().filter(|it| it.pubkey() != self.payer.pubkey()));
        let message = Message::new(instructions, Some(&self.payer.pubkey()));
        let keys = message.account_keys.clone();
        let transaction = Transaction::new(&all, message, self.svm.latest_blockhash());
        let result = self.svm.send_transaction(transaction);
        let meta = match &result {
            Ok(meta) => meta,
            Err(failed) => &failed.meta,
        };
        let error = result.as_ref().err().map(|it| &it.err);
        let transcript = &mut self.transcript;
        writeln!(transcript, "{step}: {error:?}, {} units", meta.compute_units_consumed)
            .and_then(|()| meta.logs.iter().try_for_each(|it| writeln!(transcript, "  {it}")))
            .and_then(|()| writeln!(transcript, "  returned {:?}", meta.return_data.data))
            .expect("texts can be written to");
        for key in keys {
            let account = self.svm.get_account(&key).unwrap_or_default();
            // Transactions cannot change these. LiteSVM's sysvar accounts have one lamport, where mainnet's
            // are rent-exempt.
            if key == RENT || account.executable {
                continue;
            }
            let hash = Sha256::digest(&account.data);
            let (lamports, owner) = (account.lamports, account.owner);
            writeln!(transcript, "  {key}: {lamports} of {owner}, {hash:x}").expect("as above");
        }
        result
    }

    /// Returns an account's data.
    #[must_use]
    pub fn data(&self, key: &Address) -> Vec<u8> {
        self.svm.get_account(key).unwrap_or_else(|| panic!("{key} does not exist")).data
    }

    /// Returns the amount of a token account.
    #[must_use]
    pub fn tokens(&self, key: &Address) -> u64 {
        u64::from_le_bytes(self.data(key)[64..72].try_into().expect("it has eight bytes"))
    }

    /// Creates an account of a program.
    pub fn create(&mut self, account: &Keypair, bytes: usize, owner: &Address) {
        let (payer, key) = (self.payer.pubkey(), account.pubkey());
        let lamports = self.svm.minimum_balance_for_rent_exemption(bytes);
        let bytes = u64::try_from(bytes).expect("accounts are small");
        let create = create_account(&payer, &key, lamports, bytes, owner);
        self.pass("create an account", &[create], &[account]);
    }

    /// Creates a mint whose authority is the payer.
    pub fn mint(&mut self, number: u8, decimals: u8, program: &Address) -> Address {
        let (payer, mint) = (self.payer.pubkey(), key(number));
        self.create(&mint, Mint::LEN, program);
        let mint = mint.pubkey();
        let initialize = token::initialize_mint2(&TOKEN, &mint, &payer, None, decimals);
        let initialize = Instruction {
            program_id: *program,
            ..initialize.expect("the program is the Token program")
        };
        self.pass("initialize a mint", &[initialize], &[]);
        mint
    }

    /// Gives a wallet an associated token account with an amount of a mint.
    pub fn fund(
        &mut self,
        wallet: &Address,
        mint: &Address,
        amount: u64,
        program: &Address,
    ) -> Address {
        let payer = self.payer.pubkey();
        let account = associated(wallet, mint, program);
        let create = Instruction {
            program_id: ASSOCIATED,
            accounts: vec![
                AccountMeta::new(payer, true),
                AccountMeta::new(account, false),
                AccountMeta::new_readonly(*wallet, false),
                AccountMeta::new_readonly(*mint, false),
                AccountMeta::new_readonly(SYSTEM, false),
                AccountMeta::new_readonly(*program, false),
            ],
            data: vec![1],
        };
        let mint_to = token::mint_to(&TOKEN, mint, &account, &payer, &[], amount);
        let mint_to = Instruction {
            program_id: *program,
            ..mint_to.expect("the program is the Token program")
        };
        self.pass("fund a token account", &[create, mint_to], &[]);
        account
    }
}

impl Drop for World {
    /// Writes the transcript.
    fn drop(&mut self) {
        if let Some(folder) = env::var_os("WILD_TRANSCRIPTS") {
            let path = PathBuf::from(folder).join(format!("{}.txt", self.name));
            fs::write(path, &self.transcript).expect("the folder can be written to");
        }
    }
}
