//! The accounts that random instructions use.

use anyhow::{Context as _, Result};
use selkie::{
    Account, AccountMeta, Engine, Instruction, Pubkey, Svm, address, ids::sysvar, programs, token,
};

use super::{
    extensions::{self, Chosen, EXTENSIONS, Extension},
    keys::{Family, Keys, Role},
    proofs::{self, Proof},
};

/// A chain with the program under test, and accounts of every kind.
pub(super) struct World {
    pub(super) svm: Svm,
    pub(super) keys: Keys,
}

const LAMPORTS: u64 = 100_000_000;

/// The registry of ElGamal keys, from which Token-2022 configures accounts.
const ELGAMAL_REGISTRY: Pubkey =
    Pubkey::from_str_const("regVYJW7tcT8zipN5YiBvHsvR5jXW1uLFxaHSbugABg");

impl World {
    pub(super) fn new(family: Family, file: &Vec<u8>, engine: Engine) -> Result<Self> {
        let mut svm = Svm::new().with_engine(engine);
        svm.add_program(family.program(), file)?;
        let mut world = Self { svm, keys: Keys::default() };
        for role in [sysvar::rent::ID, selkie::ids::system_program::ID] {
            world.keys.add(Role::Rent, role);
        }
        world.keys.add(Role::System, selkie::ids::system_program::ID);
        for _ in 0..3 {
            world.keys.add(Role::Token, family.token());
        }
        world.keys.add(Role::Token, programs::TOKEN_2022.id);
        let wallets: Vec<Pubkey> = (0..2).map(|it| address(&format!("wallet {it}"))).collect();
        for wallet in &wallets {
            world.svm.airdrop(wallet, 10 * LAMPORTS)?;
            world.keys.add(Role::Wallet, *wallet);
        }
        world.add_tokens(family.token(), &wallets)?;
        world.add_native(family.token(), &wallets)?;
        world.add_fresh(family.token())?;
        if family == Family::Token2022 {
            world.add_proofs(&wallets[0])?;
            let mut extensions = EXTENSIONS.iter().enumerate();
            extensions.try_for_each(|(index, it)| world.add_extended(index, it, &wallets))?;
            for (data, accounts) in extensions::preparation(&wallets[0]) {
                world.prepare(data, accounts)?;
            }
        }
        if family == Family::Ata {
            world.add_associated(family.token(), &wallets);
        }
        Ok(world)
    }

    /// Adds mints, and accounts of each wallet for them, one of which is frozen.
    fn add_tokens(&mut self, token: Pubkey, wallets: &[Pubkey]) -> Result<()> {
        for number in 0..2 {
            let mint = address(&format!("mint {number}"));
            let mut data = token::mint_data(&wallets[number], 0, 6);
            if number == 0 {
                // The freeze authority.
                data[46] = 1;
                data[50..].copy_from_slice(wallets[0].as_ref());
            }
            self.put(mint, token, data, LAMPORTS)?;
            self.keys.add(Role::Mint, mint);
            for index in 0..3 {
                let wallet = &wallets[index % wallets.len()];
                let account = address(&format!("account {number} {index}"));
                let amount = if index == 2 { 0 } else { 1000 };
                self.svm.set_token_account(account, &token, &mint, wallet, amount)?;
                self.keys.add(Role::Account, account);
            }
        }
        let frozen = address("frozen account");
        let mut data = token::account_data(&self.keys.of(Role::Mint, None)[0], &wallets[0], 1000);
        data[108] = 2;
        self.put(frozen, token, data, LAMPORTS)?;
        self.keys.add(Role::Account, frozen);
        Ok(())
    }

    /// Adds accounts of wrapped SOL with more lamports than tokens and rent. The mint of Token-2022 is
    /// created by an instruction.
    fn add_native(&mut self, token: Pubkey, wallets: &[Pubkey]) -> Result<()> {
        let is_2022 = token == programs::TOKEN_2022.id;
        let mint = if is_2022 {
            let (mint, _) = Pubkey::find_program_address(&[b"native-mint"], &token);
            self.keys.add(Role::FreshMint, mint);
            mint
        } else {
            token::NATIVE_MINT
        };
        for (index, wallet) in wallets.iter().enumerate() {
            let account = address(&format!("wrapped SOL {index}"));
            let mut data = token::account_data(&mint, wallet, 1000);
            // What is kept for rent.
            data[109] = 1;
            data[113..121].copy_from_slice(&(LAMPORTS / 2).to_le_bytes());
            self.put(account, token, data, LAMPORTS)?;
            self.keys.add(Role::Account, account);
        }
        Ok(())
    }

    /// Adds accounts to initialize: of the sizes of mints, accounts and multisigs, and larger ones.
    fn add_fresh(&mut self, token: Pubkey) -> Result<()> {
        let sizes = [(Role::FreshMint, 82), (Role::FreshAccount, 165), (Role::Multisig, 355)];
        let larger = [(Role::FreshMint, 234), (Role::FreshMint, 278), (Role::FreshAccount, 182)];
        for (index, (role, size)) in sizes.into_iter().chain(sizes).chain(larger).enumerate() {
            let key = address(&format!("fresh {index}"));
            let lamports = if index == 4 { 1 } else { LAMPORTS };
            self.put(key, token, vec![0; size], lamports)?;
            self.keys.add(role, key);
        }
        Ok(())
    }

    /// Adds accounts with proofs, as the proof program would have written them, and one account of the
    /// registry of ElGamal keys.
    fn add_proofs(&mut self, authority: &Pubkey) -> Result<()> {
        for proof in Proof::ALL {
            let key = address(&format!("proof {proof:?}"));
            let data = proof.account_data(authority);
            self.put(key, selkie::ids::zk_elgamal_proof_program::ID, data, LAMPORTS)?;
            self.keys.add(Role::Proof(proof), key);
        }
        let key = address("registry");
        let data = [authority.to_bytes(), proofs::ELGAMAL_KEY].concat();
        self.put(key, ELGAMAL_REGISTRY, data, LAMPORTS)?;
        self.keys.add(Role::Registry, key);
        Ok(())
    }

    /// Adds a mint with an extension, accounts of it, and an account of a size to become such a mint.
    fn add_extended(
        &mut self,
        index: usize,
        extension: &Extension,
        wallets: &[Pubkey],
    ) -> Result<()> {
        let (number, token) = (extension.number, Family::Token2022.program());
        let fresh = address(&format!("fresh mint with extension {index}"));
        self.put(fresh, token, vec![0; extension.mint_len()], LAMPORTS)?;
        self.keys.add_extended(Role::FreshMint, number, fresh);
        let mint = address(&format!("mint with extension {index}"));
        self.put(mint, token, vec![0; extension.mint_len()], LAMPORTS)?;
        self.keys.add_extended(Role::Mint, number, mint);
        if number == extensions::GROUP_MEMBER {
            self.keys.add(Role::Member, mint);
        }
        for data in extension.initialization(&wallets[0], &mint) {
            self.run(data, &[AccountMeta::new(mint, false)])?;
        }
        for number in 0..3 {
            let wallet = wallets[number % wallets.len()];
            let account = address(&format!("account {number} with extension {index}"));
            self.put(account, token, vec![0; extensions::ACCOUNT_LEN], LAMPORTS)?;
            self.keys.add_extended(Role::Account, extension.number, account);
            let writable = AccountMeta::new(account, false);
            let of_mint = AccountMeta::new(mint, false);
            let data = [&[18], &wallet.to_bytes()[..]].concat();
            self.run(data, &[writable.clone(), of_mint.clone()])?;
            let authority = AccountMeta::new_readonly(wallets[0], true);
            if extension.has_plain_amounts() {
                let data = [&[7], &1000_u64.to_le_bytes()[..]].concat();
                self.run(data, &[of_mint.clone(), writable.clone(), authority.clone()])?;
            }
            // The last account is left to configure.
            if extension.is_confidential() && number < 2 {
                let proof = self.keys.of(Role::Proof(Proof::KeyIsValid), None)[0];
                let proof = AccountMeta::new_readonly(proof, false);
                let owner = AccountMeta::new_readonly(wallet, true);
                let accounts = [writable.clone(), of_mint.clone(), proof, owner];
                self.run(extensions::configuration(), &accounts)?;
                self.run(vec![27, 3], &[writable, of_mint, authority])?;
            }
        }
        Ok(())
    }

    /// Runs an instruction with the first accounts of some roles.
    fn prepare(&mut self, data: Vec<u8>, accounts: &[Chosen]) -> Result<()> {
        let metas = accounts.iter().map(|(role, extension)| {
            let keys = self.keys.of(*role, Some(*extension));
            let key = keys.first().with_context(|| format!("no {role:?} with {extension}"))?;
            let is_account = matches!(role, Role::Mint | Role::Account);
            Ok(AccountMeta {
                pubkey: *key,
                is_signer: *role == Role::Wallet,
                is_writable: is_account,
            })
        });
        let metas: Result<Vec<AccountMeta>> = metas.collect();
        self.run(data, &metas?)
    }

    fn put(&mut self, key: Pubkey, owner: Pubkey, data: Vec<u8>, lamports: u64) -> Result<()> {
        let account = Account { lamports, data, owner, ..Account::default() };
        Ok(self.svm.set_account(key, account)?)
    }

    /// Runs an instruction that has to succeed.
    fn run(&mut self, data: Vec<u8>, accounts: &[AccountMeta]) -> Result<()> {
        let program_id = Family::Token2022.program();
        let instruction = Instruction { program_id, accounts: accounts.to_vec(), data };
        let processed = self.svm.process_instruction(&instruction, &[]);
        let context = || format!("{instruction:?}: {}", processed.logs.join("\n"));
        processed.result.as_ref().map_err(Clone::clone).with_context(context)?;
        self.svm.commit(&processed);
        Ok(())
    }

    /// Adds the addresses of associated token accounts, most of which do not exist.
    fn add_associated(&mut self, token: Pubkey, wallets: &[Pubkey]) {
        let program = Family::Ata.program();
        for mint in self.keys.of(Role::Mint, None) {
            for wallet in wallets {
                let seeds: [&[u8]; 3] = [wallet.as_ref(), token.as_ref(), mint.as_ref()];
                let (associated, _) = Pubkey::find_program_address(&seeds, &program);
                self.keys.add(Role::Associated, associated);
            }
        }
    }
}
