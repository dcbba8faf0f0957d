//! Random transactions: transfers, stakes, and votes. Many succeed; some fail, are too old, or were
//! processed before.

use selkie_svm::{AccountSharedData, Pubkey, ReadableAccount};
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_runtime::bank::Bank;
use solana_sdk_ids::{compute_budget, incinerator, stake, system_program, sysvar, vote};
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{
    agave::{Agave, bytes},
    rng::Rng,
};

const SOL: u64 = 1_000_000_000;

/// The lamports of a stake account's rent, and of a delegation that is about the smallest.
const STAKE_RENT: u64 = 328 * 5080;

/// What transactions are made of: the stakes of wallets, and transactions and blockhashes of before.
#[derive(Default)]
pub(crate) struct Maker {
    /// The addresses, and the wallet that has the authority over each.
    stakes: Vec<(Pubkey, usize)>,
    made: Vec<Transaction>,
    blockhashes: Vec<Hash>,
}

/// A transaction in the making.
struct Draft<'r, 'a> {
    rng: &'r mut Rng,
    agave: &'a Agave,
    bank: &'a Bank,
    stakes: &'r mut Vec<(Pubkey, usize)>,
}

impl Maker {
    /// Makes the transactions of a block.
    pub(crate) fn block(&mut self, rng: &mut Rng, agave: &Agave, bank: &Bank) -> Vec<Transaction> {
        self.blockhashes.push(bank.last_blockhash());
        let count = rng.pick(&[0, 0, 1, 1, 2, 5]);
        (0..count).map(|_| self.transaction(rng, agave, bank)).collect()
    }

    fn transaction(&mut self, rng: &mut Rng, agave: &Agave, bank: &Bank) -> Transaction {
        if rng.chance(3) && !self.made.is_empty() {
            return self.made[rng.below(self.made.len())].clone();
        }
        let blockhash = match rng.chance(5) {
            true => rng.pick(&self.blockhashes),
            false => bank.last_blockhash(),
        };
        let (payer, mut instructions, signers) =
            Draft { rng, agave, bank, stakes: &mut self.stakes }.instructions();
        if rng.chance(30) {
            let price = [&[3][..], &(rng.below(10_000_000) as u64).to_le_bytes()].concat();
            instructions.insert(0, instruction(compute_budget::ID, &price, vec![]));
        }
        if rng.chance(10) {
            let limit = [&[2][..], &(rng.below(30_000) as u32).to_le_bytes()].concat();
            instructions.insert(0, instruction(compute_budget::ID, &limit, vec![]));
        }
        let transaction =
            Transaction::new_signed_with_payer(&instructions, Some(&payer), &signers, blockhash);
        self.made.push(transaction.clone());
        transaction
    }
}

fn instruction(program: Pubkey, data: &[u8], accounts: Vec<AccountMeta>) -> Instruction {
    Instruction { program_id: program, accounts, data: data.to_vec() }
}

/// Encodes an instruction: its number, and fields.
fn encode(number: u32, fields: &[&[u8]]) -> Vec<u8> {
    [&number.to_le_bytes()[..], &fields.concat()].concat()
}

fn writable(key: Pubkey) -> AccountMeta {
    AccountMeta::new(key, false)
}

fn readonly(key: Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(key, false)
}

fn signer(key: Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(key, true)
}

type Draughts<'a> = (Pubkey, Vec<Instruction>, Vec<&'a Keypair>);

impl<'a> Draft<'_, 'a> {
    fn wallet(&mut self) -> usize {
        self.rng.below(self.agave.wallets.len())
    }

    /// An amount of any magnitude.
    fn amount(&mut self) -> u64 {
        let digits = self.rng.below(14) as u32;
        self.rng.below(10_usize.pow(digits)) as u64
    }

    fn instructions(mut self) -> Draughts<'a> {
        let agave = self.agave;
        match self.rng.below(10) {
            0..=2 => self.transfer(),
            3 | 4 => self.new_stake(),
            5..=7 => self.change_stake(),
            _ => {
                let validator = self.rng.below(agave.validators.len());
                self.vote(validator)
            }
        }
    }

    fn transfer(&mut self) -> Draughts<'a> {
        let from = self.wallet();
        let to = match self.rng.below(8) {
            0..=3 => {
                let to = self.wallet();
                self.agave.wallets[to].pubkey()
            }
            4 => Pubkey::new_from_array(bytes(self.rng)),
            5 => incinerator::ID,
            6 => self.rng.pick(&self.agave.voters),
            _ => self.some_stake().map_or(incinerator::ID, |(key, _)| key),
        };
        let (from, amount) = (&self.agave.wallets[from], self.amount());
        let data = encode(2, &[&amount.to_le_bytes()]);
        let accounts = vec![AccountMeta::new(from.pubkey(), true), writable(to)];
        (from.pubkey(), vec![instruction(system_program::ID, &data, accounts)], vec![from])
    }

    fn some_stake(&mut self) -> Option<(Pubkey, usize)> {
        (!self.stakes.is_empty()).then(|| self.rng.pick(self.stakes))
    }

    /// Returns the address of a new stake account of a wallet, and the instruction that creates it.
    fn create(&mut self, wallet: usize, lamports: u64) -> (Pubkey, Instruction) {
        let base = self.agave.wallets[wallet].pubkey();
        let seed = format!("{:016x}", self.rng.word());
        let key = Pubkey::create_with_seed(&base, &seed, &stake::ID).expect("the seed is short");
        self.stakes.push((key, wallet));
        let len = (seed.len() as u64).to_le_bytes();
        let (lamports, space) = (lamports.to_le_bytes(), 200_u64.to_le_bytes());
        let owner = stake::ID;
        let fields: [&[u8]; 6] =
            [base.as_ref(), &len, seed.as_bytes(), &lamports, &space, owner.as_ref()];
        let accounts = vec![AccountMeta::new(base, true), writable(key)];
        (key, instruction(system_program::ID, &encode(3, &fields), accounts))
    }

    fn new_stake(&mut self) -> Draughts<'a> {
        let wallet = self.wallet();
        let lamports = STAKE_RENT + self.rng.below(50 * SOL as usize) as u64;
        let (key, create) = self.create(wallet, lamports);
        let payer = &self.agave.wallets[wallet];
        let authority = payer.pubkey();
        let fields: [&[u8]; 3] = [authority.as_ref(), authority.as_ref(), &[0; 48]];
        let accounts = vec![writable(key), readonly(sysvar::rent::ID)];
        let initialize = instruction(stake::ID, &encode(0, &fields), accounts);
        let delegate = self.delegate(key, authority);
        (authority, vec![create, initialize, delegate], vec![payer])
    }

    fn delegate(&mut self, key: Pubkey, authority: Pubkey) -> Instruction {
        let voter = self.rng.pick(&self.agave.voters);
        let accounts = vec![
            writable(key),
            readonly(voter),
            readonly(sysvar::clock::ID),
            readonly(sysvar::stake_history::ID),
            readonly(stake::ID),
            signer(authority),
        ];
        instruction(stake::ID, &encode(2, &[]), accounts)
    }

    fn change_stake(&mut self) -> Draughts<'a> {
        let Some((key, wallet)) = self.some_stake() else { return self.new_stake() };
        let payer = &self.agave.wallets[wallet];
        let authority = payer.pubkey();
        let lamports = self.bank.get_account(&key).map_or(0, |it: AccountSharedData| it.lamports());
        let amount = match self.rng.below(3) {
            0 => lamports,
            1 => lamports.saturating_sub(STAKE_RENT),
            _ => self.rng.below(lamports as usize + 1) as u64,
        };
        let other = self.some_stake().map_or(key, |(key, _)| key);
        let (clock, history) = (readonly(sysvar::clock::ID), readonly(sysvar::stake_history::ID));
        let amount_bytes = amount.to_le_bytes();
        let mut instructions = Vec::new();
        let (number, fields, accounts): (u32, &[&[u8]], _) = match self.rng.below(8) {
            0..=2 => (5, &[], vec![writable(key), clock, signer(authority)]),
            3 => (4, &[&amount_bytes], {
                vec![writable(key), writable(authority), clock, history, signer(authority)]
            }),
            4 => {
                let (half, create) = self.create(wallet, STAKE_RENT);
                instructions.push(create);
                (3, &[&amount_bytes], vec![writable(key), writable(half), signer(authority)])
            }
            5 => (7, &[], {
                vec![writable(key), writable(other), clock, history, signer(authority)]
            }),
            6 => {
                let number = self.rng.pick(&[16, 17]);
                (number, &[&amount_bytes], vec![writable(key), writable(other), signer(authority)])
            }
            _ => {
                let delegate = self.delegate(key, authority);
                return (authority, vec![delegate], vec![payer]);
            }
        };
        instructions.push(instruction(stake::ID, &encode(number, fields), accounts));
        (authority, instructions, vec![payer])
    }

    /// A vote for the parent, a change of the commission, or a withdrawal.
    fn vote(&mut self, validator: usize) -> Draughts<'a> {
        let wallet = self.wallet();
        let payer = &self.agave.wallets[wallet];
        let keys = &self.agave.validators[validator];
        let authority = self.rng.pick(&[&keys.vote_keypair, &keys.node_keypair]);
        let (key, by) = (keys.vote_keypair.pubkey(), signer(authority.pubkey()));
        let (data, accounts) = match self.rng.below(4) {
            0 => (encode(5, &[&[self.rng.below(101) as u8]]), vec![writable(key), by]),
            1 => {
                let lamports = self.rng.below(100_000_000) as u64;
                let accounts = vec![writable(key), writable(payer.pubkey()), by];
                (encode(3, &[&lamports.to_le_bytes()]), accounts)
            }
            _ => {
                let (slot, hash) = (self.bank.parent_slot(), self.bank.parent_hash());
                let (one, slot) = (1_u64.to_le_bytes(), slot.to_le_bytes());
                let fields: [&[u8]; 4] = [&one, &slot, hash.as_ref(), &[0]];
                let sysvars = [sysvar::slot_hashes::ID, sysvar::clock::ID].map(readonly);
                (encode(2, &fields), [&[writable(key)][..], &sysvars, &[by]].concat())
            }
        };
        let vote = instruction(vote::ID, &data, accounts);
        (payer.pubkey(), vec![vote], vec![payer, authority])
    }
}
