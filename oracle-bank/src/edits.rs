//! What both chains get outside of transactions: credits and terms of validators, and stakes in states that
//! transactions reach seldom or never.

use selkie_bank::alpenglow;
use selkie_builtins::vote_account::VoteAccount;
use selkie_svm::{Account, AccountSharedData, Pubkey, ReadableAccount};
use solana_account::WritableAccount;
use solana_runtime::bank::Bank;
use solana_sdk_ids::{feature, incinerator, stake};
use solana_signer::Signer;

use crate::{
    agave::{Agave, bytes},
    rng::Rng,
};

/// The gates of shorter slots, which may be activated on the way.
const SLOT_TIMES: [Pubkey; 4] = [
    agave_feature_set::reduce_slot_time_to_350ms::ID,
    agave_feature_set::reduce_slot_time_to_300ms::ID,
    agave_feature_set::reduce_slot_time_to_250ms::ID,
    agave_feature_set::reduce_slot_time_to_200ms::ID,
];

/// Gates of inflation, stakes, fees and rent that may be activated on the way.
const OTHER_GATES: [Pubkey; 4] = [
    agave_feature_set::double_disinflation_rate::ID,
    agave_feature_set::remove_inactive_stakes::ID,
    agave_feature_set::block_revenue_sharing::ID,
    agave_feature_set::set_lamports_per_byte_to_2575::ID,
];

/// Where the data of a vote account have collectors, commissions, and the lamports that delegators are still
/// to receive.
const COLLECTORS: [usize; 2] = [68, 100];
const COMMISSIONS: [usize; 2] = [132, 134];
const PENDING: core::ops::Range<usize> = 136..144;

/// An account that both chains get.
pub(crate) type Edit = (Pubkey, AccountSharedData);

/// Makes edits of a bank.
pub(crate) struct Editor<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) agave: &'a mut Agave,
    pub(crate) bank: &'a Bank,
    /// The epoch of the migration, once it has happened.
    pub(crate) migration: Option<u64>,
}

impl Editor<'_> {
    fn get(&self, key: &Pubkey) -> AccountSharedData {
        self.bank.get_account(key).unwrap_or_default()
    }

    pub(crate) fn edits(&mut self, is_rewarding: bool, migrates: bool) -> Vec<Edit> {
        let mut edits = Vec::new();
        for voter in self.agave.voters.clone() {
            edits.extend(self.vote(voter));
        }
        if !is_rewarding {
            for key in self.agave.stakes.clone() {
                edits.extend(self.stake(key));
            }
            if self.rng.chance(10) {
                edits.push(self.new_stake());
            }
        }
        edits.extend(self.gates(migrates).into_iter().map(|gate| (gate, pending())));
        edits
    }

    fn gates(&mut self, migrates: bool) -> Vec<Pubkey> {
        let mut gates = Vec::new();
        if self.bank.parent_slot() == 0 {
            gates.extend(migrates.then_some(alpenglow::GATE));
            let early = OTHER_GATES.into_iter().take(3).filter(|_| self.rng.chance(25));
            gates.extend(early);
        }
        if self.rng.chance(3) {
            gates.push(match self.rng.chance(30) {
                true => self.rng.pick(&OTHER_GATES),
                false => self.rng.pick(&SLOT_TIMES),
            });
        }
        gates.retain(|gate| self.bank.get_account(gate).is_none());
        gates.sort_unstable();
        gates.dedup();
        gates
    }

    fn vote(&mut self, voter: Pubkey) -> Option<Edit> {
        let mut account = self.get(&voter);
        let mut vote = VoteAccount::read(&voter, account.data())?;
        let mut has_changed = false;
        if self.rng.chance(60) {
            let credits = 1 + self.rng.below(100_000) as u64;
            vote.add_credits(self.bank.epoch(), credits, self.migration);
            account.set_data_from_slice(&vote.write(account.data().len())?);
            has_changed = true;
        }
        if self.rng.chance(5) {
            let bps = self.rng.pick(&[0_u16, 1, 333, 5000, 9999, 10_000]);
            let at = self.rng.pick(&COMMISSIONS);
            account.data_as_mut_slice()[at..at + 2].copy_from_slice(&bps.to_le_bytes());
            has_changed = true;
        }
        if self.rng.chance(2) {
            let at = self.rng.pick(&COLLECTORS);
            let collector = self.collector(voter);
            account.data_as_mut_slice()[at..at + 32].copy_from_slice(collector.as_ref());
            has_changed = true;
        }
        if self.rng.chance(2) {
            let most = self.rng.pick(&[25_000_000, 700_000_000, 900_000_000, 5_000_000_000]);
            account.set_lamports(vote.pending_rewards() + 20_000_000 + self.rng.below(most) as u64);
            has_changed = true;
        }
        // Before the gate of SIMD-0123 a vote account may lose what it holds for delegators, on which agave
        // fails later.
        let shares = self.bank.feature_set.is_active(&agave_feature_set::block_revenue_sharing::ID);
        if shares && self.rng.chance(2) {
            let more = self.rng.below(1_000_000_000) as u64;
            account.set_lamports(account.lamports() + more);
            let pending = vote.pending_rewards() + more;
            account.data_as_mut_slice()[PENDING].copy_from_slice(&pending.to_le_bytes());
            has_changed = true;
        }
        has_changed.then_some((voter, account))
    }

    /// Picks who receives commissions: some may not.
    fn collector(&mut self, voter: Pubkey) -> Pubkey {
        match self.rng.below(6) {
            0 | 1 => voter,
            2 => self.agave.wallets[self.rng.below(self.agave.wallets.len())].pubkey(),
            3 => Pubkey::new_from_array(bytes(self.rng)),
            4 => incinerator::ID,
            _ => self.rng.pick(&self.agave.voters.clone()),
        }
    }

    fn stake(&mut self, key: Pubkey) -> Option<Edit> {
        let mut account = self.get(&key);
        if account.data().first() != Some(&2) || !self.rng.chance(1) {
            return None;
        }
        let data = account.data_as_mut_slice();
        match self.rng.below(3) {
            0 => data[172..180].copy_from_slice(&self.bank.epoch().to_le_bytes()),
            1 => data[188..196].copy_from_slice(&[0; 8]),
            _ => {
                let lamports = account.lamports();
                account.set_lamports(lamports - self.rng.below(lamports as usize / 2) as u64);
            }
        }
        Some((key, account))
    }

    fn new_stake(&mut self) -> Edit {
        let key = Pubkey::new_from_array(bytes(self.rng));
        let voter = self.rng.pick(&self.agave.voters.clone());
        let digits = self.rng.below(12) as u32;
        let amount = 1 + self.rng.below(10_usize.pow(digits)) as u64;
        let credits =
            VoteAccount::read(&voter, self.get(&voter).data()).map_or(0, |it| it.credits());
        let mut data = vec![0; 200];
        data[0] = 2;
        data[124..156].copy_from_slice(voter.as_ref());
        let fields = [(156, amount), (164, self.bank.epoch()), (172, u64::MAX), (188, credits)];
        for (offset, number) in fields {
            data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        }
        self.agave.stakes.push(key);
        let lamports = 328 * 5080 + amount;
        let rent_epoch = u64::MAX;
        (key, Account { lamports, data, owner: stake::ID, rent_epoch, executable: false }.into())
    }
}

/// A feature that becomes active in the next epoch.
fn pending() -> AccountSharedData {
    let data = vec![0; 9];
    let lamports = 137 * 5080;
    Account { lamports, data, owner: feature::ID, ..Account::default() }.into()
}
