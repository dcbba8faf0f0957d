//! Blocks of transactions that conflict little or not at all, on one thread and on two.

use std::{hint::black_box, time::Duration};

use selkie::{
    AccountSharedData, Engine, Instruction, Keypair, Pubkey, Signer, Svm, address, keypair,
    programs,
    runtime::{
        BatchWorkspace, BlockhashQueue, ChainState, KeyMap, ProcessOptions, Processed,
        process_batch_into, transaction::Transaction,
    },
    system, token,
};
use selkie_bench_seam::{Account, Failure};

use crate::{
    report::{Figure, Goal, Line},
    scene::{held, signed, wallet},
    selkie_side::time_selkie,
};

/// A block: half of its transactions transfer lamports, half of them tokens.
pub(crate) struct Block {
    pub(crate) name: &'static str,
    transactions: u64,
    verify_signatures: bool,
    /// Whether every tenth transaction transfers lamports to the same account.
    is_crowded: bool,
}

const fn block(name: &'static str, transactions: u64, verify_signatures: bool) -> Block {
    Block { name, transactions, verify_signatures, is_crowded: false }
}

/// As many transactions as in a busy block, and so few that they fit between disturbances.
pub(crate) const BLOCKS: [Block; 5] = [
    block("block of 2000", 2000, false),
    block("block of 200", 200, false),
    block("block of 2000, signatures checked", 2000, true),
    block("block of 200, signatures checked", 200, true),
    Block { is_crowded: true, ..block("block of 2000, every tenth to one account", 2000, false) },
];

/// Measures a block on one thread and on two.
pub(crate) fn measure(block: &Block, engine: Engine, turns: u32) -> Result<Line, Failure> {
    let prepared = Prepared::new(block, engine)?;
    let mut results = Vec::new();
    let mut workspace = BatchWorkspace::default();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    // Two threads are disturbed more often than one, so more turns are needed.
    for _ in 0..(u64::from(turns) * 4).div_ceil(block.transactions / 200).max(3) {
        one.push(prepared.process(&mut results, 1, &mut workspace)?);
        two.push(prepared.process(&mut results, 2, &mut workspace)?);
    }
    let goals: &[Goal] = if block.is_crowded { &[] } else { &[Goal::Ratio(1.85)] };
    Ok(Line {
        name: block.name,
        first: Figure::us(one, block.transactions),
        second: Figure::us(two, block.transactions).ok_or("there is no turn")?,
        compute_units: None,
        goals,
    })
}

/// Warms up, then processes a block `times` times on one thread.
pub(crate) fn repeat(block: &Block, engine: Engine, times: u32) -> Result<(), Failure> {
    let prepared = Prepared::new(block, engine)?;
    let mut results = Vec::new();
    let mut workspace = BatchWorkspace::default();
    (0..2 + times).try_for_each(|_| prepared.process(&mut results, 1, &mut workspace).map(drop))
}

/// The results of a block's transactions.
type Results = Vec<Result<Box<Processed>, selkie::TransactionError>>;

/// A block, ready to be processed any number of times.
struct Prepared {
    svm: Svm,
    accounts: KeyMap<AccountSharedData>,
    blockhash_queue: BlockhashQueue,
    transactions: Vec<Transaction>,
    options: ProcessOptions,
}

impl Prepared {
    fn new(block: &Block, engine: Engine) -> Result<Self, Failure> {
        let mut svm = Svm::new();
        put(&mut svm, mint(), held(&programs::TOKEN, token::mint_data(&mint(), 1 << 40, 6)))?;
        let blockhash = svm.latest_blockhash();
        let mut transactions = Vec::new();
        for index in 0..block.transactions {
            let (instruction, payer) = block.instruction(&mut svm, index)?;
            let signed = signed(&instruction, &payer, blockhash);
            let transaction = Transaction::new(signed, svm.rules());
            transactions.push(transaction.map_err(|error| error.to_string())?);
        }
        Ok(Self {
            accounts: svm.accounts().map(|(key, it)| (key, it.clone())).collect(),
            blockhash_queue: BlockhashQueue::new([blockhash]),
            transactions,
            options: ProcessOptions {
                verify_signatures: block.verify_signatures,
                engine,
                budget: None,
            },
            svm,
        })
    }

    /// Processes all transactions, and returns the time that it took.
    fn process(
        &self,
        results: &mut Results,
        threads: usize,
        workspace: &mut BatchWorkspace,
    ) -> Result<Duration, Failure> {
        let chain = ChainState {
            accounts: &self.accounts,
            environment: self.svm.environment(),
            blockhash_queue: &self.blockhash_queue,
            programs: self.svm.program_cache(),
        };
        let ((), time) = time_selkie(|| {
            process_batch_into(
                results,
                &self.transactions,
                &chain,
                &self.options,
                threads,
                workspace,
            );
            black_box(&mut *results);
        });
        let succeeds =
            |it: &Result<Box<Processed>, _>| it.as_ref().is_ok_and(|it| it.result.is_ok());
        if results.iter().all(succeeds) { Ok(time) } else { Err("a transaction fails".into()) }
    }
}

impl Block {
    /// Adds the accounts of a transaction, and returns its instruction and its payer.
    fn instruction(&self, svm: &mut Svm, index: u64) -> Result<(Instruction, Keypair), Failure> {
        let payer = keypair(&format!("payer {index}"));
        let [from, mut to] = ["from", "to"].map(|name| address(&format!("{name} {index}")));
        put(svm, payer.pubkey(), wallet())?;
        if index.is_multiple_of(2) {
            if self.is_crowded && index.is_multiple_of(10) {
                to = address("one for all");
            }
            put(svm, to, wallet())?;
            return Ok((system::transfer(&payer.pubkey(), &to, 1), payer));
        }
        for (key, amount) in [(from, 1_000), (to, 0)] {
            let data = token::account_data(&mint(), &payer.pubkey(), amount);
            put(svm, key, held(&programs::TOKEN, data))?;
        }
        Ok((token::transfer(&programs::TOKEN.id, &from, &to, &payer.pubkey(), 1), payer))
    }
}

fn mint() -> Pubkey {
    address("mint")
}

fn put(svm: &mut Svm, key: Pubkey, account: Account) -> Result<(), Failure> {
    let Account { lamports, data, owner } = account;
    let owner = Pubkey::new_from_array(owner);
    let account =
        selkie::Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
    svm.set_account(key, account).map_err(|error| format!("{error:?}"))
}
