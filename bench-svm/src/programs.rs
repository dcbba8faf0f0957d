//! Calls programs from files on both sides; every result must be the same.

use std::{fmt::Write, fs, path::Path};

use selkie::{AccountMeta, Hash, Instruction, Pubkey, Signer, address, ids};
use selkie_bench_seam::{Account, Failure, Outcome, Side, Start, World};

use crate::{
    inputs,
    scene::{payer, wallet, wire},
};

/// The program that is called.
const PROGRAM: Pubkey = Pubkey::new_from_array([9; 32]);

/// Compares each file's program on both sides, and returns one line per file. A file of inputs, whose
/// name ends with `.json`, is for the program before it.
///
/// # Errors
/// If the sides disagree on a program, or if no call reaches it.
pub(crate) fn compare(
    litesvm: &dyn Side,
    selkie: &dyn Side,
    files: &[String],
) -> Result<String, Failure> {
    let mut text = String::new();
    let mut program = None;
    for file in files {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        let line = if name.ends_with(".json") {
            let elf: &Vec<u8> = program.as_ref().ok_or("the inputs follow no program")?;
            inputs::compare([litesvm, selkie], elf, &bytes)
        } else {
            compare_calls([litesvm, selkie], program.insert(bytes))
        };
        let line = line.map_err(|error| format!("{file}: {error}"))?;
        writeln!(text, "{name}: {line}").expect("writing to a string succeeds");
    }
    Ok(text)
}

/// Makes the calls below on both sides, and describes the first.
fn compare_calls(sides: [&dyn Side; 2], elf: &[u8]) -> Result<String, Failure> {
    let [there, here] = sides.map(|side| Observed::new(side, elf));
    let there = there.map_err(|error| format!("LiteSVM: {error}"))?;
    there.agree(&here.map_err(|error| format!("selkie: {error}"))?)
}

/// Everything that is compared of a program's calls.
struct Observed {
    outcomes: Vec<Outcome>,
    /// Balance and data of the accounts after all calls.
    accounts: Vec<Option<(u64, Vec<u8>)>>,
}

impl Observed {
    fn new(side: &dyn Side, elf: &[u8]) -> Result<Self, Failure> {
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

    /// Describes the first call if both sides observed the same and the program ran.
    fn agree(&self, selkie: &Self) -> Result<String, Failure> {
        let calls = calls();
        for ((there, here), call) in self.outcomes.iter().zip(&selkie.outcomes).zip(&calls) {
            if there != here {
                let data = &call.data;
                return Err(format!("{data:?} gives\n  {there:?} there, and\n  {here:?} here"));
            }
        }
        if self.accounts != selkie.accounts {
            let [there, here] = [&self.accounts, &selkie.accounts];
            return Err(format!("accounts differ: {there:?} there, {here:?} here"));
        }
        let has_run = |it: &&Outcome| it.logs.iter().any(|line| line.contains(" consumed "));
        let ran = self.outcomes.iter().filter(has_run).count();
        let first = &self.outcomes[0];
        if ran == 0 {
            return Err(format!("the program does not run: {first:?}"));
        }
        let all = self.outcomes.len();
        let Outcome { result, compute_units, logs, .. } = first;
        Ok(format!(
            "{ran} of {all} calls ran, all alike; first {result}, {compute_units} CU, {logs:?}"
        ))
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

/// The calls, the first of which succeeds with a counter program.
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
        // One of the examples fails on the byte 9.
        (Vec::new(), &[1, 9, 3]),
    ];
    let call = |(accounts, data): (_, &[u8])| Instruction {
        program_id: PROGRAM,
        accounts,
        data: data.to_vec(),
    };
    rows.into_iter().map(call).collect()
}
