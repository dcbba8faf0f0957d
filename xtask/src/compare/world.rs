//! The accounts that random instructions use.

use anyhow::{Context as _, Result};
use selkie::{
    Account, AccountMeta, Engine, Instruction, Pubkey, Svm, address, ids::sysvar, programs,
};

use super::{
    extensions::{self, Chosen, EXTENSIONS, Extension},
    keys::{Family, Keys, Role},
};

/// A chain with the program under test, and accounts of every kind.
pub(super) struct World {
    pub(super) svm: Svm,
    pub(super) keys: Keys,
}

const LAMPORTS: u64 = 100_000_000;

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
        world.add_fresh(family.token())?;
        if family == Family::Token2022 {
            world.add_proof(&wallets[0])?;
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

    /// Adds mints, and accounts of each wallet for them.
    fn add_tokens(&mut self, token: Pubkey, wallets: &[Pubkey]) -> Result<()> {
        for number in 0..2 {
            let mint = address(&format!("mint {number}"));
            self.svm.set_mint(mint, &token, &wallets[number], 6)?;
            self.keys.add(Role::Mint, mint);
            for index in 0..3 {
                let wallet = &wallets[index % wallets.len()];
                let account = address(&format!("account {number} {index}"));
                let amount = if index == 2 { 0 } else { 1000 };
                self.svm.set_token_account(account, &token, &mint, wallet, amount)?;
                self.keys.add(Role::Account, account);
            }
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

    /// Adds an account with the proof of an ElGamal key, as the proof program would have written it.
    fn add_proof(&mut self, authority: &Pubkey) -> Result<()> {
        const KEY_IS_VALID: u8 = 4;
        let key = address("proof");
        let data = [&authority.to_bytes()[..], &[KEY_IS_VALID], &[7; 32]].concat();
        self.put(key, selkie::ids::zk_elgamal_proof_program::ID, data, LAMPORTS)?;
        self.keys.add(Role::Proof, key);
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
        for (owner, wallet) in wallets.iter().enumerate() {
            let account = address(&format!("account {owner} with extension {index}"));
            self.put(account, token, vec![0; extensions::ACCOUNT_LEN], LAMPORTS)?;
            self.keys.add_extended(Role::Account, number, account);
            let of_mint = AccountMeta::new(mint, false);
            let data = [&[18], &wallet.to_bytes()[..]].concat();
            self.run(data, &[AccountMeta::new(account, false), of_mint.clone()])?;
            if extension.has_plain_amounts() {
                let data = [&[7], &1000_u64.to_le_bytes()[..]].concat();
                let authority = AccountMeta::new_readonly(wallets[0], true);
                self.run(data, &[of_mint, AccountMeta::new(account, false), authority])?;
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
