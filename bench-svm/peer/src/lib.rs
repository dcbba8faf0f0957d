//! LiteSVM's side, called as a test calls it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
    vec::IntoIter,
};

use litesvm::LiteSVM;
use selkie_bench_seam::{
    Account, Calls, Failure, Instruction, Key, Outcome, Side, Start, Test, World,
};
use solana_address::Address;
use solana_instruction::AccountMeta;
use solana_keypair::{Keypair, Signer};
use solana_transaction::{Transaction, versioned::VersionedTransaction};

/// The symbol that `selkie-bench-svm` looks up.
#[unsafe(no_mangle)]
pub fn selkie_bench_side() -> Box<dyn Side> {
    Box::new(Peer)
}

struct Peer;

impl Side for Peer {
    fn open(&self, start: Start, verifies_signatures: bool) -> Result<Box<dyn World>, Failure> {
        let svm = new(start).with_sigverify(verifies_signatures);
        Ok(Box::new(Cluster { svm, waiting: Vec::new().into_iter(), test: None }))
    }

    fn time_open(&self, start: Start) -> Result<Duration, Failure> {
        let begin = Instant::now();
        let svm = black_box(new(start));
        let time = begin.elapsed();
        drop(svm);
        Ok(time)
    }
}

fn new(start: Start) -> LiteSVM {
    match start {
        Start::Default => LiteSVM::new(),
        // As `LiteSVM::new`, without the programs.
        Start::Bare => LiteSVM::default()
            .with_mainnet_features()
            .with_builtins()
            .with_lamports(1_000_000_000_000_000)
            .with_sysvars()
            .with_feature_accounts()
            .with_sigverify(true)
            .with_blockhash_check(true),
    }
}

fn instruction(it: &Instruction) -> solana_instruction::Instruction {
    let accounts = it.accounts.iter().map(|&(key, is_signer, is_writable)| AccountMeta {
        pubkey: Address::new_from_array(key),
        is_signer,
        is_writable,
    });
    solana_instruction::Instruction {
        program_id: Address::new_from_array(it.program),
        accounts: accounts.collect(),
        data: it.data.clone(),
    }
}

struct Cluster {
    svm: LiteSVM,
    waiting: IntoIter<VersionedTransaction>,
    test: Option<OwnTest>,
}

struct OwnTest {
    payer: Keypair,
    instructions: IntoIter<solana_instruction::Instruction>,
    read: Address,
}

impl Cluster {
    fn each(
        &mut self,
        count: usize,
        call: impl Fn(&mut LiteSVM, VersionedTransaction) -> Result<u64, Failure>,
    ) -> Result<Calls, Failure> {
        if self.waiting.len() < count {
            return Err("too few transactions are queued".into());
        }
        let mut compute_units = 0;
        let begin = Instant::now();
        for transaction in self.waiting.by_ref().take(count) {
            compute_units = call(&mut self.svm, transaction)?;
        }
        Ok(Calls { time: begin.elapsed(), compute_units })
    }
}

impl World for Cluster {
    fn blockhash(&self) -> Key {
        self.svm.latest_blockhash().to_bytes()
    }

    fn set_account(&mut self, key: Key, account: Account) -> Result<(), Failure> {
        let Account { lamports, data, owner } = account;
        let owner = Address::new_from_array(owner);
        let account = solana_account::Account {
            lamports,
            data,
            owner,
            executable: false,
            rent_epoch: u64::MAX,
        };
        let key = Address::new_from_array(key);
        self.svm.set_account(key, account).map_err(|error| error.to_string())
    }

    fn account(&self, key: &Key) -> Option<(u64, Vec<u8>)> {
        let account = self.svm.get_account(&Address::new_from_array(*key))?;
        Some((account.lamports, account.data))
    }

    fn add_program(&mut self, id: Key, elf: &[u8], loader: Key) -> Result<Duration, Failure> {
        let (id, loader) = (Address::new_from_array(id), Address::new_from_array(loader));
        let begin = Instant::now();
        let added = self.svm.add_program_with_loader(id, elf, loader);
        let time = begin.elapsed();
        added.map(|()| time).map_err(|error| error.to_string())
    }

    fn queue(&mut self, wire: &[Vec<u8>]) -> Result<(), Failure> {
        let read = |wire: &Vec<u8>| wincode::deserialize::<VersionedTransaction>(wire);
        let transactions: Result<Vec<_>, _> = wire.iter().map(read).collect();
        self.waiting = transactions.map_err(|error| error.to_string())?.into_iter();
        Ok(())
    }

    fn send(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let sent = svm.send_transaction(transaction);
            Ok(sent.map_err(|failed| format!("{failed:?}"))?.compute_units_consumed)
        })
    }

    fn prepare(&mut self, test: &Test) {
        let instructions: Vec<_> = test.instructions.iter().map(instruction).collect();
        self.test = Some(OwnTest {
            payer: Keypair::new_from_array(test.payer),
            instructions: instructions.into_iter(),
            read: Address::new_from_array(test.read),
        });
    }

    fn sign_send_read(&mut self, count: usize) -> Result<Calls, Failure> {
        let Self { svm, test, .. } = self;
        let OwnTest { payer, instructions, read } = test.as_mut().ok_or("nothing is prepared")?;
        if instructions.len() < count {
            return Err("too few instructions are prepared".into());
        }
        let mut compute_units = 0;
        let begin = Instant::now();
        for it in instructions.by_ref().take(count) {
            let transaction = Transaction::new_signed_with_payer(
                &[it],
                Some(&payer.pubkey()),
                &[&*payer],
                svm.latest_blockhash(),
            );
            let sent = svm.send_transaction(transaction);
            compute_units = sent.map_err(|failed| format!("{failed:?}"))?.compute_units_consumed;
            let account = svm.get_account(read).ok_or("there is no account")?;
            black_box(account.lamports);
        }
        Ok(Calls { time: begin.elapsed(), compute_units })
    }

    fn send_next(&mut self) -> Result<Outcome, Failure> {
        let transaction = self.waiting.next().ok_or("no transaction is queued")?;
        let (result, meta) = match self.svm.send_transaction(transaction) {
            Ok(meta) => (Ok(()), meta),
            Err(failed) => (Err(failed.err), failed.meta),
        };
        Ok(Outcome {
            result: format!("{result:?}"),
            fee: meta.fee,
            compute_units: meta.compute_units_consumed,
            logs: meta.logs,
            returned: meta.return_data.data,
        })
    }

    fn simulate(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let simulated = svm.simulate_transaction(transaction);
            Ok(simulated.map_err(|failed| format!("{failed:?}"))?.meta.compute_units_consumed)
        })
    }

    fn send_and_restore(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            // LiteSVM has no snapshots; a clone takes their place.
            let snapshot = svm.clone();
            let sent = svm.send_transaction(transaction);
            let compute_units =
                sent.map_err(|failed| format!("{failed:?}"))?.compute_units_consumed;
            *svm = snapshot;
            Ok(compute_units)
        })
    }
}
