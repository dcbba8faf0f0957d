//! Arguments of `selkie program` and `selkie deploy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use selkie_client::{Cluster, Location, Signers};
use selkie_isa::failure::Failure;

use super::AssemblerArgs;

/// Show, deploy, upgrade and close programs of a saved cluster
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie program deploy hello.so                   creates the cluster if there is none
  selkie program list                              programs and buffers
  selkie program deploy hello.so                   upgrades a deployed program
  selkie program extend hello 10240                allows larger files
  selkie program set-authority hello --final

The cluster is saved in the file given by --state or SELKIE_STATE, by default selkie.state. A deployed
program can be named by its file name; `selkie send --help` lists the other forms of addresses and
keys.")]
pub(crate) struct ProgramArgs {
    #[command(subcommand)]
    pub(crate) command: ProgramCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ProgramCommand {
    List(ListArgs),
    Show(ShowArgs),
    Dump(DumpArgs),
    Deploy(DeployArgs),
    Upgrade(UpgradeArgs),
    Extend(ExtendArgs),
    Close(CloseArgs),
    SetAuthority(SetAuthorityArgs),
}

/// The file of a cluster unless another one is named.
pub(crate) const STATE_FILE: &str = "selkie.state";

/// The cluster to use.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateArgs {
    /// The saved state of the cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, env = "SELKIE_STATE")]
    #[arg(default_value = STATE_FILE)]
    pub(crate) state: PathBuf,

    /// Use a running cluster instead: a URL, or a name such as localhost or devnet
    #[arg(short, long, value_name = "URL", env = "SELKIE_URL")]
    pub(crate) url: Option<String>,
}

impl StateArgs {
    /// Returns where the cluster is.
    pub(crate) fn location(&self) -> Location {
        Location { state: self.state.clone(), url: self.url.clone() }
    }

    /// Opens an existing cluster.
    pub(crate) fn open(&self) -> Result<Cluster, Failure> {
        Cluster::open(&self.location())
    }

    /// Opens a cluster, or creates one in memory if its file does not exist.
    pub(crate) fn open_or_new(&self) -> Result<Cluster, Failure> {
        Cluster::open_or_new(&self.location())
    }
}

/// The payer and the authority.
#[derive(Args, Clone, Debug)]
pub(crate) struct SignerArgs {
    /// The fee payer [default: ~/.config/solana/id.json if it exists; else a key created beside the state]
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath, env = "SELKIE_PAYER")]
    #[arg(alias = "keypair", alias = "fee-payer")]
    pub(crate) payer: Option<String>,

    /// The upgrade authority [default: the payer]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    #[arg(alias = "upgrade-authority")]
    pub(crate) authority: Option<String>,
}

impl SignerArgs {
    /// Returns the payer and the authority. Airdrops lamports to a payer without any.
    pub(crate) fn choose(&self, cluster: &mut Cluster) -> Result<Signers, Failure> {
        cluster.choose_signers(self.payer.as_deref(), self.authority.as_deref())
    }
}

/// List programs and buffers
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Show a program or buffer, or list all except those of a new cluster
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The program or buffer: name, address or key file [default: all]
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Write the ELF file of a program or buffer
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// The program or buffer: name, address or key file
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: String,

    /// The output file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Deploy or upgrade a program by real transactions
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie deploy target/deploy/counter.so
  selkie deploy counter.s --state dev.state        assembles the source first
  selkie deploy counter.so --final                 makes the program immutable
  selkie deploy counter.so --max-len 100000        allows larger files later

The key of the program's address is NAME-keypair.json beside NAME.so, created if it is missing.
The file is checked as by `selkie check` before anything is sent or written. Symbols and debug
information are not deployed. An upgrade extends the programdata account if the new file is too large.")]
pub(crate) struct DeployArgs {
    /// The program: .so, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// The key file of the program's address; for an upgrade, the address suffices
    #[arg(long, value_name = "KEYPAIR")]
    pub(crate) program_id: Option<String>,

    /// Maximum size of later files [default: the size of this file]
    #[arg(long, value_name = "BYTES", value_parser = selkie_client::numbers::parse::<usize>)]
    pub(crate) max_len: Option<usize>,

    /// Make the program immutable
    #[arg(long = "final")]
    pub(crate) is_final: bool,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Upgrade a program to a new file
#[derive(Args, Debug)]
pub(crate) struct UpgradeArgs {
    /// The program: name, address or key file
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// The new file: .so, or .s, which is assembled first
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Extend the programdata account for larger files
#[derive(Args, Debug)]
pub(crate) struct ExtendArgs {
    /// The program: name, address or key file
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// Number of bytes to add
    #[arg(value_name = "BYTES", value_parser = selkie_client::numbers::parse::<u32>)]
    pub(crate) bytes: u32,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Close a program or buffer; its address cannot be used again
#[derive(Args, Debug)]
pub(crate) struct CloseArgs {
    /// The program or buffer: name, address or key file
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// The recipient of its lamports: address or key file [default: the payer]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) recipient: Option<String>,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}

/// Change the authority of a program or buffer, or remove it
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("new").required(true))]
pub(crate) struct SetAuthorityArgs {
    /// The program or buffer: name, address or key file
    #[arg(value_name = "PROGRAM")]
    pub(crate) id: String,

    /// The new authority: address or key file
    #[arg(long, value_name = "ADDRESS", group = "new")]
    pub(crate) new_authority: Option<String>,

    /// Make the program immutable
    #[arg(long = "final", group = "new")]
    pub(crate) is_final: bool,

    #[command(flatten)]
    pub(crate) signers: SignerArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,
}
