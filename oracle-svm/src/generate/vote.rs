//! Instructions of the vote program, and vote accounts of the last two versions.

use solana_bls_signatures::keypair::Keypair as BlsKeypair;

use super::{
    encode::{Bytes, compact},
    ids::*,
    message::{Instruction, Meta, r, rs, w},
    scene::{Scene, with_seed},
    world::{EPOCH, SLOT, rent},
};
use crate::case::{Account, Key};

/// Length of a vote account's data.
const ACCOUNT_BYTES: usize = 3762;

/// The vote accounts of one case, with their authorities.
pub(crate) struct Votes {
    accounts: Vec<Key>,
    node: Key,
    voter: Key,
    withdrawer: Key,
}

impl Votes {
    pub(crate) fn new(scene: &mut Scene<'_>) -> Self {
        let (node, voter, withdrawer) = (scene.wallet(), scene.wallet(), scene.wallet());
        let mut votes = Self { accounts: Vec::new(), node, voter, withdrawer };
        for make in 0..4 {
            let key = scene.fresh();
            let mut data = match make {
                0 => Bytes::new(),
                1 => votes.state_v3(scene),
                _ => votes.state_v4(scene),
            }
            .padded(ACCOUNT_BYTES);
            if scene.odd(8) {
                data.resize(scene.rng.pick(&[3731, 200, 3763]), 0);
            }
            let owner = if scene.odd(5) { SYSTEM } else { VOTE };
            let extra = scene.rng.pick(&[0, 0, 1_000_000]);
            scene.put(key, Account::new(rent(data.len()) + extra, owner, data));
            votes.accounts.push(key);
        }
        votes
    }

    fn state_v3(&self, scene: &mut Scene<'_>) -> Bytes {
        let state = Bytes::new().u32(2).key(&self.node).key(&self.withdrawer).u8(7);
        let state = self.ballots(scene, state);
        // The prior voters: a ring of 32 entries, all unused.
        let state = state.bytes(&[0; 32 * 48]).u64(31).u8(1);
        credits(scene, state)
    }

    fn state_v4(&self, scene: &mut Scene<'_>) -> Bytes {
        let state = Bytes::new().u32(3).key(&self.node).key(&self.withdrawer);
        let state = state.key(&self.node).key(&self.withdrawer).u16(700).u16(10_000);
        let pending = scene.rng.pick(&[0, 0, 1_000_000]);
        let state = state.u64(pending);
        let state = if scene.rng.chance(30) { state.u8(1).bytes(&[0xa5; 48]) } else { state.u8(0) };
        let state = self.ballots(scene, state);
        credits(scene, state)
    }

    /// Votes, root and authorized voters.
    fn ballots(&self, scene: &mut Scene<'_>, state: Bytes) -> Bytes {
        let count = scene.rng.below(6) as u64;
        let mut state = state.u64(count);
        for age in (1..=count).rev() {
            state = state.u8(1).u64(SLOT - 12 - 2 * age).u32(age as u32);
        }
        let state = if scene.rng.chance(60) { state.u8(1).u64(SLOT - 100) } else { state.u8(0) };
        let since = EPOCH - scene.rng.below(2) as u64;
        if scene.rng.chance(30) {
            let next = scene.wallet();
            state.u64(2).u64(since).key(&self.voter).u64(EPOCH + 1).key(&next)
        } else {
            state.u64(1).u64(since).key(&self.voter)
        }
    }

    fn account(&self, scene: &mut Scene<'_>) -> Key {
        scene.rng.pick(&self.accounts)
    }

    fn signer(&self, scene: &mut Scene<'_>, usual: Key) -> Key {
        if scene.odd(15) { scene.wallet() } else { usual }
    }

    pub(crate) fn instruction(&self, scene: &mut Scene<'_>) -> Instruction {
        let vote = self.account(scene);
        let (voter, withdrawer) =
            (self.signer(scene, self.voter), self.signer(scene, self.withdrawer));
        let new = scene.wallet();
        let kind = scene.rng.below(2) as u32;
        let authority = if kind == 0 { voter } else { withdrawer };
        let authority = if scene.rng.chance(20) { withdrawer } else { authority };
        let one = |metas: Vec<Meta>, data| Instruction::new(VOTE, metas, data);
        match scene.rng.below(26) {
            0..3 => {
                let node = self.signer(scene, self.node);
                let commission = scene.rng.below(130) as u8;
                let data = Bytes::new().u32(0).key(&self.node).key(&self.voter);
                let metas = vec![w(self.accounts[0]), r(RENT), r(CLOCK), rs(node)];
                one(metas, data.key(&self.withdrawer).u8(commission))
            }
            3 | 4 => {
                let data = Bytes::new().u32(1).key(&new).u32(kind);
                one(vec![w(vote), r(CLOCK), rs(authority)], data)
            }
            5 | 6 => {
                let data = Bytes::new().u32(7).u32(kind);
                one(vec![w(vote), r(CLOCK), rs(authority), rs(new)], data)
            }
            7 | 8 => self.withdraw(scene, vote, withdrawer),
            9 => one(vec![w(vote), rs(new), rs(withdrawer)], Bytes::new().u32(4)),
            10 | 11 => {
                let commission = scene.rng.below(130) as u8;
                one(vec![w(vote), rs(withdrawer)], Bytes::new().u32(5).u8(commission))
            }
            12 => self.with_seed(scene, vote, kind),
            13 => {
                let tag = scene.rng.below(22) as u32;
                let noise = scene.noise();
                let data = Bytes::new().u32(tag).bytes(&noise[..scene.rng.below(32)]);
                one(vec![w(vote), r(CLOCK), rs(authority), rs(new)], data)
            }
            14 => {
                let bps = scene.rng.below(11_000) as u16;
                let kind = scene.rng.below(3) as u32;
                let data = Bytes::new().u32(18).u16(bps).u32(kind);
                one(vec![w(vote), rs(withdrawer)], data)
            }
            15 => {
                let data = Bytes::new().u32(17).u32(kind);
                one(vec![w(vote), w(new), rs(withdrawer)], data)
            }
            16 | 17 => {
                let bls = bls_key(scene, vote);
                let data = Bytes::new().u32(1).key(&new).u32(2).bytes(&bls);
                one(vec![w(vote), r(CLOCK), rs(authority)], data)
            }
            _ => self.vote(scene, vote, voter),
        }
    }

    fn withdraw(&self, scene: &mut Scene<'_>, vote: Key, withdrawer: Key) -> Instruction {
        let has = scene.accounts.get(&vote).map_or(0, |it| it.lamports);
        let some = scene.amount();
        let left = scene.rng.pick(&[0, rent(ACCOUNT_BYTES), rent(ACCOUNT_BYTES) - 1]);
        let lamports = scene.rng.pick(&[has.saturating_sub(left), has, 1000, some]);
        let to = scene.wallet();
        let data = Bytes::new().u32(3).u64(lamports);
        Instruction::new(VOTE, vec![w(vote), w(to), rs(withdrawer)], data)
    }

    fn with_seed(&self, scene: &mut Scene<'_>, vote: Key, kind: u32) -> Instruction {
        let (base, new, seed) = (scene.wallet(), scene.wallet(), b"seed");
        let derived = with_seed(&base, seed, &STAKE);
        // The authority becomes a derived address, so that the instruction can succeed.
        if let Some(account) = scene.accounts.get_mut(&vote)
            && account.data.len() > 68
            && kind == 1
        {
            let mut data = account.data.to_vec();
            data[36..68].copy_from_slice(&derived);
            account.data = data.into();
        }
        let checked = scene.rng.chance(50);
        let data =
            Bytes::new().u32(if checked { 11 } else { 10 }).u32(kind).key(&STAKE).string(seed);
        let data = if checked { data } else { data.key(&new) };
        let metas = vec![w(vote), r(CLOCK), rs(base), rs(new)];
        Instruction::new(VOTE, metas, data)
    }

    /// A vote in one of eight forms, for slots in the sysvar.
    fn vote(&self, scene: &mut Scene<'_>, vote: Key, voter: Key) -> Instruction {
        let last = SLOT - 1 - scene.rng.below(4) as u64;
        let count = 1 + scene.rng.below(4) as u64;
        let mut slots: Vec<u64> = (0..count).rev().map(|age| last - age).collect();
        if scene.odd(20) {
            slots.reverse();
        }
        let age = SLOT - last;
        let hash = if scene.odd(15) { scene.noise() } else { [0x80 + age as u8; 32] };
        let root = scene.rng.chance(50).then(|| SLOT - scene.rng.pick(&[100, 90, 50, 200]));
        let timestamp = scene.rng.chance(50).then(|| 1_789_040_000 + scene.rng.below(9) as u64);
        let tag = scene.rng.pick(&[2, 6, 8, 9, 12, 13, 14, 14, 14, 15]);
        let data = Bytes::new().u32(tag);
        let option = |data: Bytes, value: Option<u64>| match value {
            Some(value) => data.u8(1).u64(value),
            None => data.u8(0),
        };
        let data = match tag {
            2 | 6 => {
                let data = slots.iter().fold(data.u64(count), |data, slot| data.u64(*slot));
                option(data.key(&hash), timestamp)
            }
            8 | 9 => {
                let lockouts = slots.iter().zip((1..=count as u32).rev());
                let data = lockouts.fold(data.u64(count), |data, (slot, confirmations)| {
                    data.u64(*slot).u32(confirmations)
                });
                option(option(data, root).key(&hash), timestamp)
            }
            _ => {
                let mut before = root.unwrap_or(0);
                let mut data = data.u64(root.unwrap_or(u64::MAX)).bytes(&compact(slots.len()));
                for (slot, confirmations) in slots.iter().zip((1..=count as u8).rev()) {
                    data = data.bytes(&compact(slot.wrapping_sub(before) as usize));
                    data = data.u8(confirmations);
                    before = *slot;
                }
                let data = option(data.key(&hash), timestamp);
                // Tower syncs contain the block id.
                if tag >= 14 { data.key(&[0x1d; 32]) } else { data }
            }
        };
        let is_switch = [6, 9, 13, 15].contains(&tag);
        let data = if is_switch { data.key(&[0x5e; 32]) } else { data };
        let metas = if tag == 2 || tag == 6 {
            vec![w(vote), r(SLOT_HASHES), r(CLOCK), rs(voter)]
        } else {
            vec![w(vote), rs(voter)]
        };
        Instruction::new(VOTE, metas, data)
    }
}

/// A BLS key with a proof of possession, in most cases a valid one.
fn bls_key(scene: &mut Scene<'_>, vote: Key) -> Vec<u8> {
    let pair = BlsKeypair::derive(&scene.noise()).expect("the seed is long enough");
    let account = if scene.odd(10) { scene.wallet() } else { vote };
    let payload = Bytes::new().bytes(b"ALPENGLOW").key(&account).0;
    let proof = pair.proof_of_possession(Some(&payload)).to_bytes_compressed();
    let mut bytes = [&pair.public.to_bytes_compressed()[..], &proof].concat();
    if scene.odd(30) {
        let at = scene.rng.below(bytes.len());
        bytes[at] ^= 1 << scene.rng.below(8);
    }
    bytes
}

/// Credits of some epochs, and the last timestamp.
fn credits(scene: &mut Scene<'_>, state: Bytes) -> Bytes {
    let count = scene.rng.pick(&[0, 1, 2, 64]);
    let mut state = state.u64(count);
    for age in (0..count).rev() {
        state = state.u64(EPOCH - age).u64(1000 * (count - age)).u64(1000 * (count - age - 1));
    }
    let at = if scene.rng.chance(50) { SLOT - 30 } else { 0 };
    state.u64(at).u64(if at == 0 { 0 } else { 1_789_039_990 })
}
