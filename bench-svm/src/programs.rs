//! Programs from files, called alike on both sides: what becomes of each call must be the same.

use std::{fmt::Write, fs, path::Path};

use selkie::{AccountMeta, Hash, Instruction, Pubkey, Signer, address, ids};
use selkie_bench_seam::{Account, Failure, Outcome, Side, Start, World};

use crate::scene::{payer, wallet, wire};

/// The program that is called.
const PROGRAM: Pubkey = Pubkey::new_from_array([9; 32]);

/// What becomes of each program, a line for each.
///
/// # Errors
/// If the sides do not agree on one, or it does not run.
pub(crate) fn compare(
    theirs: &dyn Side,
    ours: &dyn Side,
    files: &[String],
) -> Result<String, Failure> {
    let mut text = String::new();
    for file in files {
        let elf = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        let [there, here] = [theirs, ours].map(|side| Seen::of(side, &elf));
        let there = there.map_err(|why| format!("{file}: LiteSVM: {why}"))?;
        let here = here.map_err(|why| format!("{file}: selkie: {why}"))?;
        let line = there.agree(&here).map_err(|why| format!("{file}: {why}"))?;
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        writeln!(text, "{name}: {line}").expect("a string takes all");
    }
    Ok(text)
}

/// What a side shows of a program.
struct Seen {
    outcomes: Vec<Outcome>,
    /// Balance and data of the accounts that were given, afterwards.
    accounts: Vec<Option<(u64, Vec<u8>)>>,
}

impl Seen {
    fn of(side: &dyn Side, elf: &[u8]) -> Result<Self, Failure> {
        let mut world = side.open(Start::Bare, false)?;
        set_up(&mut *world, elf)?;
        let (payer, blockhash) = (payer(), Hash::new_from_array(world.blockhash()));
        let calls = calls();
        let wire: Vec<_> = calls.iter().map(|call| wire(call, &payer, blockhash)).collect();
        world.queue(&wire)?;
        let outcomes = calls.iter().map(|_| world.send_next()).collect::<Result<_, _>>()?;
        let keys = [payer.pubkey(), address("counter"), address("full"), address("wide")];
        let accounts = keys.iter().map(|key| world.account(&key.to_bytes())).collect();
        Ok(Self { outcomes, accounts })
    }

    /// Says what became of the first call if both sides show the same, and the program ran.
    fn agree(&self, ours: &Self) -> Result<String, Failure> {
        let calls = calls();
        for ((there, here), call) in self.outcomes.iter().zip(&ours.outcomes).zip(&calls) {
            if there != here {
                let data = &call.data;
                return Err(format!("{data:?} gives\n  {there:?} there, and\n  {here:?} here"));
            }
        }
        if self.accounts != ours.accounts {
            let [there, here] = [&self.accounts, &ours.accounts];
            return Err(format!("accounts differ: {there:?} there, {here:?} here"));
        }
        let has_run = |it: &&Outcome| it.logs.iter().any(|line| line.contains(" consumed "));
        let ran = self.outcomes.iter().filter(has_run).count();
        let first = &self.outcomes[0];
        if ran == 0 {
            return Err(format!("it does not run: {first:?}"));
        }
        let all = self.outcomes.len();
        let Outcome { result, units, logs, .. } = first;
        Ok(format!("{ran} of {all} calls ran, all alike; first {result}, {units} CU, {logs:?}"))
    }
}

fn set_up(world: &mut dyn World, elf: &[u8]) -> Result<(), Failure> {
    world.set_account(payer().pubkey().to_bytes(), wallet())?;
    world.add_program(PROGRAM.to_bytes(), elf, ids::bpf_loader_upgradeable::ID.to_bytes())?;
    let accounts = [
        ("counter", 41_u64.to_le_bytes().to_vec()),
        ("full", u64::MAX.to_le_bytes().to_vec()),
        ("wide", vec![7; 300]),
    ];
    accounts.into_iter().try_for_each(|(name, data)| {
        let account = Account { lamports: 10_000_000, data, owner: PROGRAM.to_bytes() };
        world.set_account(address(name).to_bytes(), account)
    })
}

/// What a counter succeeds with comes first.
fn calls() -> Vec<Instruction> {
    let [counter, full, wide] = ["counter", "full", "wide"].map(address);
    let writable = |key| AccountMeta::new(key, false);
    let one = 1_u64.to_le_bytes();
    let rows = [
        (vec![writable(counter)], &one[..]),
        (vec![writable(full)], &one[..]),
        (vec![AccountMeta::new_readonly(counter, false)], &one[..]),
        (vec![writable(counter), writable(counter)], &one[..]),
        (vec![writable(wide)], &one[..]),
        (vec![writable(wide), writable(counter)], &[3, 1, 2]),
        (Vec::new(), &[]),
        (Vec::new(), &[200]),
        (Vec::new(), &[7; 300]),
        // One of our examples does not like a nine.
        (Vec::new(), &[1, 9, 3]),
    ];
    let call = |(accounts, data): (_, &[u8])| Instruction {
        program_id: PROGRAM,
        accounts,
        data: data.to_vec(),
    };
    rows.into_iter().map(call).collect()
}
