//! The accounts that random instructions use.

use anyhow::Result;
use selkie::{Account, Engine, Pubkey, Svm, address, ids::sysvar, programs};

use super::keys::{Family, Keys, Role};

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
            let account = Account {
                lamports: if index == 4 { 1 } else { LAMPORTS },
                data: vec![0; size],
                owner: token,
                ..Account::default()
            };
            self.svm.set_account(key, account)?;
            self.keys.add(role, key);
        }
        Ok(())
    }

    /// Adds the addresses of associated token accounts, most of which do not exist.
    fn add_associated(&mut self, token: Pubkey, wallets: &[Pubkey]) {
        let program = Family::Ata.program();
        for mint in self.keys.of(Role::Mint) {
            for wallet in wallets {
                let seeds: [&[u8]; 3] = [wallet.as_ref(), token.as_ref(), mint.as_ref()];
                let (associated, _) = Pubkey::find_program_address(&seeds, &program);
                self.keys.add(Role::Associated, associated);
            }
        }
    }
}
