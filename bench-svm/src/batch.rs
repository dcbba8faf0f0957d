//! A block of transactions that have nothing or little to do with each other, on one thread and on
//! two.

use std::{hint::black_box, time::Instant};

use selkie::{
    AccountSharedData, Engine, Pubkey, Signer, Svm, address, keypair, programs,
    runtime::{Bank, KeyMap, ProcessOptions, Recent, process_batch_into, transaction::Transaction},
    system, token,
};
use selkie_bench_seam::{Account, Failure};

use crate::{
    report::{Goal, Line},
    scene::{held, signed, wallet},
};

/// A block: half of its transactions move lamports, half of them tokens.
pub(crate) struct Block {
    pub(crate) name: &'static str,
    transactions: u64,
    verify_signatures: bool,
    /// Whether every tenth transaction moves lamports to the same account.
    is_crowded: bool,
}

const fn block(name: &'static str, transactions: u64, verify_signatures: bool) -> Block {
    Block { name, transactions, verify_signatures, is_crowded: false }
}

/// What is measured: as many as in a busy block, and so few that they fit between disturbances.
pub(crate) const BLOCKS: [Block; 5] = [
    block("block of 2000", 2000, false),
    block("block of 200", 200, false),
    block("block of 2000, signatures checked", 2000, true),
    block("block of 200, signatures checked", 200, true),
    Block { is_crowded: true, ..block("block of 2000, every tenth to one account", 2000, false) },
];

/// What a transaction takes on one thread and on two.
pub(crate) fn measure(
    &Block { name, transactions, verify_signatures, is_crowded }: &Block,
    engine: Engine,
    turns: u32,
) -> Result<Line, Failure> {
    let mut svm = Svm::new();
    let program = programs::TOKEN.id;
    let mint = address("mint");
    let mut put = |key: Pubkey, account: Account| {
        let Account { lamports, data, owner } = account;
        let owner = Pubkey::new_from_array(owner);
        let account =
            selkie::Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
        svm.set_account(key, account).map_err(|error| format!("{error:?}"))
    };
    put(mint, held(&programs::TOKEN, token::mint_data(&mint, 1 << 40, 6)))?;
    let mut instructions = Vec::new();
    for index in 0..transactions {
        let payer = keypair(&format!("payer {index}"));
        let [from, mut to] = ["from", "to"].map(|name| address(&format!("{name} {index}")));
        put(payer.pubkey(), wallet())?;
        if index % 2 == 0 {
            if is_crowded && index % 10 == 0 {
                to = address("one for all");
            }
            put(to, wallet())?;
            instructions.push((system::transfer(&payer.pubkey(), &to, 1), payer));
            continue;
        }
        for (key, amount) in [(from, 1_000), (to, 0)] {
            let data = token::account_data(&mint, &payer.pubkey(), amount);
            put(key, held(&programs::TOKEN, data))?;
        }
        instructions.push((token::transfer(&program, &from, &to, &payer.pubkey(), 1), payer));
    }
    let blockhash = svm.latest_blockhash();
    let block: Result<Vec<_>, _> = instructions
        .iter()
        .map(|(it, payer)| Transaction::new(signed(it, payer, blockhash), svm.features()))
        .collect();
    let block = block.map_err(|error| error.to_string())?;
    let accounts: KeyMap<AccountSharedData> =
        svm.accounts().map(|(key, it)| (key, it.clone())).collect();
    let recent = Recent::new([blockhash]);
    let programs = svm.program_cache();
    let bank =
        Bank { accounts: &accounts, environment: svm.environment(), recent: &recent, programs };
    let options = ProcessOptions { verify_signatures, engine };
    let mut results = Vec::new();
    let mut time = |threads: usize| {
        let begin = Instant::now();
        process_batch_into(&mut results, &block, &bank, &options, threads);
        black_box(&mut results);
        let time = begin.elapsed().as_secs_f64() * 1e6 / transactions as f64;
        let succeeded =
            |it: &Result<_, _>| matches!(it, Ok(selkie::runtime::Processed { result: Ok(()), .. }));
        if results.iter().all(succeeded) { Ok(time) } else { Err("a transaction fails") }
    };
    let mut least = [f64::INFINITY; 2];
    // It is seldom that nobody disturbs either of two threads.
    for _ in 0..(u64::from(turns) * 4).div_ceil(transactions / 200).max(3) {
        least = [least[0].min(time(1)?), least[1].min(time(2)?)];
    }
    let [one, two] = least;
    let goals: &[Goal] = if is_crowded { &[] } else { &[Goal::Ratio(1.85)] };
    Ok(Line { name, theirs: Some(one), ours: two, units: None, goals })
}
