//! Measures common operations: `cargo run --release -p selkie --example speed`.

#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::time::Instant;

use selkie::{Account, Check, Pubkey, Signer, Svm, address, keypair, programs, system, token};

const ROUNDS: u32 = 2000;

/// Prints the duration of one round: the minimum over several batches of a few hundred rounds.
fn time(what: &str, rounds: u32, mut round: impl FnMut(u32)) {
    let chunk = (rounds / 10).max(1);
    let mut best = f64::INFINITY;
    for part in 0..rounds / chunk {
        let start = Instant::now();
        (0..chunk).for_each(|index| round(part * chunk + index));
        best = best.min(start.elapsed().as_secs_f64() / f64::from(chunk));
    }
    println!("{what:44} {:10.2} us", best * 1e6);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    time("Svm::new()", 2000, |_| {
        std::hint::black_box(Svm::new());
    });
    let payer = keypair("payer");
    let mut svm = Svm::new().with_signature_checks(false);
    svm.airdrop(&payer.pubkey(), u64::MAX / 2)?;
    let transactions = |svm: &Svm, make: &dyn Fn(u64) -> selkie::Instruction| {
        (0..u64::from(ROUNDS))
            .map(|index| svm.sign(&[make(index)], &[&payer]))
            .collect::<Result<Vec<_>, _>>()
    };
    let bob = address("bob");
    let transfers =
        transactions(&svm, &|n| system::transfer(&payer.pubkey(), &bob, 1_000_000_000 + n))?;
    let mut left = transfers.clone().into_iter();
    time("system transfer", ROUNDS, |_| {
        svm.send(left.next().expect("as many as rounds")).expect("it succeeds");
    });
    let mut checked = Svm::new();
    checked.airdrop(&payer.pubkey(), u64::MAX / 2)?;
    let mut left = transfers.into_iter();
    time("system transfer, signatures checked", ROUNDS, |_| {
        checked.send(left.next().expect("as many as rounds")).expect("it succeeds");
    });
    let pay = |n: u32| system::transfer(&payer.pubkey(), &bob, 2_000_000_000 + u64::from(n));
    let mut chain = Svm::new();
    chain.airdrop(&payer.pubkey(), u64::MAX / 2)?;
    time("sign, send, check, read", ROUNDS, |n| {
        let signed = chain.sign(&[pay(n)], &[&payer]).expect("it signs");
        chain.send(signed).expect("it succeeds").assert(Check::success().compute_units(150));
        std::hint::black_box(chain.balance(&bob));
    });
    let mut chain = Svm::new();
    chain.airdrop(&payer.pubkey(), u64::MAX / 2)?;
    time("send_instructions, check, read", ROUNDS, |n| {
        let receipt = chain.send_instructions(&[pay(n)], &[&payer]).expect("it succeeds");
        receipt.assert(Check::success().compute_units(150));
        std::hint::black_box(chain.balance(&bob));
    });
    for program in [programs::TOKEN, programs::TOKEN_2022] {
        time(&format!("add {}", program.name), 20, |_| {
            Svm::new().add_well_known_program(&program).expect("mainnet runs it");
        });
    }
    let (id, mint) = (programs::TOKEN.id, address("mint"));
    let put = |svm: &mut Svm, key: Pubkey, data: Vec<u8>| {
        let lamports = svm.minimum_balance_for_rent_exemption(data.len());
        svm.set_account(key, Account { lamports, data, owner: id, ..Account::default() })
    };
    let (from, to) = (address("from"), address("to"));
    put(&mut svm, mint, token::mint_data(&payer.pubkey(), 1 << 40, 6))?;
    put(&mut svm, from, token::account_data(&mint, &payer.pubkey(), 1 << 40))?;
    put(&mut svm, to, token::account_data(&mint, &payer.pubkey(), 0))?;
    let moves = transactions(&svm, &|n| token::transfer(&id, &from, &to, &payer.pubkey(), n + 1))?;
    let simulated = svm.clone();
    let mut left = moves.clone().into_iter();
    time("token transfer", ROUNDS, |_| {
        svm.send(left.next().expect("as many as rounds")).expect("it succeeds");
    });
    time("token transfer, simulated", ROUNDS, |n| {
        simulated.simulate(&moves[n as usize]).expect("it succeeds");
    });
    let start = svm.snapshot();
    let owners = transactions(&svm, &|n| {
        token::create_associated(&id, &payer.pubkey(), &address(&n.to_string()), &mint)
    })?;
    let mut left = owners.into_iter();
    time("associated account created", ROUNDS, |_| {
        svm.send(left.next().expect("as many as rounds")).expect("it succeeds");
    });
    svm.restore(&start)?;
    for accounts in [0_u32, 10_000, 100_000] {
        (0..accounts).for_each(|n| {
            svm.airdrop(&address(&n.to_string()), 1_000_000).expect("it is little");
        });
        let again =
            svm.sign(&[token::transfer(&id, &from, &to, &payer.pubkey(), 1 << 30)], &[&payer])?;
        time(&format!("snapshot, token transfer, restore; {accounts}"), ROUNDS, |_| {
            let snapshot = svm.snapshot();
            svm.send(&again).expect("it succeeds");
            svm.restore(&snapshot).expect("it is of this past");
        });
        time(&format!("clone; {accounts}"), 50, |_| drop(std::hint::black_box(svm.clone())));
    }
    Ok(())
}
