//! Instructions of the vote program: effects, and errors in order.

mod common;

use common::{Setup, key};
use selkie_svm::{
    Account, AccountMeta, Feature, FeatureSet, InstructionError as E, Pubkey, sysvars::Clock,
};
use sha2::{Digest, Sha256};
use solana_sdk_ids::{sysvar, vote};

const NODE: u8 = 2;
const VOTER: u8 = 3;
const WITHDRAWER: u8 = 4;
const EPOCH: u64 = 7;
const SLOT: u64 = 1000;
const SIZE: usize = 3762;

/// A BLS key; its proof of possession for the vote account of these tests follows. Both were made
/// with `solana-bls-signatures` 3.4.0.
const BLS_KEY: &str = "a6ceb0760781082c1954d2a4ec868c82e81d0b2bfb6d95b2\
                       8bfcae30842fc58387da58dcfed367f74d878739285cae92";
const BLS_PROOF: &str = "83ea7733d1a321753c00b4b2e748bdd88f61f0e387fbef22c96b46ebad636828\
                         68b2ad4d4c15e99c5ac6a6c7cadf5f8806aa125e1fc06857c01327794960b735\
                         e4a8670a2243d5be302a1d3f73c262900619e169fdcb16ac019151ab5c40c046";

/// Returns the key and its proof as instruction data.
fn bls() -> Vec<u8> {
    let digits = [BLS_KEY, BLS_PROOF].concat();
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Returns the address of the vote account.
fn address() -> Pubkey {
    key(1)
}

fn instruction(tag: u32, fields: &[&[u8]]) -> Setup {
    let mut setup = Setup::new(vote::ID).data(&[&[tag.to_le_bytes().as_slice()], fields].concat());
    setup.environment.sysvars.set_clock(&Clock {
        slot: SLOT,
        epoch: EPOCH,
        leader_schedule_epoch: EPOCH + 1,
        ..Clock::default()
    });
    let hashes =
        (SLOT - 400..SLOT).rev().map(|slot| [slot.to_le_bytes().as_slice(), &hash(slot)].concat());
    let hashes = [400_u64.to_le_bytes().to_vec(), hashes.collect::<Vec<_>>().concat()].concat();
    setup.environment.sysvars.set(sysvar::slot_hashes::ID, &hashes).unwrap();
    setup
}

fn hash(slot: u64) -> [u8; 32] {
    Sha256::digest(slot.to_le_bytes()).into()
}

fn account(data: Vec<u8>) -> Account {
    Account { lamports: 100_000_000, data, owner: vote::ID, ..Account::default() }
}

fn me(data: Vec<u8>) -> (AccountMeta, Account) {
    (AccountMeta::new(address(), false), account(data))
}

fn signer(byte: u8) -> AccountMeta {
    AccountMeta::new_readonly(key(byte), true)
}

fn empty_account() -> Account {
    Account::default()
}

/// The fields of a vote account that the tests compare.
#[derive(Clone, Debug, PartialEq)]
struct State {
    bls: bool,
    commission_bps: [u16; 2],
    votes: Vec<(u8, u64, u32)>,
    root: Option<u64>,
    voters: Vec<(u64, Pubkey)>,
    credits: Vec<[u64; 3]>,
    timestamp: (u64, i64),
}

fn fresh() -> State {
    State {
        bls: false,
        commission_bps: [500, 10_000],
        votes: vec![],
        root: None,
        voters: vec![(EPOCH, key(VOTER))],
        credits: vec![],
        timestamp: (0, 0),
    }
}

impl State {
    /// Encodes the state in the newest version.
    fn data(&self) -> Vec<u8> {
        let mut data = vec![3, 0, 0, 0];
        data.extend([[NODE; 32], [WITHDRAWER; 32], [1; 32], [NODE; 32]].concat());
        data.extend(self.commission_bps.map(u16::to_le_bytes).concat());
        data.extend([0; 8]);
        data.push(self.bls.into());
        if self.bls {
            data.extend([9; 48]);
        }
        data.extend(self.votes_and_root(true));
        data.extend(self.rest());
        data.resize(SIZE, 0);
        data
    }

    /// Encodes the state in version 2 (V3) or 1 (1.14.11).
    fn old_data(&self, version: u8) -> Vec<u8> {
        let mut data = vec![version, 0, 0, 0];
        data.extend([[NODE; 32], [WITHDRAWER; 32]].concat());
        data.push(u8::try_from(self.commission_bps[0] / 100).unwrap());
        data.extend(self.votes_and_root(version == 2));
        let rest = self.rest();
        let (voters, rest) = rest.split_at(8 + 40 * self.voters.len());
        data.extend(voters);
        data.extend(vec![0; 32 * 48 + 9]);
        data.extend(rest);
        data.resize(if version == 2 { SIZE } else { 3731 }, 0);
        data
    }

    fn votes_and_root(&self, has_latency: bool) -> Vec<u8> {
        let mut data = (self.votes.len() as u64).to_le_bytes().to_vec();
        for (latency, slot, confirmations) in &self.votes {
            data.extend(has_latency.then_some(*latency));
            data.extend(slot.to_le_bytes());
            data.extend(confirmations.to_le_bytes());
        }
        data.push(self.root.is_some().into());
        data.extend(self.root.iter().flat_map(|root| root.to_le_bytes()));
        data
    }

    fn rest(&self) -> Vec<u8> {
        let mut data = (self.voters.len() as u64).to_le_bytes().to_vec();
        for (epoch, voter) in &self.voters {
            data.extend(epoch.to_le_bytes());
            data.extend(voter.as_ref());
        }
        data.extend((self.credits.len() as u64).to_le_bytes());
        data.extend(self.credits.iter().flatten().flat_map(|it| it.to_le_bytes()));
        data.extend(self.timestamp.0.to_le_bytes());
        data.extend(self.timestamp.1.to_le_bytes());
        data
    }
}

fn check(setup: &Setup, expected: &State) {
    let data = &setup.succeed()[0].data;
    let written = expected.data().iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    assert_eq!(data[..written], expected.data()[..written]);
}

fn init() -> Setup {
    let (meta, account) = me(vec![0; SIZE]);
    instruction(0, &[&[NODE; 32], &[VOTER; 32], &[WITHDRAWER; 32], &[5]])
        .with(meta, account)
        .with_sysvar(sysvar::rent::ID)
        .with_sysvar(sysvar::clock::ID)
        .with(signer(NODE), empty_account())
}

#[test]
fn initialize_writes_the_newest_version_after_its_checks() {
    let setup = init();
    assert_eq!(setup.run().compute_units, 2100);
    assert_eq!(setup.succeed()[0].data, fresh().data());
    setup.but(|it| it.accounts.clear()).fail(E::MissingAccount, "");
    setup.but(|it| it.account(0).owner = key(9)).fail(E::InvalidAccountOwner, "");
    setup.but(|it| it.data.truncate(100)).fail(E::InvalidInstructionData, "");
    setup.but(|it| it.meta(1).pubkey = key(9)).fail(E::InvalidArgument, "");
    setup.but(|it| it.account(0).lamports = 1).fail(E::InsufficientFunds, "");
    setup.but(|it| it.meta(2).pubkey = key(9)).fail(E::InvalidArgument, "");
    setup.but(|it| it.account(0).data.push(0)).fail(E::InvalidAccountData, "");
    setup.but(|it| it.account(0).data[0] = 4).fail(E::InvalidAccountData, "");
    let again = setup.but(|it| it.account(0).data = fresh().data());
    again.fail(E::AccountAlreadyInitialized, "");
    setup.but(|it| it.meta(3).is_signer = false).fail(E::MissingRequiredSignature, "");
    setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyDataModified, "");
    // An account of an old version without voters counts as uninitialized.
    let empty = State { voters: vec![], ..fresh() };
    setup.but(|it| it.account(0).data = empty.old_data(2)).succeed();
}

fn authorize(kind: u32, by: u8) -> Setup {
    let (meta, account) = me(fresh().data());
    instruction(1, &[&[6; 32], &kind.to_le_bytes()])
        .with(meta, account)
        .with_sysvar(sysvar::clock::ID)
        .with(signer(by), empty_account())
}

#[test]
fn authorize_changes_the_voter_of_a_later_epoch_or_the_withdrawer() {
    let voters = vec![(EPOCH, key(VOTER)), (EPOCH + 2, key(6))];
    for by in [VOTER, WITHDRAWER] {
        check(&authorize(0, by), &State { voters: voters.clone(), ..fresh() });
    }
    authorize(0, NODE).fail(E::MissingRequiredSignature, "");
    let soon = State { voters, ..fresh() };
    authorize(0, VOTER).but(|it| it.account(0).data = soon.data()).fail(E::Custom(5), "");
    let later = State { voters: vec![(EPOCH + 1, key(VOTER))], ..fresh() };
    authorize(0, VOTER).but(|it| it.account(0).data = later.data()).fail(E::InvalidAccountData, "");
    let bls = State { bls: true, ..fresh() };
    authorize(0, VOTER)
        .but(|it| it.account(0).data = bls.data())
        .fail(E::InvalidInstructionData, "");

    assert_eq!(authorize(1, WITHDRAWER).succeed()[0].data[36..68], [6; 32]);
    authorize(1, VOTER).fail(E::MissingRequiredSignature, "");
    authorize(3, VOTER).fail(E::InvalidInstructionData, "");

    let checked = |new_signs: bool| {
        let (meta, account) = me(fresh().data());
        instruction(7, &[&1_u32.to_le_bytes()])
            .with(meta, account)
            .with_sysvar(sysvar::clock::ID)
            .with(signer(WITHDRAWER), empty_account())
            .with(AccountMeta::new_readonly(key(6), new_signs), empty_account())
    };
    assert_eq!(checked(true).succeed()[0].data[36..68], [6; 32]);
    checked(false).fail(E::MissingRequiredSignature, "");
}

#[test]
fn authorizing_a_bls_key_requires_a_proof_of_possession() {
    let voters = vec![(EPOCH, key(VOTER)), (EPOCH + 2, key(6))];
    for (by, before) in [(VOTER, false), (WITHDRAWER, false), (VOTER, true)] {
        let state = State { bls: before, ..fresh() };
        let setup = authorize(2, by).but(|it| {
            it.data.extend(bls());
            it.account(0).data = state.data();
        });
        let after = &setup.succeed()[0].data;
        assert_eq!((after[144], &after[145..193]), (1, &bls()[..48]));
        let expected = State { bls: true, voters: voters.clone(), ..fresh() }.data();
        assert_eq!(after[193..400], expected[193..400]);
        assert_eq!(setup.run().compute_units, 2100 + 34_500);
    }
    let setup = authorize(2, NODE).but(|it| it.data.extend(bls()));
    setup.fail(E::MissingRequiredSignature, "");
    // The proof is verified before the signer is checked.
    let wrong = setup.but(|it| *it.data.last_mut().unwrap() ^= 1);
    wrong.fail(E::InvalidArgument, "");
    assert_eq!(wrong.run().compute_units, 2100 + 34_500);
    wrong.but(|it| it.compute_unit_limit = 2100 + 34_499).fail(E::ComputationalBudgetExceeded, "");
    setup.but(|it| it.meta(0).pubkey = key(9)).fail(E::InvalidArgument, "");
    setup.but(|it| it.data.truncate(it.data.len() - 1)).fail(E::InvalidInstructionData, "");
    let before = FeatureSet::mainnet().without(Feature::BlsPubkeyManagementInVoteAccount);
    setup.but(|it| it.environment.features = before).fail(E::InvalidInstructionData, "");
}

/// Returns an `InitializeAccountV2` whose collectors are a wallet and the vote account itself.
fn init_v2() -> Setup {
    let keys = [&[NODE; 32][..], &[VOTER; 32], &bls(), &[WITHDRAWER; 32]].concat();
    let mut setup = instruction(16, &[&keys, &500_u16.to_le_bytes(), &10_000_u16.to_le_bytes()]);
    for feature in [Feature::BlockRevenueSharing, Feature::VoteAccountInitializeV2] {
        setup.environment.features = setup.environment.features.with(feature);
    }
    let (meta, account) = me(vec![0; SIZE]);
    let wallet = Account { lamports: 1_000_000, ..Account::default() };
    setup
        .with(meta.clone(), account.clone())
        .with(signer(NODE), empty_account())
        .with(AccountMeta::new(key(6), false), wallet)
        .with(meta, account)
}

#[test]
fn initialize_v2_writes_bls_key_and_collectors_after_its_checks() {
    let setup = init_v2();
    let data = &setup.succeed()[0].data;
    let mut expected = State { bls: true, ..fresh() }.data();
    expected[68..100].fill(6);
    expected[100..132].fill(1);
    expected[145..193].copy_from_slice(&bls()[..48]);
    assert_eq!(*data, expected);
    assert_eq!(setup.run().compute_units, 2100 + 34_500);

    let mainnet = |it: &mut Setup| it.environment.features = FeatureSet::mainnet();
    setup.but(mainnet).fail(E::InvalidInstructionData, "");
    setup.but(|it| it.accounts.truncate(3)).fail(E::MissingAccount, "");
    setup.but(|it| it.meta(3).pubkey = key(6)).fail(E::AccountBorrowFailed, "");
    for id in [sysvar::clock::ID, sysvar::rent::ID] {
        setup.but(|it| it.environment.sysvars.remove(&id)).fail(E::UnsupportedSysvar, "");
    }
    setup.but(|it| it.account(0).data.truncate(3731)).fail(E::InvalidAccountData, "");
    setup.but(|it| it.account(0).data = fresh().data()).fail(E::AccountAlreadyInitialized, "");
    setup.but(|it| it.meta(1).is_signer = false).fail(E::MissingRequiredSignature, "");
    setup.but(|it| it.account(2).owner = key(9)).fail(E::InvalidAccountOwner, "");
    setup.but(|it| it.account(2).lamports = 1).fail(E::InsufficientFunds, "");
    setup.but(|it| it.meta(2).is_writable = false).fail(E::InvalidArgument, "");
    setup.but(|it| it.data[4 + 64] ^= 1).fail(E::InvalidArgument, "");
    let short = |it: &mut Setup| it.compute_unit_limit = 2100 + 34_499;
    setup.but(short).fail(E::ComputationalBudgetExceeded, "");
    // The collectors are checked before the proof is charged.
    setup.but(short).but(|it| it.account(2).owner = key(9)).fail(E::InvalidAccountOwner, "");
}

#[test]
fn missing_sysvars_fail_before_other_checks() {
    let update = |tag: u32, fields: &[&[u8]]| {
        let (meta, account) = me(vec![]);
        instruction(tag, fields).with(meta, account).with(signer(6), empty_account())
    };
    let collector = update(17, &[&0_u32.to_le_bytes()]).with(signer(7), empty_account());
    let tower = [&tower_bytes(None, &[(990, 1)])[..], &[0; 32]].concat();
    for (setup, sysvars) in [
        (init(), &[sysvar::rent::ID, sysvar::clock::ID][..]),
        (authorize(0, NODE), &[sysvar::clock::ID]),
        (vote_for(&fresh(), &[1], None), &[sysvar::slot_hashes::ID, sysvar::clock::ID]),
        (update(3, &[&[0; 8]]), &[sysvar::rent::ID, sysvar::clock::ID]),
        (update(5, &[&[9]]), &[sysvar::epoch_schedule::ID, sysvar::clock::ID]),
        (update(14, &[&tower]), &[sysvar::slot_hashes::ID, sysvar::clock::ID]),
        (collector, &[sysvar::rent::ID]),
    ] {
        for id in sysvars {
            setup.but(|it| it.environment.sysvars.remove(id)).fail(E::UnsupportedSysvar, "");
        }
    }
}

#[test]
fn a_derived_authority_is_represented_by_the_signature_of_its_base() {
    let hash = Sha256::new().chain_update([8; 32]).chain_update("seed").chain_update([9; 32]);
    let derived: [u8; 32] = hash.finalize().into();
    let mut data = fresh().data();
    data[36..68].copy_from_slice(&derived);
    let seed = [4_u64.to_le_bytes().as_slice(), b"seed"].concat();
    let (meta, account) = me(data);
    let setup = instruction(10, &[&1_u32.to_le_bytes(), &[9; 32], &seed, &[6; 32]])
        .with(meta, account)
        .with_sysvar(sysvar::clock::ID)
        .with(signer(8), empty_account());
    assert_eq!(setup.succeed()[0].data[36..68], [6; 32]);
    setup.but(|it| it.meta(2).is_signer = false).fail(E::MissingRequiredSignature, "");
    setup.but(|it| it.data[48] = b'x').fail(E::MissingRequiredSignature, "");
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, "");
    let checked = setup
        .but(|it| it.data.truncate(52))
        .but(|it| it.data[0] = 11)
        .with(signer(6), empty_account());
    assert_eq!(checked.succeed()[0].data[36..68], [6; 32]);
}

#[test]
fn identity_commissions_and_collectors_are_updated() {
    let update = |tag: u32, fields: &[&[u8]]| {
        let (meta, account) = me(fresh().data());
        instruction(tag, fields)
            .with(meta, account)
            .with(signer(6), empty_account())
            .with(signer(WITHDRAWER), empty_account())
    };
    let identity = update(4, &[]);
    let data = &identity.succeed()[0].data;
    assert_eq!((&data[4..36], &data[100..132]), (&[6; 32][..], &[NODE; 32][..]));
    let together = FeatureSet::mainnet().without(Feature::CustomCommissionCollector);
    let data = &identity.but(|it| it.environment.features = together).succeed()[0].data;
    assert_eq!(data[100..132], [6; 32]);
    identity.but(|it| it.meta(1).is_signer = false).fail(E::MissingRequiredSignature, "");
    identity.but(|it| it.meta(2).is_signer = false).fail(E::MissingRequiredSignature, "");

    let commission = update(5, &[&[9]]);
    check(&commission, &State { commission_bps: [900, 10_000], ..fresh() });
    // Before this feature a commission could be raised in the first half of an epoch only.
    let rule = FeatureSet::mainnet().without(Feature::DelayCommissionUpdates);
    let mut late = commission.but(|it| it.environment.features = rule);
    late.succeed();
    let clock = Clock { slot: 300_000, epoch: EPOCH, ..Clock::default() };
    late.environment.sysvars.set_clock(&clock);
    late.fail(E::Custom(19), "");
    late.but(|it| it.data[4] = 4).succeed();

    let bps = update(18, &[&77_u16.to_le_bytes(), &0_u32.to_le_bytes()]);
    check(&bps, &State { commission_bps: [77, 10_000], ..fresh() });
    let block = bps.but(|it| it.data[6] = 1);
    block.fail(E::InvalidInstructionData, "");
    let shared = FeatureSet::mainnet().with(Feature::BlockRevenueSharing);
    let block = block.but(|it| it.environment.features = shared);
    check(&block, &State { commission_bps: [500, 77], ..fresh() });

    let collector = update(17, &[&0_u32.to_le_bytes()]).but(|it| {
        it.meta(1).is_writable = true;
        it.account(1).lamports = 1_000_000;
    });
    assert_eq!(collector.succeed()[0].data[68..100], [6; 32]);
    collector.but(|it| it.account(1).owner = key(9)).fail(E::InvalidAccountOwner, "");
    collector.but(|it| it.account(1).lamports = 1).fail(E::InsufficientFunds, "");
    collector.but(|it| it.meta(1).is_writable = false).fail(E::InvalidArgument, "");

    for tag in [16, 19] {
        update(tag, &[&[0; 244]]).fail(E::InvalidInstructionData, "");
    }
}

#[test]
fn withdraw_keeps_the_account_rent_exempt_or_closes_an_inactive_one() {
    let withdraw = |lamports: u64, state: &State| {
        let (meta, account) = me(state.data());
        instruction(3, &[&lamports.to_le_bytes()])
            .with(meta, account)
            .with(AccountMeta::new(key(9), false), empty_account())
            .with(signer(WITHDRAWER), empty_account())
    };
    assert_eq!(withdraw(7, &fresh()).succeed()[1].lamports, 7);
    let closed = &withdraw(100_000_000, &fresh()).succeed()[0];
    assert_eq!((closed.lamports, closed.data.iter().all(|it| *it == 0)), (0, true));
    withdraw(100_000_001, &fresh()).fail(E::InsufficientFunds, "");
    withdraw(99_999_999, &fresh()).fail(E::InsufficientFunds, "");
    let unsigned = withdraw(1, &fresh()).but(|it| it.meta(2).is_signer = false);
    unsigned.fail(E::MissingRequiredSignature, "");
    let active = State { credits: vec![[EPOCH - 1, 1, 0]], ..fresh() };
    withdraw(100_000_000, &active).fail(E::Custom(18), "");
    let idle = State { credits: vec![[EPOCH - 2, 1, 0]], ..fresh() };
    withdraw(100_000_000, &idle).succeed();
}

/// Encodes a compact tower: the root, then slots with their confirmations.
fn tower_bytes(root: Option<u64>, lockouts: &[(u64, u8)]) -> Vec<u8> {
    let mut data = root.unwrap_or(u64::MAX).to_le_bytes().to_vec();
    data.push(u8::try_from(lockouts.len()).unwrap());
    let mut slot = root.unwrap_or_default();
    for (next, confirmations) in lockouts {
        let mut offset = next - slot;
        while offset >= 0x80 {
            data.push(offset.to_le_bytes()[0] | 0x80);
            offset >>= 7;
        }
        data.extend([offset.to_le_bytes()[0], *confirmations]);
        slot = *next;
    }
    data.extend(hash(slot));
    data.push(0);
    data
}

fn sync(state: &State, root: Option<u64>, lockouts: &[(u64, u8)]) -> Setup {
    let (meta, account) = me(state.data());
    instruction(14, &[&tower_bytes(root, lockouts), &[0; 32]])
        .with(meta, account)
        .with(signer(VOTER), empty_account())
}

#[test]
fn all_tower_instructions_replace_the_votes() {
    let setup = sync(&fresh(), None, &[(990, 2), (991, 1)]);
    let expected = State { votes: vec![(10, 990, 2), (9, 991, 1)], ..fresh() };
    check(&setup, &expected);
    setup.but(|it| it.meta(1).is_signer = false).fail(E::MissingRequiredSignature, "");
    // The preceding instructions do the same, as do the `*Switch` variants.
    let compact = tower_bytes(None, &[(990, 2), (991, 1)]);
    let mut long = 2_u64.to_le_bytes().to_vec();
    for (slot, confirmations) in [(990_u64, 2_u32), (991, 1)] {
        long.extend(slot.to_le_bytes());
        long.extend(confirmations.to_le_bytes());
    }
    long.push(0);
    long.extend(hash(991));
    long.push(0);
    for (tag, tower) in
        [(12, compact.clone()), (13, compact.clone()), (15, compact), (8, long.clone()), (9, long)]
    {
        let data = [u32::to_le_bytes(tag).to_vec(), tower, vec![0; 64]].concat();
        check(&setup.but(|it| it.data = data.clone()), &expected);
        let deprecated = FeatureSet::mainnet().with(Feature::DeprecateLegacyVoteInstructions);
        let later = setup.but(|it| (it.data, it.environment.features) = (data, deprecated));
        // After the move to Alpenglow no vote is accepted, whatever the state of the account.
        let mut moved = setup.but(|it| it.data.clone_from(&later.data));
        moved.environment.is_alpenglow = true;
        moved.account(0).data.clear();
        moved.fail(E::InvalidInstructionData, "");
        if tag == 15 {
            check(&later, &expected);
        } else {
            later.fail(E::InvalidInstructionData, "");
        }
    }
}

#[test]
fn votes_that_become_root_earn_credits() {
    let state = State { votes: vec![(1, 980, 3), (2, 981, 2), (30, 990, 1)], ..fresh() };
    let setup = sync(&state, Some(981), &[(990, 3), (995, 1)]);
    let expected = State {
        votes: vec![(30, 990, 3), (5, 995, 1)],
        root: Some(981),
        credits: vec![[EPOCH, 32, 0]],
        ..fresh()
    };
    check(&setup, &expected);
    let setup = sync(&expected, Some(990), &[(995, 2), (996, 1)]);
    let credits = vec![[EPOCH, 33, 0]];
    let votes = vec![(5, 995, 2), (4, 996, 1)];
    check(&setup, &State { votes, root: Some(990), credits, ..fresh() });
}

#[test]
fn accounts_of_old_versions_are_rewritten_in_the_newest() {
    let votes = vec![(0, 980, 2), (0, 990, 1)];
    let state = State { votes, voters: vec![(EPOCH - 3, key(VOTER))], ..fresh() };
    for version in [1, 2] {
        let setup = sync(&state, None, &[(980, 4), (990, 2), (991, 1)])
            .but(|it| it.account(0).data = state.old_data(version));
        // Votes without a latency get one with the next vote.
        let votes = vec![(20, 980, 4), (10, 990, 2), (9, 991, 1)];
        check(&setup, &State { votes, ..fresh() });
        let poor = setup.but(|it| it.account(0).lamports = 1);
        if version == 1 {
            poor.fail(E::AccountNotRentExempt, "");
        } else {
            poor.succeed();
        }
    }
}

#[test]
fn invalid_towers_fail_with_the_number_of_their_error() {
    let voted = State { votes: vec![(1, 980, 2), (2, 981, 1)], root: Some(970), ..fresh() };
    for (root, lockouts, number) in [
        (Some(970), &[][..], 3),
        (Some(970), &[(981, 1)], 0),
        (Some(970), &[(1000, 1)], 1),
        (None, &[(982, 1)], 12),
        (Some(969), &[(982, 1)], 12),
        (Some(970), &[(980, 2), (990, 0)], 10),
        (Some(970), &[(980, 32), (990, 1)], 11),
        (Some(970), &[(980, 2), (982, 2)], 9),
        (Some(970), &[(980, 2), (990, 1)], 7),
        (Some(970), &[(982, 1)], 6),
        (Some(970), &[(980, 1)], 0),
        (Some(970), &[(982, 2), (982, 1)], 8),
    ] {
        sync(&voted, root, lockouts).fail(E::Custom(number), "");
    }
    let wrong_hash = sync(&voted, Some(970), &[(980, 3), (981, 2), (982, 1)]);
    wrong_hash.succeed();
    let at = wrong_hash.data.len() - 50;
    wrong_hash.but(|it| it.data[at] ^= 1).fail(E::Custom(2), "");
    let confirmed = State { votes: vec![(1, 980, 5)], ..fresh() };
    sync(&confirmed, None, &[(980, 4), (981, 1)]).fail(E::Custom(13), "");
    // Slots older than the slot hashes are dropped unless the account has a vote for them.
    let kept = sync(&fresh(), None, &[(100, 31), (980, 30)]);
    check(&kept, &State { votes: vec![(20, 980, 30)], ..fresh() });
    let mut none = sync(&fresh(), None, &[(980, 1)]);
    none.environment.sysvars.set(sysvar::slot_hashes::ID, &[0; 8]).unwrap();
    none.fail(E::Custom(1), "");
}

fn vote_for(state: &State, slots: &[u64], timestamp: Option<i64>) -> Setup {
    let (meta, account) = me(state.data());
    let mut data = (slots.len() as u64).to_le_bytes().to_vec();
    data.extend(slots.iter().flat_map(|slot| slot.to_le_bytes()));
    data.extend(hash(slots.last().copied().unwrap_or_default()));
    data.push(timestamp.is_some().into());
    data.extend(timestamp.iter().flat_map(|it| it.to_le_bytes()));
    instruction(2, &[&data])
        .with(meta, account)
        .with_sysvar(sysvar::slot_hashes::ID)
        .with_sysvar(sysvar::clock::ID)
        .with(signer(VOTER), empty_account())
}

#[test]
fn votes_double_the_lockouts_below_and_remove_expired_ones() {
    let votes = vec![(10, 990, 3), (9, 991, 2), (8, 992, 1)];
    let expected = State { votes, timestamp: (992, 5), ..fresh() };
    check(&vote_for(&fresh(), &[990, 991, 992], Some(5)), &expected);
    // The lockout of 992 ends at 994, so a vote for 996 removes it.
    let state = State { votes: vec![(10, 990, 3), (8, 992, 1)], ..fresh() };
    let expected = State { votes: vec![(10, 990, 3), (4, 996, 1)], ..fresh() };
    check(&vote_for(&state, &[996], None), &expected);
    vote_for(&fresh(), &[], None).fail(E::Custom(3), "");
    vote_for(&fresh(), &[100], None).fail(E::Custom(16), "");
    vote_for(&fresh(), &[1000], None).fail(E::Custom(1), "");
    let voted = State { votes: vec![(1, 990, 1)], timestamp: (990, 9), ..fresh() };
    vote_for(&voted, &[990], None).fail(E::Custom(0), "");
    vote_for(&voted, &[991], Some(8)).fail(E::Custom(4), "");
    vote_for(&voted, &[991], None).but(|it| it.data[20] ^= 1).fail(E::Custom(2), "");
    vote_for(&voted, &[991], None)
        .but(|it| it.meta(1).pubkey = key(9))
        .fail(E::InvalidArgument, "");
    vote_for(&voted, &[991], None)
        .but(|it| it.meta(3).is_signer = false)
        .fail(E::MissingRequiredSignature, "");
}

#[test]
fn the_32nd_vote_makes_the_first_root() {
    let slots: Vec<_> = (950..982).collect();
    let data = &vote_for(&fresh(), &slots, None).succeed()[0].data;
    let votes = (951..982)
        .map(|slot| (u8::try_from(SLOT - slot).unwrap(), slot, u32::try_from(982 - slot).unwrap()));
    let expected =
        State { votes: votes.collect(), root: Some(950), credits: vec![[EPOCH, 1, 0]], ..fresh() };
    assert_eq!(data[..2000], expected.data()[..2000]);
}
