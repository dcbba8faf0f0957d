//! Tower rules: lockouts that double with each later vote, and credits for votes that become root.

use selkie_layout::vote::{Lockout, Tower, Vote};

use super::{
    error::VoteError,
    state::VoteState,
    votes::{CONFIRMATIONS_MAX, LandedVote, last_locked_out},
};

/// The maximum number of votes above the root.
const LOCKOUTS_MAX: usize = 31;
/// The maximum number of epochs whose credits are kept.
const EPOCH_CREDITS_MAX: usize = 64;
/// The highest latency in slots that earns all credits.
const CREDITS_GRACE_SLOTS: u8 = 2;
/// The credits of a vote within the grace period.
const CREDITS_MAX: u8 = 16;

/// A slot and its hash.
pub(super) type SlotHash = (u64, [u8; 32]);

/// The epoch and slot in which a vote lands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) epoch: u64,
    pub(super) slot: u64,
}

fn latency(slot: u64, now: Now) -> u8 {
    u8::try_from(now.slot.saturating_sub(slot)).unwrap_or(u8::MAX)
}

impl VoteState {
    /// Applies votes one by one. `hashes` are the slot hashes, newest first.
    pub(super) fn vote(
        &mut self,
        vote: &Vote,
        hashes: &[SlotHash],
        now: Now,
    ) -> Result<(), VoteError> {
        if vote.slots.is_empty() {
            return Err(VoteError::EmptySlots);
        }
        let earliest = hashes.last().map_or(0, |(slot, _)| *slot);
        let slots: Vec<_> = vote.slots.iter().copied().filter(|slot| *slot >= earliest).collect();
        if slots.is_empty() {
            return Err(VoteError::VotesTooOldAllFiltered);
        }
        self.check_slots(&slots, &vote.hash, hashes)?;
        for slot in slots {
            self.vote_for(slot, now);
        }
        match (vote.timestamp, vote.slots.iter().max()) {
            (Some(timestamp), Some(last)) => self.set_timestamp(*last, timestamp),
            _ => Ok(()),
        }
    }

    fn last_voted_slot(&self) -> Option<u64> {
        self.votes.back().map(|vote| vote.lockout.slot)
    }

    /// Checks that the slots after the last vote are on this fork, and that the newest one has this
    /// hash.
    fn check_slots(
        &self,
        slots: &[u64],
        hash: &[u8; 32],
        hashes: &[SlotHash],
    ) -> Result<(), VoteError> {
        let last = self.last_voted_slot();
        let mut remaining = slots.iter().peekable();
        let mut oldest_first = hashes.iter().rev();
        let mut newest = None;
        while let Some(slot) = remaining.peek() {
            if last.is_some_and(|last| **slot <= last) && oldest_first.len() > 0 {
                remaining.next();
                continue;
            }
            let Some(known) = oldest_first.next() else { break };
            if known.0 == **slot {
                remaining.next();
            }
            newest = Some(known);
        }
        let (_, known) = newest.ok_or(VoteError::VoteTooOld)?;
        if remaining.peek().is_some() {
            return Err(VoteError::SlotsMismatch);
        }
        if known == hash { Ok(()) } else { Err(VoteError::SlotHashMismatch) }
    }

    fn vote_for(&mut self, slot: u64, now: Now) {
        if self.last_voted_slot().is_some_and(|last| slot <= last) {
            return;
        }
        while self.votes.back().is_some_and(|vote| last_locked_out(vote.lockout) < slot) {
            self.votes.pop_back();
        }
        if self.votes.len() == LOCKOUTS_MAX
            && let Some(rooted) = self.votes.pop_front()
        {
            self.root = Some(rooted.lockout.slot);
            self.add_credits(now.epoch, rooted.credits());
        }
        let lockout = Lockout { slot, confirmation_count: 1 };
        self.votes.push_back(LandedVote { latency: latency(slot, now), lockout });
        let depth = self.votes.len();
        for (index, LandedVote { lockout, .. }) in self.votes.iter_mut().enumerate() {
            // A vote is confirmed again only once the stack above it exceeds its confirmations.
            let confirmed = usize::try_from(lockout.confirmation_count).unwrap_or(usize::MAX);
            if depth > index.saturating_add(confirmed) {
                lockout.confirmation_count = lockout.confirmation_count.saturating_add(1);
            }
        }
    }

    /// Replaces the votes by a tower that the validator sent, after checking it.
    pub(super) fn update(
        &mut self,
        mut tower: Tower,
        hashes: &[SlotHash],
        now: Now,
    ) -> Result<(), VoteError> {
        self.check_and_filter(&mut tower, hashes)?;
        self.replace(tower, now)
    }

    /// Checks that a tower is on this fork, as far back as the slot hashes go. Older votes are
    /// dropped from the tower unless this state has them too.
    fn check_and_filter(&self, tower: &mut Tower, hashes: &[SlotHash]) -> Result<(), VoteError> {
        self.check_age(tower, hashes)?;
        let (kept, newest) = self.match_slots(tower, hashes)?;
        // The last slot is not too old, so the loop ended with its slot hash.
        if hashes.get(newest).is_none_or(|(_, hash)| *hash != tower.hash) {
            return Err(VoteError::SlotHashMismatch);
        }
        tower.lockouts = kept;
        Ok(())
    }

    /// Checks that the tower is newer than this state and the oldest slot hash. A root older than
    /// all slot hashes becomes the newest known slot that is not newer than it.
    fn check_age(&self, tower: &mut Tower, hashes: &[SlotHash]) -> Result<(), VoteError> {
        let last = tower.lockouts.last().ok_or(VoteError::EmptySlots)?.slot;
        if self.last_voted_slot().is_some_and(|voted| last <= voted) {
            return Err(VoteError::VoteTooOld);
        }
        let earliest = hashes.last().ok_or(VoteError::SlotsMismatch)?.0;
        if last < earliest {
            return Err(VoteError::VoteTooOld);
        }
        if let Some(root) = tower.root
            && root < earliest
        {
            let voted = self.votes.iter().rev().map(|vote| vote.lockout.slot);
            tower.root = voted.into_iter().find(|slot| *slot <= root).or(self.root);
        }
        Ok(())
    }

    /// Walks the tower, root first, and the slot hashes, oldest first, in step. Returns the lockouts
    /// to keep, and the index of the slot hash that matched the last one.
    fn match_slots(
        &self,
        tower: &Tower,
        hashes: &[SlotHash],
    ) -> Result<(Vec<Lockout>, usize), VoteError> {
        let mut root = tower.root;
        let mut unknown = hashes.len();
        let mut kept = Vec::with_capacity(tower.lockouts.len());
        let mut previous: Option<u64> = None;
        let mut remaining = tower.lockouts.iter().peekable();
        while let Some(lockout) = remaining.peek()
            && unknown > 0
        {
            let slot = root.unwrap_or(lockout.slot);
            if root.is_none() && previous.is_some_and(|previous| slot <= previous) {
                return Err(VoteError::SlotsNotOrdered);
            }
            let known = hashes.get(unknown.saturating_sub(1)).map_or(0, |(slot, _)| *slot);
            if slot > known {
                unknown = unknown.saturating_sub(1);
                continue;
            }
            let is_too_old = slot < known;
            if is_too_old && unknown < hashes.len() {
                return Err(match root {
                    Some(_) => VoteError::RootOnDifferentFork,
                    None => VoteError::SlotsMismatch,
                });
            }
            if root.take().is_some() {
                continue;
            }
            if !is_too_old {
                unknown = unknown.saturating_sub(1);
            }
            if !is_too_old || self.has_voted_for(slot) {
                kept.push(**lockout);
            }
            previous = Some(slot);
            remaining.next();
        }
        if remaining.peek().is_some() {
            return Err(VoteError::SlotsMismatch);
        }
        Ok((kept, unknown))
    }

    fn has_voted_for(&self, slot: u64) -> bool {
        self.votes.binary_search_by(|vote| vote.lockout.slot.cmp(&slot)).is_ok()
    }

    fn replace(&mut self, tower: Tower, now: Now) -> Result<(), VoteError> {
        if tower.lockouts.len() > LOCKOUTS_MAX {
            return Err(VoteError::TooManyVotes);
        }
        let rolls_back = match (tower.root, self.root) {
            (Some(new), Some(current)) => new < current,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if rolls_back {
            return Err(VoteError::RootRollBack);
        }
        check_order(&tower)?;
        let rooted = match tower.root {
            Some(root) => self.votes.iter().take_while(|vote| vote.lockout.slot <= root).count(),
            None => 0,
        };
        let credits = self.votes.iter().take(rooted).map(|vote| vote.credits()).sum();
        let mut votes: Vec<_> =
            tower.lockouts.iter().map(|it| LandedVote { latency: 0, lockout: *it }).collect();
        self.carry_over(rooted, &mut votes)?;
        for vote in votes.iter_mut().filter(|vote| vote.latency == 0) {
            vote.latency = latency(vote.lockout.slot, now);
        }
        if self.root != tower.root {
            self.add_credits(now.epoch, credits);
        }
        if let (Some(timestamp), Some(last)) = (tower.timestamp, votes.last()) {
            self.set_timestamp(last.lockout.slot, timestamp)?;
        }
        self.root = tower.root;
        self.votes = votes.into();
        Ok(())
    }

    /// Checks that each vote that the new tower lacks has expired, and that no lockout of the others
    /// shrinks. Copies their latencies into `votes`.
    fn carry_over(&self, rooted: usize, votes: &mut [LandedVote]) -> Result<(), VoteError> {
        let mut current = self.votes.iter().skip(rooted).peekable();
        let mut new = votes.iter_mut().peekable();
        while let (Some(old), Some(vote)) = (current.peek(), new.peek_mut()) {
            if old.lockout.slot > vote.lockout.slot {
                new.next();
            } else if old.lockout.slot < vote.lockout.slot {
                if last_locked_out(old.lockout) >= vote.lockout.slot {
                    return Err(VoteError::LockoutConflict);
                }
                current.next();
            } else {
                if vote.lockout.confirmation_count < old.lockout.confirmation_count {
                    return Err(VoteError::ConfirmationRollBack);
                }
                vote.latency = old.latency;
                current.next();
                new.next();
            }
        }
        Ok(())
    }

    fn add_credits(&mut self, epoch: u64, credits: u64) {
        match self.epoch_credits.last_mut() {
            None => self.epoch_credits.push((epoch, 0, 0)),
            Some((last, ..)) if *last == epoch => {}
            Some((last, total, before)) => {
                if total == before {
                    *last = epoch;
                } else {
                    let total = *total;
                    self.epoch_credits.push((epoch, total, total));
                }
                if self.epoch_credits.len() > EPOCH_CREDITS_MAX {
                    self.epoch_credits.remove(0);
                }
            }
        }
        if let Some((_, total, _)) = self.epoch_credits.last_mut() {
            *total = total.saturating_add(credits);
        }
    }

    fn set_timestamp(&mut self, slot: u64, timestamp: i64) -> Result<(), VoteError> {
        let (last_slot, last_timestamp) = self.last_timestamp;
        let is_older = slot < last_slot || timestamp < last_timestamp;
        let is_other = slot == last_slot && timestamp != last_timestamp && last_slot != 0;
        if is_older || is_other {
            return Err(VoteError::TimestampTooOld);
        }
        self.last_timestamp = (slot, timestamp);
        Ok(())
    }
}

impl LandedVote {
    /// Returns the credits of the vote when it becomes root: fewer, the higher its latency.
    fn credits(&self) -> u64 {
        if self.latency == 0 {
            return 1;
        }
        let late = self.latency.saturating_sub(CREDITS_GRACE_SLOTS);
        u64::from(CREDITS_MAX.saturating_sub(late).max(1))
    }
}

/// Checks that a tower could result from single votes: order, confirmations and lockouts.
fn check_order(tower: &Tower) -> Result<(), VoteError> {
    let mut previous: Option<&Lockout> = None;
    for lockout in &tower.lockouts {
        if lockout.confirmation_count == 0 {
            return Err(VoteError::ZeroConfirmations);
        }
        if lockout.confirmation_count > CONFIRMATIONS_MAX {
            return Err(VoteError::ConfirmationTooLarge);
        }
        // A tower without votes has its root at slot 0.
        if tower.root.is_some_and(|root| root != 0 && lockout.slot <= root) {
            return Err(VoteError::SlotSmallerThanRoot);
        }
        if let Some(previous) = previous {
            if previous.slot >= lockout.slot {
                return Err(VoteError::SlotsNotOrdered);
            }
            if previous.confirmation_count <= lockout.confirmation_count {
                return Err(VoteError::ConfirmationsNotOrdered);
            }
            if lockout.slot > last_locked_out(*previous) {
                return Err(VoteError::NewVoteStateLockoutMismatch);
            }
        }
        previous = Some(lockout);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a generator of pseudorandom numbers below a bound (linear congruential).
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        }
    }

    #[test]
    fn single_votes_and_whole_towers_lead_to_the_same_state() {
        for seed in 0..50 {
            let mut random = numbers(seed);
            let (mut voter, mut sender) = (VoteState::default(), VoteState::default());
            let (mut slot, mut hashes): (u64, Vec<SlotHash>) = (0, vec![]);
            let mut rooted = 0;
            for vote in 0..200 {
                slot += 1 + if random(5) == 0 { random(30) } else { 0 };
                let hash = [u8::try_from(slot % 251).unwrap(); 32];
                hashes.insert(0, (slot, hash));
                let now = Now { epoch: vote / 60, slot: slot + 1 + random(20) };
                let timestamp = (random(3) == 0).then(|| i64::try_from(slot).unwrap());
                let single = Vote { slots: vec![slot], hash, timestamp };
                voter.vote(&single, &hashes, now).unwrap();

                let lockouts = voter.votes.iter().map(|vote| vote.lockout).collect();
                let tower = Tower { lockouts, root: voter.root, hash, timestamp };
                sender.update(tower, &hashes, now).unwrap();
                assert_eq!(voter, sender, "seed {seed}, vote {vote}");
                rooted = voter.root.unwrap_or(0);
            }
            assert!(rooted > 0 && !voter.epoch_credits.is_empty(), "seed {seed}");
        }
    }

    #[test]
    fn credits_fall_with_latency_from_16_to_1() {
        let credits = |latency| {
            LandedVote { latency, lockout: Lockout { slot: 0, confirmation_count: 0 } }.credits()
        };
        let expected = [(0, 1), (1, 16), (2, 16), (3, 15), (17, 1), (18, 1), (255, 1)];
        for (latency, earned) in expected {
            assert_eq!(credits(latency), earned, "{latency}");
        }
    }
}
