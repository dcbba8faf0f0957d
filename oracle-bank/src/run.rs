//! A run of both chains, and the comparison.

use std::sync::Arc;

use selkie_bank::{BankOptions, Forks, Options, Stakes, State, Step, alpenglow};
use selkie_builtins::vote_account::VoteAccount;
use selkie_svm::{Account, AccountSharedData, FeatureSet, ProgramCache, Pubkey, ReadableAccount};
use sha2::{Digest, Sha256};
use solana_account::WritableAccount;
use solana_hash::Hash;
use solana_sdk_ids::{feature, stake, sysvar};

use crate::{
    agave::{Agave, SLOTS_PER_EPOCH, migrate, put},
    rng::Rng,
};

/// The gates of shorter slots, which may be activated on the way.
const SLOT_TIMES: [Pubkey; 4] = [
    agave_feature_set::reduce_slot_time_to_350ms::ID,
    agave_feature_set::reduce_slot_time_to_300ms::ID,
    agave_feature_set::reduce_slot_time_to_250ms::ID,
    agave_feature_set::reduce_slot_time_to_200ms::ID,
];

/// How a cluster agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Consensus {
    Votes,
    Alpenglow,
    /// Votes, then Alpenglow from this slot on.
    Migrating(u64),
}

fn import(agave: &Agave) -> State {
    let bank = &agave.bank;
    let mut accounts: Vec<_> = bank.get_all_accounts_modified_since_parent();
    accounts.sort_unstable_by_key(|(key, _)| *key);
    State {
        slot: bank.slot(),
        block_height: bank.block_height(),
        hash: Some(bank.hash()),
        features: FeatureSet::mainnet(),
        blockhashes: vec![bank.last_blockhash()],
        lamports_per_signature: bank.get_lamports_per_signature(),
        stakes: Stakes::default(),
        processed: Vec::new(),
        lattice: None,
        accounts,
    }
}

fn sha256(parts: &[&[u8]]) -> Hash {
    let hasher = parts.iter().fold(Sha256::new(), |hasher, part| hasher.chain_update(part));
    Hash::new_from_array(hasher.finalize().into())
}

/// An edit: an account that both chains get.
type Edit = (Pubkey, AccountSharedData);

struct Editor<'a> {
    rng: &'a mut Rng,
    agave: &'a mut Agave,
    epoch: u64,
    /// The epoch of the migration, once it has happened.
    migration: Option<u64>,
}

impl Editor<'_> {
    fn get(&self, key: &Pubkey) -> AccountSharedData {
        self.agave.bank.get_account(key).unwrap_or_default()
    }

    fn edits(&mut self, is_rewarding: bool) -> Vec<Edit> {
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
        edits
    }

    fn vote(&mut self, voter: Pubkey) -> Option<Edit> {
        let mut account = self.get(&voter);
        let mut vote = VoteAccount::read(&voter, account.data())?;
        let mut has_changed = false;
        if self.rng.chance(60) {
            let credits = 1 + self.rng.below(100_000) as u64;
            vote.add_credits(self.epoch, credits, self.migration);
            account.set_data_from_slice(&vote.write(account.data().len())?);
            has_changed = true;
        }
        if self.rng.chance(3) {
            let bps = self.rng.pick(&[0_u16, 1, 333, 5000, 9999, 10_000]);
            account.data_as_mut_slice()[132..134].copy_from_slice(&bps.to_le_bytes());
            has_changed = true;
        }
        if self.rng.chance(2) {
            let most = self.rng.pick(&[25_000_000, 700_000_000, 900_000_000, 5_000_000_000]);
            account.set_lamports(20_000_000 + self.rng.below(most) as u64);
            has_changed = true;
        }
        has_changed.then_some((voter, account))
    }

    fn stake(&mut self, key: Pubkey) -> Option<Edit> {
        let mut account = self.get(&key);
        if account.data().first() != Some(&2) || !self.rng.chance(2) {
            return None;
        }
        let data = account.data_as_mut_slice();
        match self.rng.below(3) {
            0 => data[172..180].copy_from_slice(&self.epoch.to_le_bytes()),
            1 => data[188..196].copy_from_slice(&[0; 8]),
            _ => {
                let lamports = account.lamports();
                account.set_lamports(lamports - self.rng.below(lamports as usize / 2) as u64);
            }
        }
        Some((key, account))
    }

    fn new_stake(&mut self) -> Edit {
        let mut key = [0; 32];
        key.iter_mut().for_each(|byte| *byte = self.rng.below(256) as u8);
        let key = Pubkey::new_from_array(key);
        let voter = self.rng.pick(&self.agave.voters.clone());
        let digits = self.rng.below(12) as u32;
        let amount = 1 + self.rng.below(10_usize.pow(digits)) as u64;
        let credits =
            VoteAccount::read(&voter, self.get(&voter).data()).map_or(0, |it| it.credits());
        let mut data = vec![0; 200];
        data[0] = 2;
        data[124..156].copy_from_slice(voter.as_ref());
        let fields = [(156, amount), (164, self.epoch), (172, u64::MAX), (188, credits)];
        for (offset, number) in fields {
            data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        }
        self.agave.stakes.push(key);
        let lamports = 328 * 5080 + amount;
        let rent_epoch = u64::MAX;
        (key, Account { lamports, data, owner: stake::ID, rent_epoch, executable: false }.into())
    }
}

/// Runs one cluster.
///
/// # Errors
/// If the chains differ: how.
pub(crate) fn run(seed: u64, slots: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed, 1);
    let consensus = match seed % 3 {
        0 => Consensus::Votes,
        1 => Consensus::Alpenglow,
        _ => Consensus::Migrating(SLOTS_PER_EPOCH + 1 + rng.below(150) as u64),
    };
    let mut agave = Agave::new(&mut rng, consensus == Consensus::Alpenglow);
    let options = Options { slot_milliseconds: 400, ..Options::default() };
    let mut forks = Forks::new(import(&agave), Arc::new(ProgramCache::new()), options.clone());
    let mut migration = (consensus == Consensus::Alpenglow).then_some(0);
    let mut slot = 0;
    while slot < slots {
        let parent = slot;
        slot += 1 + if rng.chance(10) { rng.below(5) as u64 } else { 0 };
        let theirs = agave.open(slot);
        let migrates = matches!(consensus, Consensus::Migrating(since) if since <= slot)
            && migration.is_none();
        if migrates {
            migrate(&theirs);
            migration = Some(theirs.epoch());
        }
        let is_alpenglow = migration.is_some();
        let timestamp = (!is_alpenglow || migrates).then(|| theirs.clock().unix_timestamp);
        let step = Step { unix_timestamp: timestamp, migrates, ..Step::default() };
        let bank_options = BankOptions { step, ..BankOptions::default() };
        let ours = forks.new_bank_with(parent, slot, &bank_options).map_err(|it| it.to_string())?;
        compare_stakes(&ours, &theirs, slot)?;

        let rewards = theirs.get_account(&sysvar::epoch_rewards::ID);
        let is_rewarding = rewards.is_some_and(|it| it.data().last() == Some(&1));
        let previous = Arc::clone(&agave.bank);
        let epoch = theirs.epoch();
        let theirs = Arc::new(theirs);
        agave.bank = Arc::clone(&theirs);
        let mut edits =
            Editor { rng: &mut rng, agave: &mut agave, epoch, migration }.edits(is_rewarding);
        agave.bank = previous;
        if parent == 0 && matches!(consensus, Consensus::Migrating(_)) {
            edits.push((alpenglow::GATE, pending()));
        }
        if rng.chance(3) {
            let gate = rng.pick(&SLOT_TIMES);
            if theirs.get_account(&gate).is_none() {
                edits.push((gate, pending()));
            }
        }
        for (key, account) in edits {
            put(&theirs, &key, &account);
            ours.set_account(key, account).map_err(|it| it.to_string())?;
        }
        let parent_hash = agave.bank.last_blockhash();
        let theirs = Arc::into_inner(theirs).expect("no other holds the bank");
        if is_alpenglow {
            let now =
                alpenglow::nanoseconds(&*ours).unwrap_or(timestamp.unwrap_or(0) * 1_000_000_000);
            let footer = now + 1 + rng.below(700_000_000) as i64;
            ours.freeze_at(footer).map_err(|it| it.to_string())?;
            let footer = alpenglow::nanoseconds(&*ours).ok_or("no alpenclock")?;
            agave.close(theirs, Some(footer), sha256(&[parent_hash.as_ref()]));
        } else {
            let blockhash = sha256(&[parent_hash.as_ref(), &slot.to_le_bytes()]);
            ours.freeze_with_blockhash(blockhash).map_err(|it| it.to_string())?;
            agave.close(theirs, None, blockhash);
        }
        compare(&ours, &agave.bank).map_err(|it| format!("{consensus:?}, slot {slot}: {it}"))?;
        if rng.chance(if is_rewarding { 40 } else { 2 }) {
            // Another process continues from what this one exports.
            let state = ours.export().map_err(|it| it.to_string())?;
            forks = Forks::new(state, Arc::new(ProgramCache::new()), options.clone());
        } else {
            forks.set_root(slot).map_err(|it| it.to_string())?;
        }
    }
    Ok(())
}

/// Compares the stakes that programs see.
fn compare_stakes(
    ours: &selkie_bank::Bank,
    theirs: &solana_runtime::bank::Bank,
    slot: u64,
) -> Result<(), String> {
    use selkie_svm::EpochStake;
    let vote_accounts = theirs.get_current_epoch_vote_accounts();
    let vote_accounts = vote_accounts.iter().map(|(key, (stake, _))| (*key, *stake)).collect();
    let total = theirs.get_current_epoch_total_stake();
    let expected = EpochStake { total, vote_accounts };
    let found = &ours.environment().epoch_stake;
    if *found == expected {
        Ok(())
    } else {
        Err(format!("slot {slot}: stake {found:?}, not {expected:?}"))
    }
}

fn pending() -> AccountSharedData {
    let data = vec![0; 9];
    let lamports = 137 * 5080;
    Account { lamports, data, owner: feature::ID, ..Account::default() }.into()
}

fn compare(ours: &selkie_bank::Bank, theirs: &solana_runtime::bank::Bank) -> Result<(), String> {
    let mut differences = Vec::new();
    let accounts = ours.accounts().map_err(|it| it.to_string())?;
    let sum: u64 = accounts.iter().map(|(_, account)| account.lamports()).sum();
    let mut keys: Vec<Pubkey> = accounts.iter().map(|(key, _)| *key).collect();
    let modified = theirs.get_all_accounts_modified_since_parent();
    keys.extend(modified.iter().map(|(key, _)| *key));
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let found = ours.get_account(&key).ok().flatten();
        let expected = theirs.get_account(&key);
        if found != expected {
            differences.push(format!("{key}:\n  {}\n  not\n  {}", show(&found), show(&expected)));
        }
    }
    if sum != theirs.capitalization() {
        differences.push(format!("capitalization {sum}, not {}", theirs.capitalization()));
    }
    if ours.latest_blockhash() != theirs.last_blockhash() {
        differences.push("blockhash".into());
    }
    if ours.hash() != Some(theirs.hash()) {
        differences.push("bank hash".into());
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

fn show(account: &Option<AccountSharedData>) -> String {
    let Some(it) = account else { return "none".into() };
    let data = &it.data()[..it.data().len().min(220)];
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{} lamports, {} bytes {hex}, rent epoch {}",
        it.lamports(),
        it.data().len(),
        it.rent_epoch()
    )
}
