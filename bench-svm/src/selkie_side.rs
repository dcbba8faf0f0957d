//! Selkie's side, called as a test calls it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
    vec::IntoIter,
};

use selkie::{AccountMeta, Clock, Engine, Keypair, Loader, Pubkey, Svm, VersionedTransaction};
use selkie_bench_seam::{
    Account, Calls, Failure, Instruction, Key, Outcome, Side, Start, Test, World,
};

/// Runs measured work of Selkie, and returns its result and the time that it took.
///
/// `cargo xtask instructions` counts between entering and leaving this function, which it knows by
/// its name: the function is never inlined, and calls of it must not nest.
#[inline(never)]
pub(crate) fn time_selkie<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Selkie with this engine.
pub(crate) struct SelkieSide(pub(crate) Engine);

impl Side for SelkieSide {
    fn open(&self, start: Start, verifies_signatures: bool) -> Result<Box<dyn World>, Failure> {
        let mut svm = new(start).with_engine(self.0).with_signature_checks(verifies_signatures);
        // LiteSVM's time is that of 1970, which programs compare with what accounts hold.
        svm.set_clock(&Clock { slot: svm.clock().slot, ..Clock::default() });
        Ok(Box::new(Cluster { svm, waiting: Vec::new().into_iter(), test: None }))
    }

    fn time_open(&self, start: Start) -> Result<Duration, Failure> {
        let (svm, time) = time_selkie(|| black_box(new(start)));
        drop(svm);
        Ok(time)
    }
}

fn new(start: Start) -> Svm {
    match start {
        Start::Default => Svm::new(),
        Start::Bare => Svm::new().with_well_known_programs(false),
    }
}

fn instruction(it: &Instruction) -> selkie::Instruction {
    let accounts = it.accounts.iter().map(|&(key, is_signer, is_writable)| AccountMeta {
        pubkey: Pubkey::new_from_array(key),
        is_signer,
        is_writable,
    });
    selkie::Instruction {
        program_id: Pubkey::new_from_array(it.program),
        accounts: accounts.collect(),
        data: it.data.clone(),
    }
}

struct Cluster {
    svm: Svm,
    waiting: IntoIter<VersionedTransaction>,
    test: Option<OwnTest>,
}

struct OwnTest {
    payer: Keypair,
    instructions: IntoIter<selkie::Instruction>,
    read: Pubkey,
}

impl Cluster {
    fn each(
        &mut self,
        count: usize,
        call: impl Fn(&mut Svm, VersionedTransaction) -> Result<u64, Failure>,
    ) -> Result<Calls, Failure> {
        if self.waiting.len() < count {
            return Err("too few transactions are queued".into());
        }
        let Self { svm, waiting, .. } = self;
        let (compute_units, time) = time_selkie(|| {
            waiting.by_ref().take(count).try_fold(0, |_, transaction| call(svm, transaction))
        });
        Ok(Calls { time, compute_units: compute_units? })
    }
}

impl World for Cluster {
    fn blockhash(&self) -> Key {
        self.svm.latest_blockhash().to_bytes()
    }

    fn set_account(&mut self, key: Key, account: Account) -> Result<(), Failure> {
        let Account { lamports, data, owner } = account;
        let owner = Pubkey::new_from_array(owner);
        let account =
            selkie::Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
        let key = Pubkey::new_from_array(key);
        self.svm.set_account(key, account).map_err(|error| format!("{error:?}"))
    }

    fn account(&self, key: &Key) -> Option<(u64, Vec<u8>)> {
        let account = self.svm.account(&Pubkey::new_from_array(*key))?;
        Some((account.lamports, account.data))
    }

    fn add_program(&mut self, id: Key, elf: &[u8], loader: Key) -> Result<Duration, Failure> {
        let id = Pubkey::new_from_array(id);
        let loader = Loader::of(&Pubkey::new_from_array(loader)).ok_or("unknown loader")?;
        let (added, time) = time_selkie(|| self.svm.add_program_with_loader(id, elf, loader));
        added.map(|()| time).map_err(|error| error.to_string())
    }

    fn queue(&mut self, wire: &[Vec<u8>]) -> Result<(), Failure> {
        let read = |wire: &Vec<u8>| wincode::deserialize::<VersionedTransaction>(wire);
        let transactions: Result<Vec<_>, _> = wire.iter().map(read).collect();
        self.waiting = transactions.map_err(|error| error.to_string())?.into_iter();
        Ok(())
    }

    fn send_next(&mut self) -> Result<Outcome, Failure> {
        let transaction = self.waiting.next().ok_or("no transaction is queued")?;
        let sent = self.svm.send(transaction);
        let receipt = sent.unwrap_or_else(|failed| failed.receipt);
        Ok(Outcome {
            result: format!("{:?}", receipt.result),
            fee: receipt.fee.total(),
            compute_units: receipt.compute_units,
            logs: receipt.logs.clone(),
            returned: receipt.returned().to_vec(),
        })
    }

    fn send(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let sent = svm.send(transaction);
            Ok(sent.map_err(|failed| failed.to_string())?.compute_units)
        })
    }

    fn prepare(&mut self, test: &Test) {
        let instructions: Vec<_> = test.instructions.iter().map(instruction).collect();
        self.test = Some(OwnTest {
            payer: Keypair::new_from_array(test.payer),
            instructions: instructions.into_iter(),
            read: Pubkey::new_from_array(test.read),
        });
    }

    fn sign_send_read(&mut self, count: usize) -> Result<Calls, Failure> {
        let Self { svm, test, .. } = self;
        let OwnTest { payer, instructions, read } = test.as_mut().ok_or("nothing is prepared")?;
        if instructions.len() < count {
            return Err("too few instructions are prepared".into());
        }
        let (compute_units, time) = time_selkie(|| {
            instructions.by_ref().take(count).try_fold(0, |_, it| {
                let sent = svm.send_instructions(&[it], &[&*payer]);
                let receipt = sent.map_err(|failed| failed.to_string())?;
                let account = svm.account(read).ok_or("there is no account")?;
                black_box(account.lamports);
                Ok::<_, Failure>(receipt.compute_units)
            })
        });
        Ok(Calls { time, compute_units: compute_units? })
    }

    fn simulate(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let simulated = svm.simulate(transaction);
            Ok(simulated.map_err(|failed| failed.to_string())?.compute_units)
        })
    }

    fn send_and_restore(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let snapshot = svm.snapshot();
            let sent = svm.send(transaction).map_err(|failed| failed.to_string())?;
            svm.restore(&snapshot).map_err(|error| error.to_string())?;
            Ok(sent.compute_units)
        })
    }
}
