//! Arguments of `selkie send` and `selkie airdrop`, and those that all commands on a cluster share.

use selkie_client::numbers;
use std::path::PathBuf;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint, error::ErrorKind,
};

use super::program::StateArgs;

/// The forms of addresses and keys, for the help of every command that takes them.
pub(crate) const KEYS_HELP: &str = "\
KEY is an address or a key, in one of these forms:
  7V1FVd1s…                    32 bytes in base58
  vault                        a name defined by --name vault=KEY; a deployed program
                               can be named by its file name
  token, system, memo, clock   a well-known program or sysvar
  payer                        the fee payer
  alice.json                   a key file, as `selkie keygen new` writes it
  test:alice                   the public test key of `keypair(\"alice\")`
  pda:PROGRAM:SEED,SEED…       a program derived address; a SEED is text or a part of DATA
  ata:OWNER:MINT[:PROGRAM]     an associated token account";

/// Send instructions or a transaction, and show the result
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie send --program counter --accounts vault:w --data u64:2
  selkie send -P vault --accounts pda:vault:state,key:payer:w payer:ws -d anchor:deposit,u64:500
  selkie send -P memo -d str:one -P memo -d str:two       two instructions, one transaction
  selkie send -P system -a payer:ws alice.json:ws -d u32:0,u64:1000000,u64:8,key:counter
  selkie send instructions.json --simulate                does not change the cluster
  selkie send transaction.bin --any-blockhash             any version, as bytes, base64 or base58
  selkie send -P vault -d u8:1 --url localhost --skip-preflight    lands, also if it fails

Each --program starts an instruction; the accounts and data after it belong to it. The suffix `:w`
makes an account writable, `:s` a signer, `:ws` both, `:r` neither. A signer signs if KEY names its key,
for example a file.

{KEYS_HELP}

DATA is one or more parts, joined by commas:
  u8:N … u128:N  i8:N … i128:N  bool:true    little endian
  0x0a0b or 0a0b                             bytes in hexadecimal
  str:TEXT  base58:…  base64:…  @FILE        bytes
  string:TEXT                                32-bit length, then the text (Borsh)
  key:KEY                                    the 32 bytes of an address
  anchor:NAME                                the discriminator of an Anchor instruction

A JSON FILE holds an instruction, or a list of them:
  {{\"program\": \"counter\", \"accounts\": [\"vault:w\"], \"data\": \"u64:2\"}}"))]
pub(crate) struct SendArgs {
    /// A file of JSON instructions or a serialized transaction, or a transaction in base64 or base58
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<String>,

    #[command(flatten)]
    pub(crate) instructions: InstructionsArgs,

    /// Signers besides the payer
    #[arg(short, long = "signer", value_name = "KEY", num_args = 1..)]
    pub(crate) signers: Vec<String>,

    /// Show the result without changing the cluster
    #[arg(long)]
    pub(crate) simulate: bool,

    /// Print the signed transaction in base64 instead of sending it
    #[arg(long, conflicts_with = "simulate")]
    pub(crate) sign_only: bool,

    /// Send to the running cluster also what fails in the simulation before that
    #[arg(long, conflicts_with_all = ["simulate", "sign_only"])]
    pub(crate) skip_preflight: bool,

    /// Write the transaction with the state before it to a file, for `selkie trace`, `selkie debug` and
    /// others
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "sign_only")]
    pub(crate) save_replay: Option<PathBuf>,

    /// Compute unit limit of the transaction
    #[arg(short, long, value_name = "CU", value_parser = numbers::parse::<u32>)]
    pub(crate) limit: Option<u32>,

    /// Compute unit price in micro-lamports
    #[arg(long, value_name = "MICROLAMPORTS", value_parser = numbers::parse::<u64>)]
    pub(crate) price: Option<u64>,

    /// Heap size: 32768 to 262144 bytes, a multiple of 1024
    #[arg(long, value_name = "BYTES", value_parser = super::call::parse_heap)]
    pub(crate) heap: Option<u32>,

    /// Address lookup tables; makes this a version 0 transaction
    #[arg(long, value_name = "KEY", num_args = 1..)]
    pub(crate) lookup_table: Vec<String>,

    /// Do not check signatures; signers need no key
    #[arg(long, conflicts_with = "sign_only")]
    pub(crate) skip_signatures: bool,

    /// Accept a transaction with any blockhash
    #[arg(long, conflicts_with = "sign_only")]
    pub(crate) any_blockhash: bool,

    /// Write logs and names as they are, with their control characters and line breaks
    #[arg(long)]
    pub(crate) raw: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// The cluster to use, its names, and the payer.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) state: StateArgs,

    /// Name an address or key for this and later commands on the cluster
    #[arg(long = "name", value_name = "NAME=KEY")]
    pub(crate) names: Vec<String>,

    /// The fee payer, named `payer` [default: ~/.config/solana/id.json if it exists; else a key
    /// created beside the state]
    #[arg(short, long, value_name = "KEY", env = "SELKIE_PAYER")]
    pub(crate) payer: Option<String>,
}

/// Instructions of a command line, in order.
#[derive(Clone, Default, Debug)]
pub(crate) struct InstructionsArgs(pub(crate) Vec<InstructionArgs>);

/// An instruction as it was typed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct InstructionArgs {
    pub(crate) program: String,
    pub(crate) accounts: Vec<String>,
    pub(crate) data: Vec<String>,
}

impl Args for InstructionsArgs {
    fn augment_args(command: Command) -> Command {
        let argument = |id: &'static str, short: char, value: &'static str, help: &'static str| {
            let argument = Arg::new(id).long(id).short(short).value_name(value).help(help);
            argument.action(ArgAction::Append)
        };
        let accounts = argument("account", 'a', "KEY[:ws]", "The accounts of the instruction");
        command
            .arg(argument("program", 'P', "KEY", "The program to call; starts an instruction"))
            .arg(accounts.visible_alias("accounts").num_args(1..))
            .arg(argument("data", 'd', "DATA", "The data of the instruction"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for InstructionsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut all: Vec<(usize, &str, &String)> = Vec::new();
        for id in ["program", "account", "data"] {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let indices = matches.indices_of(id).into_iter().flatten();
            all.extend(indices.zip(values).map(|(index, value)| (index, id, value)));
        }
        all.sort();
        let mut instructions: Vec<InstructionArgs> = Vec::new();
        for (_, id, value) in all {
            if id == "program" {
                let program = value.clone();
                instructions.push(InstructionArgs { program, ..InstructionArgs::default() });
                continue;
            }
            let Some(last) = instructions.last_mut() else {
                let text = format!("`--{id} {value}` is before the first `--program`");
                return Err(Error::raw(ErrorKind::MissingRequiredArgument, text));
            };
            if id == "account" { &mut last.accounts } else { &mut last.data }.push(value.clone());
        }
        Ok(Self(instructions))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Give lamports of this cluster to an account
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie airdrop 10 alice.json
  selkie airdrop 1.5 7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq
  selkie airdrop 5000lamports test:bob
  selkie airdrop 100                      to the payer

{KEYS_HELP}"))]
pub(crate) struct AirdropArgs {
    /// Amount in SOL, or in lamports as 5000lamports
    #[arg(value_name = "AMOUNT")]
    pub(crate) amount: String,

    /// The recipient [default: the payer]
    #[arg(value_name = "KEY")]
    pub(crate) recipient: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Splits the flags `:w`, `:s` and `:r` off an account argument.
pub(crate) fn split_flags(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((before, flags))
            if !flags.is_empty() && flags.chars().all(|flag| "wsr".contains(flag)) =>
        {
            (before, flags)
        }
        _ => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        instructions: InstructionsArgs,
    }

    fn check(line: &str, expected: &[(&str, &[&str], &[&str])]) {
        let line = Line::try_parse_from(line.split_whitespace()).expect("the line is understood");
        let found = line.instructions.0;
        let owned = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        let expected = expected.iter().map(|(program, accounts, data)| InstructionArgs {
            program: (*program).to_owned(),
            accounts: owned(accounts),
            data: owned(data),
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn each_program_starts_an_instruction() {
        check("x", &[]);
        check("x -P a -d 1", &[("a", &[], &["1"])]);
        check(
            "x --program a --accounts b:w c --data 1 --program d --account e -a f -d 2 -d 3",
            &[("a", &["b:w", "c"], &["1"]), ("d", &["e", "f"], &["2", "3"])],
        );
    }

    #[test]
    fn data_before_the_first_program_is_rejected() {
        assert!(Line::try_parse_from(["x", "-d", "1", "-P", "a"]).is_err());
    }

    #[test]
    fn flags_are_split_off_the_last_part_only() {
        assert_eq!(split_flags("vault:ws"), ("vault", "ws"));
        assert_eq!(split_flags("pda:a:str:x:w"), ("pda:a:str:x", "w"));
        assert_eq!(split_flags("test:alice"), ("test:alice", ""));
        assert_eq!(split_flags("vault:"), ("vault:", ""));
    }
}
