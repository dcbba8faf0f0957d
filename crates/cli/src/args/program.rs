//! What can be said about deployed programs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::AssemblerArgs;

/// Show, deploy, upgrade and close programs, on the saved state of a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie program deploy hello.so                   a new cluster, if there is none yet
  selkie program show                              every program and buffer
  selkie program deploy hello.so                   again: an upgrade
  selkie program extend hello 10240                room for a longer file
  selkie program set-authority hello --final

The cluster is in the file that --state names, or SELKIE_STATE, or in selkie.state. A program
that was deployed has the name of its file; `selkie send --help` tells the other forms of addresses
and keys.")]
pub(crate) struct ProgramArgs {
    #[command(subcommand)]
    pub(crate) command: ProgramCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ProgramCommand {
    Show(ShowArgs),
    Dump(DumpArgs),
    Deploy(DeployArgs),
    Upgrade(UpgradeArgs),
    Extend(ExtendArgs),
    Close(CloseArgs),
    SetAuthority(SetAuthorityArgs),
}

/// Which cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateArgs {
    /// The saved state of the cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, env = "SELKIE_STATE")]
    #[arg(default_value = "selkie.state")]
    pub(crate) state: PathBuf,
}

/// Who pays and who decides.
#[derive(Args, Clone, Debug)]
pub(crate) struct SignerArgs {
    /// Who pays [default: ~/.config/solana/id.json if it is there; else a new key beside the state]
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath, env = "SELKIE_PAYER")]
    #[arg(alias = "keypair", alias = "fee-payer")]
    pub(crate) payer: Option<String>,

    /// Who may change the program [default: who pays]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    #[arg(alias = "upgrade-authority")]
    pub(crate) authority: Option<String>,
}

/// Show a program, a buffer, or all but those of every cluster
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The program or buffer: its name, its address, or the file of its key [default: all]
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Write the file of a program or buffer
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// The program or buffer: its name, its address, or the file of its key
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: String,

    /// Where to write it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Deploy a program by real transactions; one that is there already is upgraded
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie deploy target/deploy/counter.so
  selkie deploy counter.s --state dev.state        a source is assembled first
  selkie deploy counter.so --final                 nobody can ever change it
  selkie deploy counter.so --max-len 100000        room for longer files later

The program's address is that of NAME-keypair.json beside NAME.so, which is made if it is missing.
The file is checked as `selkie check` does before anything is sent or written. Symbols and debug
information are not deployed. A program that is too small for its new file is extended first.")]
pub(crate) struct DeployArgs {
    /// The program: .so, or .s to be assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// The key of the program's address; for an upgrade the address is enough
    #[arg(long, value_name = "KEYPAIR")]
    pub(crate) program_id: Option<String>,

    /// How long its files may become [default: as long as this one]
    #[arg(long, value_name = "BYTES", value_parser = crate::numbers::parse::<usize>)]
    pub(crate) max_len: Option<usize>,

    /// Let nobody change it, ever
    #[arg(long = "final")]
    pub(crate) is_final: bool,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Replace a program by another file
#[derive(Args, Debug)]
pub(crate) struct UpgradeArgs {
    /// The program: its name, its address, or the file of its key
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// The new file: .so, or .s to be assembled first
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Make room for longer files
#[derive(Args, Debug)]
pub(crate) struct ExtendArgs {
    /// The program: its name, its address, or the file of its key
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// How many bytes more
    #[arg(value_name = "BYTES", value_parser = crate::numbers::parse::<u32>)]
    pub(crate) bytes: u32,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Close a program or buffer; its address cannot be used again
#[derive(Args, Debug)]
pub(crate) struct CloseArgs {
    /// The program or buffer: its name, its address, or the file of its key
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// Who gets its lamports: an address, or the file of a key [default: who pays]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) recipient: Option<String>,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Hand a program or buffer to another authority, or to nobody
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("new").required(true))]
pub(crate) struct SetAuthorityArgs {
    /// The program or buffer: its name, its address, or the file of its key
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// The new authority: its address, or the file of its key
    #[arg(long, value_name = "ADDRESS", group = "new")]
    pub(crate) new_authority: Option<String>,

    /// Let nobody change the program, ever
    #[arg(long = "final", group = "new")]
    pub(crate) is_final: bool,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}
