//! A stake pool over five epochs: two validators, two depositors, and what a share is worth, to the lamport.
//! `cargo run -p selkie --example stake_pool`; `crates/selkie/tests/rewards.rs` runs it as a test.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;

use selkie::{
    Account, AccountMeta, Instruction, Keypair, Pubkey, Signer, Svm, ids, keypair, system,
};

const SOL: u64 = 1_000_000_000;
const STAKE_BYTES: usize = 200;
const VOTE_BYTES: usize = 3762;

/// A stake pool. A depositor receives shares at their current price, and the manager delegates the deposit to
/// a validator.
struct Pool {
    svm: Svm,
    manager: Keypair,
    stakes: Vec<Pubkey>,
    shares: u64,
}

impl Pool {
    fn new() -> Result<Self, Box<dyn Error>> {
        let mut svm = Svm::new();
        let manager = keypair("manager");
        svm.airdrop(&manager.pubkey(), 10_000 * SOL)?;
        Ok(Self { svm, manager, stakes: Vec::new(), shares: 0 })
    }

    /// Returns the lamports that are staked: those of the stake accounts without their rent.
    fn staked(&self) -> u64 {
        let rent = self.svm.minimum_balance_for_rent_exemption(STAKE_BYTES);
        self.stakes.iter().map(|stake| self.svm.balance(stake) - rent).sum()
    }

    /// Stakes lamports with a validator. Returns the shares, rounded down.
    fn deposit(&mut self, vote: &Pubkey, lamports: u64) -> Result<u64, Box<dyn Error>> {
        let shares = match self.staked() {
            0 => lamports,
            staked => {
                u64::try_from(u128::from(lamports) * u128::from(self.shares) / u128::from(staked))?
            }
        };
        let stake = keypair(&format!("stake {}", self.stakes.len()));
        let (manager, key) = (self.manager.pubkey(), stake.pubkey());
        let rent = self.svm.minimum_balance_for_rent_exemption(STAKE_BYTES);
        let bytes = STAKE_BYTES as u64;
        let create =
            system::create_account(&manager, &key, lamports + rent, bytes, &ids::stake::ID);
        // The manager is staker and withdrawer; there is no lockup.
        let authorities = [manager.as_ref(), manager.as_ref(), &[0; 48]].concat();
        let initialize = stake_instruction(0, &authorities, &[key], &[ids::sysvar::rent::ID]);
        let read = [
            *vote,
            ids::sysvar::clock::ID,
            ids::sysvar::stake_history::ID,
            // The former stake config account, which is not read.
            ids::sysvar::clock::ID,
        ];
        let mut delegate = stake_instruction(2, &[], &[key], &read);
        delegate.accounts.push(AccountMeta::new_readonly(manager, true));
        self.svm.send_instructions(&[create, initialize, delegate], &[&self.manager, &stake])?;
        self.stakes.push(key);
        self.shares += shares;
        Ok(shares)
    }

    /// Returns what some shares are worth, in lamports.
    fn worth(&self, shares: u64) -> u64 {
        let worth = u128::from(shares) * u128::from(self.staked()) / u128::from(self.shares);
        u64::try_from(worth).unwrap_or(u64::MAX)
    }
}

/// Returns an instruction of the stake program.
fn stake_instruction(number: u32, data: &[u8], write: &[Pubkey], read: &[Pubkey]) -> Instruction {
    let write = write.iter().map(|key| AccountMeta::new(*key, false));
    let read = read.iter().map(|key| AccountMeta::new_readonly(*key, false));
    let data = [&number.to_le_bytes()[..], data].concat();
    Instruction { program_id: ids::stake::ID, accounts: write.chain(read).collect(), data }
}

/// Sets a vote account with a commission in basis points, which it keeps itself. It has a BLS key, and
/// lamports to pay for its admission to each epoch.
fn validator(svm: &mut Svm, name: &str, commission: u16) -> Result<Pubkey, Box<dyn Error>> {
    let key = keypair(name).pubkey();
    let mut data = vec![0; VOTE_BYTES];
    data[0] = 3;
    data[68..100].copy_from_slice(key.as_ref());
    data[132..134].copy_from_slice(&commission.to_le_bytes());
    data[144] = 1;
    let account = Account { lamports: 100 * SOL, data, owner: ids::vote::ID, ..Account::default() };
    svm.set_account(key, account)?;
    Ok(key)
}

/// Returns the reward of a stake among all those of a validator, without the commission in basis points.
fn reward(earned: u64, stake: u64, all: u64, commission: u128) -> u64 {
    let share = u128::from(earned) * u128::from(stake) / u128::from(all);
    u64::try_from(share * (10_000 - commission) / 10_000).unwrap_or(u64::MAX)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut pool = Pool::new()?;
    let cheap = validator(&mut pool.svm, "cheap", 500)?;
    let dear = validator(&mut pool.svm, "dear", 1000)?;
    let alice = pool.deposit(&cheap, 1500 * SOL)?;
    let bob = pool.deposit(&dear, 500 * SOL)?;
    // Stakes are effective from the next epoch on.
    pool.svm.warp_to_epoch(1)?;

    // What each stake account holds besides its rent.
    let mut stakes = vec![1500 * SOL, 500 * SOL];
    let mut carol = 0;
    for epoch in 1..=5 {
        // What the validators earn with their votes, in lamports.
        let (of_cheap, of_dear) = (2_000_003 * epoch, 1_000_001 * epoch);
        pool.svm.increment_vote_account_credits(&cheap, of_cheap)?;
        pool.svm.increment_vote_account_credits(&dear, of_dear)?;
        let effective = stakes.clone();
        if epoch == 3 {
            // Effective from epoch 4 on.
            carol = pool.deposit(&dear, 1000 * SOL)?;
            stakes.push(1000 * SOL);
        }
        pool.svm.warp_to_epoch(epoch + 1)?;

        stakes[0] += reward(of_cheap, 1, 1, 500);
        let all: u64 = effective[1..].iter().sum();
        for (stake, effective) in stakes[1..].iter_mut().zip(&effective[1..]) {
            *stake += reward(of_dear, *effective, all, 1000);
        }
        assert_eq!(pool.staked(), stakes.iter().sum::<u64>(), "epoch {epoch}");
        println!("epoch {epoch}: a billion shares are worth {} lamports", pool.worth(SOL));
    }
    // What was deposited and earned belongs to the three, up to a lamport each.
    let all: u64 = [alice, bob, carol].map(|shares| pool.worth(shares)).iter().sum();
    assert!(pool.staked() - all < 3);
    assert!(pool.worth(alice) > 1500 * SOL && pool.worth(carol) > 1000 * SOL);
    Ok(())
}
