//! Records items from an in-process chain: transfers, two token programs and Token-2022, associated
//! token accounts (whose creation invokes other programs), a program in assembly, and failures. What
//! the chain did is the expected result of each item.
//!
//! ```text
//! cargo run --release -p selkie-batch --example record_items -- FOLDER ITEMS [ITEMS_PER_FILE [MIX]]
//! ```
//!
//! With `verified` as the mix, signatures were verified before, as in a history; with `transfers`, all of
//! them are such transfers.

use std::{
    collections::BTreeSet,
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{BinaryArray, RecordBatch};
use parquet::arrow::ArrowWriter;
use selkie::{
    AccountMeta, Instruction, Keypair, Pubkey, Signer, Svm, address, keypair, programs, system,
    token,
};
use selkie_batch::{Base, Expectation, Item, ItemData, Items, Sha256, record, schema};
use solana_account::Account;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How many owners of tokens and counters there are.
const OWNERS: u64 = 64;
/// The first number of the second chain's transactions.
const SECOND_CHAIN: u64 = 1 << 30;
const USAGE: &str =
    "usage: record_items FOLDER ITEMS [ITEMS_PER_FILE [all | verified | transfers]]";
const SOL: u64 = 1_000_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, count, per_file, mix) = match &arguments[..] {
        [folder, count] => (folder, count.parse()?, 2000, Mix::All),
        [folder, count, per_file] => (folder, count.parse()?, per_file.parse()?, Mix::All),
        [folder, count, per_file, mix] => {
            (folder, count.parse()?, per_file.parse()?, Mix::parse(mix)?)
        }
        _ => return Err(USAGE.into()),
    };
    let folder = PathBuf::from(folder);
    fs::create_dir_all(folder.join("items"))?;
    fs::create_dir_all(folder.join("contents"))?;
    let mut chains = [Chain::new(false)?, Chain::new(true)?];
    let mut contents = Contents::default();
    let environments = [contents.environment(&chains[0]), contents.environment(&chains[1])];
    for (file, start) in (0..count).step_by(per_file).enumerate() {
        let mut items = Items::new();
        for index in start..count.min(start + per_file) {
            let which = index % 2;
            // The chains have numbers of their own, so that no two items are the same.
            let number = (index / 2) as u64 + which as u64 * SECOND_CHAIN;
            let env_ref = environments[which];
            chains[which].record(number, mix, env_ref, &mut contents, &mut items)?;
        }
        write(&folder.join("items").join(format!("{file:05}.parquet")), &items.finish()?)?;
    }
    write(&folder.join("contents/contents.parquet"), &contents.table()?)
}

fn write(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(batch)?;
    writer.close()?;
    Ok(())
}

/// Which transactions are recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    All,
    /// All kinds, with signatures that were verified before.
    Verified,
    /// Transfers, with signatures that were verified before.
    Transfers,
}

impl Mix {
    fn parse(name: &str) -> Result<Self> {
        match name {
            "all" => Ok(Self::All),
            "verified" => Ok(Self::Verified),
            "transfers" => Ok(Self::Transfers),
            _ => Err(USAGE.into()),
        }
    }
}

/// What items refer to by hash.
#[derive(Default)]
struct Contents {
    base: Base,
    hashes: BTreeSet<Sha256>,
}

impl Contents {
    fn environment(&mut self, chain: &Chain) -> Sha256 {
        let file = record::environment_file(chain.svm.environment(), []);
        let hash = self.base.add(file.to_bytes());
        self.hashes.insert(hash);
        hash
    }

    fn table(&self) -> Result<RecordBatch> {
        let hashes = self.hashes.iter();
        let data = hashes.clone().map(|hash| self.base.get(hash).map(|it| it.as_slice()));
        let hashes: Vec<&[u8]> = hashes.map(<[u8; 32]>::as_slice).collect();
        let hashes = Arc::new(BinaryArray::from_vec(hashes));
        let data = Arc::new(BinaryArray::from_opt_vec(data.collect()));
        Ok(RecordBatch::try_new(schema::contents(), vec![hashes, data])?)
    }
}

/// A chain with owners, each with a counter and with two accounts of each token program.
struct Chain {
    svm: Svm,
    owners: Vec<Keypair>,
}

impl Chain {
    /// With `old`, SPL Token is there in place of p-token.
    fn new(old: bool) -> Result<Self> {
        let mut svm = Svm::new();
        if old {
            svm.add_well_known_program(&programs::SPL_TOKEN)?;
        }
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scenarios/counter.so");
        svm.add_program(address("counter"), file.as_path())?;
        let owners: Vec<_> = (0..OWNERS).map(|it| keypair(&format!("owner {it}"))).collect();
        for program in TOKENS {
            svm.set_mint(mint(&program), &program, &owners[0].pubkey(), 6)?;
        }
        for owner in owners.iter().map(Signer::pubkey) {
            svm.airdrop(&owner, 1_000_000 * SOL)?;
            let account = Account {
                lamports: SOL,
                data: vec![0; 8],
                owner: address("counter"),
                ..Account::default()
            };
            svm.set_account(counter(&owner), account)?;
            for program in TOKENS {
                for side in 0..2 {
                    let key = purse(&program, &owner, side);
                    svm.set_token_account(key, &program, &mint(&program), &owner, u64::MAX / 256)?;
                }
            }
        }
        Ok(Self { svm, owners })
    }

    fn record(
        &mut self,
        index: u64,
        mix: Mix,
        env_ref: Sha256,
        contents: &mut Contents,
        items: &mut Items,
    ) -> Result<()> {
        let owner = &self.owners[usize::try_from(index % OWNERS)?];
        let instructions = match mix {
            Mix::All | Mix::Verified => instructions(index, &owner.pubkey()),
            Mix::Transfers => vec![transfer(index, &owner.pubkey())],
        };
        let transaction = self.svm.sign(&instructions, &[owner])?;
        let accounts = record::accounts(&self.svm.case(&transaction));
        let wire = wincode::serialize(&transaction)?;
        let receipt = self.svm.send(transaction).unwrap_or_else(|failed| failed.receipt);
        let error = receipt.result.as_ref().err().map(serde_json::to_string).transpose()?;
        let accounts: Vec<_> =
            accounts.iter().map(|it| record::item_account(it, &mut contents.base)).collect();
        contents.hashes.extend(accounts.iter().filter_map(|it| match it.data {
            ItemData::Ref(hash) => Some(hash),
            ItemData::Inline(_) => None,
        }));
        items.push(&Item {
            env_ref,
            message: &wire,
            accounts,
            verify_signatures: mix == Mix::All,
            expect: Some(Expectation {
                status: Some(if error.is_none() { "Success" } else { "Failed" }),
                error: error.as_deref(),
                compute_units: Some(receipt.compute_units),
                effects_hash: None,
            }),
            ..Item::default()
        });
        Ok(())
    }
}

const TOKENS: [Pubkey; 2] = [programs::TOKEN.id, programs::TOKEN_2022.id];

fn mint(program: &Pubkey) -> Pubkey {
    address(&format!("mint {program}"))
}

fn purse(program: &Pubkey, owner: &Pubkey, side: u64) -> Pubkey {
    address(&format!("purse {side} {program} {owner}"))
}

fn counter(owner: &Pubkey) -> Pubkey {
    address(&format!("counter {owner}"))
}

/// Returns a transfer to a new account.
fn transfer(index: u64, owner: &Pubkey) -> Instruction {
    system::transfer(owner, &address(&format!("stranger {index}")), SOL + index)
}

/// Returns the instructions of a transaction: a number makes each different from all others.
fn instructions(index: u64, owner: &Pubkey) -> Vec<Instruction> {
    let token = TOKENS[usize::from(index.is_multiple_of(3))];
    let (one, two) = (purse(&token, owner, 0), purse(&token, owner, 1));
    let stranger = address(&format!("stranger {index}"));
    let count = |bytes: &[u8]| Instruction {
        program_id: address("counter"),
        accounts: vec![AccountMeta::new(counter(owner), false)],
        data: bytes.to_vec(),
    };
    let pay = |amount| token::transfer(&token, &one, &two, owner, amount);
    match index % 16 {
        0..4 => vec![transfer(index, owner)],
        4..8 => vec![pay(index)],
        8 => vec![pay(index), token::transfer(&token, &two, &one, owner, index)],
        9 | 10 => vec![token::create_associated(&token, owner, &stranger, &mint(&token))],
        11 | 12 => vec![count(&index.to_le_bytes())],
        // Failures: no such balance, too few tokens after a transfer, data of a wrong length.
        13 => vec![system::transfer(owner, &stranger, u64::MAX - index)],
        14 => vec![pay(1), pay(u64::MAX - index)],
        _ => vec![count(&[&index.to_le_bytes()[..], &[0]].concat())],
    }
}
