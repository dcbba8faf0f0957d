//! Calls a program with inputs, instructions and the accounts that they use; every result must be the
//! same on both sides.

use selkie::{AccountMeta, Hash, Instruction, Pubkey, Signer, ids, programs};
use selkie_bench_seam::{Account, Failure, Side, Start, World};
use selkie_bench_svm::call::call;
use serde_json::{Deserializer, Value};

use crate::scene::{payer, wallet};

/// The compute unit limit of the first input.
const COMPUTE_UNITS: u32 = 1_000_000;

/// An instruction and the accounts that it uses.
struct Input {
    instruction: Instruction,
    accounts: Vec<(Pubkey, Account)>,
}

/// Runs a program with each of the inputs, which are one JSON object after the other.
///
/// # Errors
/// If an input is not valid, or if the sides disagree.
pub(crate) fn compare(sides: [&dyn Side; 2], elf: &[u8], inputs: &[u8]) -> Result<String, Failure> {
    let mut worlds: Option<[Box<dyn World>; 2]> = None;
    let (mut count, mut ran, mut succeeded) = (0_u32, 0, 0);
    for input in Deserializer::from_slice(inputs).into_iter::<Value>() {
        let input = input.map_err(|error| error.to_string())?;
        let input = Input::read(&input).ok_or_else(|| format!("not an input: {input}"))?;
        let [there, here] = match &mut worlds {
            Some(worlds) => worlds,
            none => {
                let [there, here] = sides.map(|it| open(it, input.instruction.program_id, elf));
                none.insert([there?, here?])
            }
        };
        let (there, here) = (input.run(&mut **there, count)?, input.run(&mut **here, count)?);
        if there != here {
            let instruction = &input.instruction;
            return Err(format!("{instruction:?} gives\n  {there} there, and\n  {here} here"));
        }
        count += 1;
        ran += usize::from(there.contains(" consumed "));
        succeeded += usize::from(there.contains("result: \"Ok(())\""));
    }
    Ok(format!("{ran} of {count} inputs ran, {succeeded} succeeded, all alike"))
}

/// Opens a world with the program, and with the same version of every program that it may invoke.
fn open(side: &dyn Side, id: Pubkey, elf: &[u8]) -> Result<Box<dyn World>, Failure> {
    let mut world = side.open(Start::Default, false)?;
    let known = [programs::TOKEN, programs::TOKEN_2022, programs::ASSOCIATED_TOKEN, programs::MEMO];
    for program in known {
        world.add_program(
            program.id.to_bytes(),
            program.elf(),
            program.loader.address().to_bytes(),
        )?;
    }
    world.add_program(id.to_bytes(), elf, ids::bpf_loader_upgradeable::ID.to_bytes())?;
    world.set_account(payer().pubkey().to_bytes(), wallet())?;
    Ok(world)
}

impl Input {
    fn read(input: &Value) -> Option<Self> {
        let key = |value: &Value| value.as_str()?.parse::<Pubkey>().ok();
        let bytes = |value: &Value| {
            let byte = |it: &Value| u8::try_from(it.as_u64()?).ok();
            value.as_array()?.iter().map(byte).collect::<Option<Vec<u8>>>()
        };
        let meta = |it: &Value| {
            Some(AccountMeta {
                pubkey: key(&it["key"])?,
                is_signer: it["is_signer"].as_bool()?,
                is_writable: it["is_writable"].as_bool()?,
            })
        };
        let account = |it: &Value| {
            let owner = key(&it["owner"])?.to_bytes();
            let (lamports, data) = (it["lamports"].as_u64()?, bytes(&it["data"])?);
            Some((key(&it["key"])?, Account { lamports, data, owner }))
        };
        let listed = input["accounts"].as_array()?;
        Some(Self {
            instruction: Instruction {
                program_id: key(&input["program_id"])?,
                accounts: listed.iter().map(meta).collect::<Option<_>>()?,
                data: bytes(&input["instruction_data"])?,
            },
            accounts: listed.iter().map(account).collect::<Option<_>>()?,
        })
    }

    /// Runs the input, and describes everything that has to be the same: result, compute units, logs,
    /// return data and accounts. The number of the input makes the transaction a new one.
    fn run(&self, world: &mut dyn World, number: u32) -> Result<String, Failure> {
        let is_fixed = |owner: &[u8; 32]| FIXED.iter().any(|it| it.as_array() == owner);
        let accounts = || self.accounts.iter().filter(|(_, it)| !is_fixed(&it.owner));
        for (key, account) in accounts() {
            world.set_account(key.to_bytes(), account.clone())?;
        }
        let blockhash = Hash::new_from_array(world.blockhash());
        let limit = COMPUTE_UNITS.saturating_add(number);
        world.queue(&[call(self.instruction.clone(), limit, blockhash)])?;
        let outcome = world.send_next()?;
        let accounts: Vec<_> = accounts().map(|(key, _)| world.account(&key.to_bytes())).collect();
        Ok(format!("{outcome:?} {accounts:?}"))
    }
}

/// Owners of programs and sysvars, which each side has already.
const FIXED: [Pubkey; 5] = [
    ids::native_loader::ID,
    ids::bpf_loader::ID,
    ids::bpf_loader_deprecated::ID,
    ids::bpf_loader_upgradeable::ID,
    ids::sysvar::ID,
];
