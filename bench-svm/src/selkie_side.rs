//! Selkie, as those use it who test with it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
    vec::IntoIter,
};

use selkie::{Engine, Loader, Pubkey, Rent, Svm, VersionedTransaction};
use selkie_bench_seam::{Account, Calls, Failure, Key, Outcome, Side, Start, World};

/// Selkie with this engine.
pub(crate) struct Ours(pub(crate) Engine);

impl Side for Ours {
    fn open(&self, start: Start, verifies_signatures: bool) -> Result<Box<dyn World>, Failure> {
        // LiteSVM has the rent that mainnet had before, and accounts must come out alike.
        let svm = new(start)
            .with_rent(&Rent::default())
            .with_engine(self.0)
            .with_signature_checks(verifies_signatures);
        Ok(Box::new(Cluster { svm, waiting: Vec::new().into_iter() }))
    }

    fn time_open(&self, start: Start) -> Result<Duration, Failure> {
        let begin = Instant::now();
        let svm = black_box(new(start));
        let time = begin.elapsed();
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

struct Cluster {
    svm: Svm,
    waiting: IntoIter<VersionedTransaction>,
}

impl Cluster {
    fn each(
        &mut self,
        count: usize,
        call: impl Fn(&mut Svm, VersionedTransaction) -> Result<u64, Failure>,
    ) -> Result<Calls, Failure> {
        if self.waiting.len() < count {
            return Err("too few transactions wait".into());
        }
        let mut units = 0;
        let begin = Instant::now();
        for transaction in self.waiting.by_ref().take(count) {
            units = call(&mut self.svm, transaction)?;
        }
        Ok(Calls { time: begin.elapsed(), units })
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
        let loader = Loader::of(&Pubkey::new_from_array(loader)).ok_or("it is no loader")?;
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

    fn send_next(&mut self) -> Result<Outcome, Failure> {
        let transaction = self.waiting.next().ok_or("no transaction waits")?;
        let sent = self.svm.send(transaction);
        let receipt = sent.unwrap_or_else(|failed| failed.receipt);
        Ok(Outcome {
            result: format!("{:?}", receipt.result),
            fee: receipt.fee.total(),
            units: receipt.units,
            logs: receipt.logs.clone(),
            returned: receipt.returned().to_vec(),
        })
    }

    // The next three are not inlined, so that profilers can be told their names.

    #[inline(never)]
    fn send(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let sent = svm.send(transaction);
            Ok(sent.map_err(|failed| failed.to_string())?.units)
        })
    }

    #[inline(never)]
    fn simulate(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let simulated = svm.simulate(transaction);
            Ok(simulated.map_err(|failed| failed.to_string())?.units)
        })
    }

    #[inline(never)]
    fn send_and_restore(&mut self, count: usize) -> Result<Calls, Failure> {
        self.each(count, |svm, transaction| {
            let kept = svm.snapshot();
            let units = svm.send(transaction).map_err(|failed| failed.to_string())?.units;
            svm.restore(&kept).map_err(|error| error.to_string())?;
            Ok(units)
        })
    }
}
