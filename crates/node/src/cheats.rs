//! Cheatcodes: changes that no transaction makes. Each edit of accounts is a block of its own.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use selkie_bank::Bank;
use selkie_ledger::dump;
use selkie_programs::{
    Deployed, program_accounts,
    token::{TokenEdit, edit_associated_account},
};
use selkie_svm::{Loader, Purpose, check_file, cost::ACCOUNT_BYTES_MAX};
use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_pubkey::Pubkey;

use crate::{
    error::NodeError,
    genesis::feature_account,
    node::Node,
    options::BlockMode,
    producer::Producer,
    scheduled::ScheduledEdit,
    timeline::Moment,
    view::{EpochInfo, View},
};

/// How many edits wait for their slots at most.
const SCHEDULED_MAX: usize = 10_000;

/// How many bytes they hold at most.
const SCHEDULED_BYTES_MAX: usize = 64 << 20;

/// How many blocks are mined at once at most.
const MINED_MAX: u64 = 10_000;

/// The last slot that can be travelled to, and the last timestamp: the end of the year 9999.
const SLOT_MAX: u64 = 1 << 48;
const TIMESTAMP_MAX: i64 = 253_402_300_799;

/// Where a cluster travels in time. Slots, epochs and the clock move together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Travel {
    /// To a slot.
    Slot(u64),
    /// To the first slot of an epoch.
    Epoch(u64),
    /// To a Unix timestamp, in seconds.
    Timestamp(i64),
    /// To a slot, at a Unix timestamp in seconds.
    SlotAt(u64, i64),
}

impl Node {
    /// Sets an account; one with 0 lamports is deleted. Returns the slot of the block.
    ///
    /// # Errors
    /// As [`Node::set_accounts`].
    pub fn set_account(
        &self,
        key: Pubkey,
        account: impl Into<AccountSharedData>,
    ) -> Result<u64, NodeError> {
        self.set_accounts(vec![(key, account.into())])
    }

    /// Sets accounts in one block; those with 0 lamports are deleted.
    ///
    /// # Errors
    /// If the data of one are longer than any account's, or the node cannot make a block.
    pub fn set_accounts(
        &self,
        accounts: Vec<(Pubkey, AccountSharedData)>,
    ) -> Result<u64, NodeError> {
        self.call(move |producer| producer.edit(accounts))
    }

    /// Sets the lamports of an account, creating it if it does not exist.
    ///
    /// # Errors
    /// If the node cannot make a block.
    pub fn set_balance(&self, key: Pubkey, lamports: u64) -> Result<u64, NodeError> {
        self.call(move |producer| {
            producer.edit_of(|bank| {
                let mut account = bank.get_account(&key)?.unwrap_or_default();
                account.set_lamports(lamports);
                Ok(vec![(key, account)])
            })
        })
    }

    /// Changes the token account that an owner has of a mint at the associated address, creating it if
    /// it does not exist, and the mint's supply with it. Returns its address.
    ///
    /// # Errors
    /// If no token program could make such an account, or the node cannot make a block.
    pub fn set_token_account(&self, edit: TokenEdit) -> Result<Pubkey, NodeError> {
        self.call(move |producer| {
            let mut address = Pubkey::default();
            producer.edit_of(|bank: &Bank| {
                let written = edit_associated_account(&edit, bank, &bank.environment().rent());
                let written = written.map_err(|error| NodeError::Account(error.to_string()))?;
                address = written.address;
                Ok(written.accounts)
            })?;
            Ok(address)
        })
    }

    /// Deploys a program of loader v3, replacing any that is there. It can be invoked from the next
    /// block on.
    ///
    /// # Errors
    /// If the file cannot be executed, or the node cannot make a block.
    pub fn set_program(
        &self,
        id: Pubkey,
        elf: Vec<u8>,
        authority: Option<Pubkey>,
    ) -> Result<u64, NodeError> {
        self.call(move |producer| {
            let features = producer.tip.features();
            check_file(&elf, features, Purpose::Execution)
                .map_err(|refused| NodeError::Program(refused.error.to_string()))?;
            let slot = producer.tip.slot();
            let deployed = Deployed { loader: Loader::V3, slot, authority: authority.as_ref() };
            let rent = producer.tip.environment().rent();
            producer.edit(program_accounts(&id, &elf, &deployed, &rent))
        })
    }

    /// Travels forward in time. Returns where the cluster is afterwards.
    ///
    /// # Errors
    /// If the destination is not after the current slot or time.
    pub fn travel(&self, to: Travel) -> Result<EpochInfo, NodeError> {
        self.call(move |producer| {
            producer.travel(to)?;
            producer.apply_scheduled()
        })?;
        Ok(self.view(solana_commitment_config::CommitmentLevel::Processed).epoch_info())
    }

    /// Stops the cluster's clock. Blocks are still made, one slot after the other, at the same time.
    ///
    /// # Errors
    /// If the node was stopped.
    pub fn pause_clock(&self) -> Result<(), NodeError> {
        self.set_paused(true)
    }

    /// Lets the clock continue from where it was stopped.
    ///
    /// # Errors
    /// If the node was stopped.
    pub fn resume_clock(&self) -> Result<(), NodeError> {
        self.set_paused(false)
    }

    fn set_paused(&self, is_paused: bool) -> Result<(), NodeError> {
        self.call(move |producer| {
            producer.time.pause(is_paused);
            producer.schedule_tick();
            Ok(())
        })
    }

    /// Changes when blocks are made.
    ///
    /// # Errors
    /// If the node was stopped.
    pub fn set_block_mode(&self, mode: BlockMode) -> Result<(), NodeError> {
        self.call(move |producer| {
            producer.mode = mode;
            producer.block(Vec::new(), false)?;
            producer.schedule_tick();
            Ok(())
        })
    }

    /// Makes up to 10,000 blocks now, the first of them with all transactions that wait. Returns the slot of the
    /// last one.
    ///
    /// # Errors
    /// If the node cannot make a block.
    pub fn mine(&self, blocks: u64) -> Result<u64, NodeError> {
        self.call(move |producer| {
            for _ in 0..blocks.min(MINED_MAX) {
                let slot = producer.time.next(producer.tip.slot()).slot;
                producer.block_at(Moment { slot, counts: true }, Vec::new(), true)?;
            }
            Ok(producer.tip.slot())
        })
    }

    /// Takes a snapshot of the state, history and time. Returns its number.
    ///
    /// # Errors
    /// If there are too many.
    pub fn snapshot(&self) -> Result<u64, NodeError> {
        self.call(Producer::snapshot)
    }

    /// Returns to a snapshot; it and later ones are dropped. The cost depends on what has changed since
    /// then. Returns the slot.
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn revert(&self, id: u64) -> Result<u64, NodeError> {
        self.call(move |producer| producer.revert(id))
    }

    /// Drops a snapshot.
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn drop_snapshot(&self, id: u64) -> Result<(), NodeError> {
        self.call(move |producer| producer.drop_snapshot(id))
    }

    /// Says whether a signer's signatures are not checked.
    ///
    /// # Errors
    /// None, so far.
    pub fn impersonate(&self, key: Pubkey, on: bool) -> Result<(), NodeError> {
        let mut impersonated = self.impersonated();
        if on {
            impersonated.keys.insert(key);
        } else {
            impersonated.keys.remove(&key);
        }
        Ok(())
    }

    /// Says whether no signature is checked.
    ///
    /// # Errors
    /// None, so far.
    pub fn impersonate_all(&self, on: bool) -> Result<(), NodeError> {
        self.impersonated().all = on;
        Ok(())
    }

    fn impersonated(&self) -> std::sync::RwLockWriteGuard<'_, crate::impersonation::Impersonated> {
        let impersonated = self.shared().impersonated.write();
        impersonated.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Activates a feature in the first block at or after a slot.
    ///
    /// # Errors
    /// If the node cannot make a block.
    pub fn set_feature(&self, feature: Pubkey, slot: u64) -> Result<(), NodeError> {
        self.call(move |producer| {
            let rent = producer.tip.environment().rent();
            let since = slot.max(producer.tip.slot().saturating_add(2));
            producer.edit(vec![(feature, feature_account(since, &rent))])?;
            producer.feature_slots.push(since);
            Ok(())
        })
    }

    /// Returns to the genesis. Returns the slot.
    ///
    /// # Errors
    /// If the node cannot make a block.
    pub fn reset(&self) -> Result<u64, NodeError> {
        self.call(Producer::reset)
    }

    /// Writes the whole state, history included, as text.
    ///
    /// # Errors
    /// If writing fails.
    pub fn dump(&self, to: &mut dyn Write) -> Result<(), NodeError> {
        let dump = self.call(|producer| producer.dump())?;
        Ok(dump::write(&dump, to)?)
    }

    /// Replaces the whole state by that of a dump. Returns the slot.
    ///
    /// # Errors
    /// If the dump is incomplete, malformed, or of a newer version.
    pub fn load(&self, from: &mut dyn Read) -> Result<u64, NodeError> {
        let dump = dump::read(from)?;
        self.call(move |producer| producer.load(dump))
    }
}

impl Producer {
    /// Makes a block that sets accounts, besides the transactions that wait.
    pub(crate) fn edit(
        &mut self,
        accounts: Vec<(Pubkey, AccountSharedData)>,
    ) -> Result<u64, NodeError> {
        let too_long = accounts.iter().find(|(_, it)| it.data().len() > ACCOUNT_BYTES_MAX);
        if let Some((key, account)) = too_long {
            let bytes = account.data().len();
            return Err(NodeError::Account(format!(
                "the data of {key} have {bytes} bytes, more than the {ACCOUNT_BYTES_MAX} of the largest account"
            )));
        }
        self.block(accounts, true)?;
        Ok(self.tip.slot())
    }

    fn travel(&mut self, to: Travel) -> Result<(), NodeError> {
        let now = self.tip.slot();
        let schedule = self.tip.environment().sysvars.epoch_schedule().unwrap_or_default();
        let at = match to {
            Travel::SlotAt(_, timestamp) => Some(timestamp),
            _ => None,
        };
        let slot = match to {
            Travel::Slot(slot) => slot,
            Travel::Epoch(epoch) => schedule.get_first_slot_in_epoch(epoch),
            Travel::Timestamp(to) => return self.travel_to_timestamp(to),
            Travel::SlotAt(slot, _) => slot,
        };
        let slots = slot.checked_sub(now).filter(|slots| *slots > 0);
        let (from, to) = (now.cast_signed(), slot.cast_signed());
        let slots = slots.ok_or(NodeError::TimeGoesBack { now: from, to })?;
        if let Some(at) = at {
            let passed = self.milliseconds_until(at)?;
            return match slot > SLOT_MAX {
                true => Err(NodeError::TooFar { slot: SLOT_MAX, timestamp: TIMESTAMP_MAX }),
                false => self.jump(slots, passed),
            };
        }
        let timestamp = self.time.timestamp();
        let seconds = (self.time.milliseconds_of(slots) / 1000).cast_signed();
        if slot > SLOT_MAX || timestamp.saturating_add(seconds) > TIMESTAMP_MAX {
            return Err(NodeError::TooFar { slot: SLOT_MAX, timestamp: TIMESTAMP_MAX });
        }
        self.jump(slots, self.time.milliseconds_of(slots))
    }

    fn travel_to_timestamp(&mut self, to: i64) -> Result<(), NodeError> {
        let passed = self.milliseconds_until(to)?;
        let slots = passed.checked_div(self.time.milliseconds_of(1)).unwrap_or(0).max(1);
        self.jump(slots, passed)
    }

    /// Returns how far a Unix timestamp is away.
    fn milliseconds_until(&self, to: i64) -> Result<u64, NodeError> {
        let now = self.time.now();
        let wanted = u64::try_from(to).unwrap_or(0).saturating_mul(1000);
        let passed = wanted.checked_sub(now).filter(|passed| *passed > 0);
        let back = NodeError::TimeGoesBack { now: self.time.timestamp(), to };
        let passed = passed.ok_or(back)?;
        if to > TIMESTAMP_MAX {
            return Err(NodeError::TooFar { slot: SLOT_MAX, timestamp: TIMESTAMP_MAX });
        }
        Ok(passed)
    }

    /// Makes the next block `slots` later, after a time in milliseconds.
    fn jump(&mut self, slots: u64, milliseconds: u64) -> Result<(), NodeError> {
        self.time.skip(milliseconds);
        let slot = self.tip.slot().saturating_add(slots);
        self.block_at(Moment { slot, counts: true }, Vec::new(), true)?;
        self.time.restart(self.time.now());
        self.schedule_tick();
        self.open_again()
    }
}

impl View {
    /// Returns the data of an account, empty if it does not exist.
    #[must_use]
    pub fn data(&self, key: &Pubkey) -> Vec<u8> {
        self.account(key).map(|account| account.data().to_vec()).unwrap_or_default()
    }
}

impl Node {
    /// Lets edits wait for their slots. Those whose slot has come are made in a block of their own, in the order in which
    /// they were scheduled, before transactions that wait. A reset drops what waits. At most 10,000 edits wait, and the
    /// memory that they hold is at most 64 MiB.
    ///
    /// # Errors
    /// If too many edits wait, or the node cannot make a block.
    pub fn schedule(&self, edits: Vec<ScheduledEdit>) -> Result<(), NodeError> {
        self.call(move |producer| {
            let all = || producer.scheduled.iter().chain(&edits);
            let bytes = all().fold(0, |sum: usize, it| sum.saturating_add(it.bytes));
            if all().count() > SCHEDULED_MAX || bytes > SCHEDULED_BYTES_MAX {
                let text = format!(
                    "at most {SCHEDULED_MAX} edits of {SCHEDULED_BYTES_MAX} bytes wait for their slots"
                );
                return Err(NodeError::Account(text));
            }
            producer.scheduled.extend(edits);
            producer.apply_scheduled()?;
            producer.schedule_tick();
            Ok(())
        })
    }
}

impl Producer {
    /// Makes a block of the edits whose slot has come, before what waits for one.
    pub(crate) fn apply_scheduled(&mut self) -> Result<(), NodeError> {
        if self.scheduled.is_empty() {
            return Ok(());
        }
        let moment = self.next_moment();
        let is_due = |it: &mut ScheduledEdit| it.slot <= moment.slot;
        let due: Vec<ScheduledEdit> = self.scheduled.extract_if(.., is_due).collect();
        let mut accounts = BTreeMap::new();
        for ScheduledEdit { key, edit, .. } in due {
            let account = match accounts.get(&key) {
                Some(edited) => AccountSharedData::clone(edited),
                None => self.tip.get_account(&key)?.unwrap_or_default(),
            };
            accounts.extend(edit(account).map(|edited| (key, edited)));
        }
        if accounts.is_empty() {
            return Ok(());
        }
        let waiting = (core::mem::take(&mut self.queue), core::mem::take(&mut self.retries));
        let made = self.block_at(moment, accounts.into_iter().collect(), true);
        (self.queue, self.retries) = waiting;
        made.map(drop)
    }
}
