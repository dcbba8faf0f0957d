//! The command line: what can be said, and the help that teaches it.

pub(crate) mod account;
pub(crate) mod cache;
mod habits;
pub(crate) mod keygen;
pub(crate) mod parse;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod token;

use std::{ops::Range, path::PathBuf};

use clap::{
    Args, ColorChoice, Parser, Subcommand, ValueEnum, ValueHint,
    builder::styling::{AnsiColor, Styles},
};
use selkie_isa::Version;

use crate::numbers;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Exit codes:
  0  it worked: the program succeeded, the file is sound, every vector passed
  1  it did not: the source has errors, the program failed or was refused, a vector failed
  2  it could not be tried: wrong arguments, a file that cannot be read or understood

With --json, every failure is one object on one line, with at least these fields:
  success  false
  error    what is wrong, in one sentence
  help     what to do about it, or null";

/// The program engine for Solana: assemble, check, disassemble, run and trace sBPF programs, to
/// the byte and compute unit as mainnet does
#[derive(Parser, Debug)]
#[command(name = "selkie", version, styles = STYLES, after_help = EXIT_CODES)]
#[command(propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print one JSON object on one line instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    New(crate::command::new::NewArgs),
    Build(crate::command::build::BuildArgs),
    Link(crate::command::link::LinkArgs),
    Fmt(crate::command::fmt::FmtArgs),
    #[cfg(feature = "lsp")]
    Lsp(crate::command::lsp::LspArgs),
    #[cfg(not(feature = "lsp"))]
    #[command(hide = true)]
    Lsp(crate::command::absent::AbsentArgs),
    Run(RunArgs),
    Check(CheckArgs),
    Disasm(DisasmArgs),
    Cfg(CfgArgs),
    Input(InputArgs),
    Program(program::ProgramArgs),
    Deploy(program::DeployArgs),
    Send(Box<send::SendArgs>),
    Airdrop(send::AirdropArgs),
    Account(account::AccountArgs),
    Token(token::TokenArgs),
    Keygen(keygen::KeygenArgs),
    Cache(cache::CacheArgs),
    #[cfg(feature = "conform")]
    Conform(ConformArgs),
    #[cfg(not(feature = "conform"))]
    #[command(hide = true)]
    Conform(crate::command::absent::AbsentArgs),
    Completions(CompletionsArgs),
}

/// How to assemble a source.
#[derive(Args, Clone, Debug)]
pub(crate) struct AssemblerArgs {
    /// The sBPF version to assemble for
    #[arg(short, long, value_name = "VERSION", default_value = "v3")]
    #[arg(value_parser = parse_version, visible_alias = "sbpf-version")]
    pub(crate) arch: Version,

    /// Look for included files in this folder too
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,

    /// Define a constant, as `.equ NAME, VALUE` would
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = parse_define)]
    pub(crate) defines: Vec<(String, i64)>,
}

/// Load and verify a program, and say what is wrong with it and where
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie check program.so              would a deployment be accepted today?
  selkie check program.so --execution  would it run if it were deployed already?
  selkie check program.s --json")]
pub(crate) struct CheckArgs {
    /// The program: .so, or .s to be assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Apply the rules for programs that are deployed already, which are more lenient
    #[arg(long)]
    pub(crate) execution: bool,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Disassemble a program into source that assembles to the same bytes
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie disasm program.so
  selkie disasm program.so --bytes --addresses | less
  selkie disasm program.so --function entrypoint
  selkie disasm program.so --native         with the machine code that the JIT makes of it
  selkie disasm program.so --style anza     as anza's tools print it
  selkie disasm text.bin --raw --arch v0    bare instructions without an ELF file")]
pub(crate) struct DisasmArgs {
    /// The program: .so, loadable or not, or .s to be assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Whose conventions to follow
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: StyleArg,

    /// Note the bytes of each instruction
    #[arg(long)]
    pub(crate) bytes: bool,

    /// Note the slot and address of each instruction
    #[arg(long)]
    pub(crate) addresses: bool,

    /// List this function only, by name or by the slot that it starts at
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub(crate) function: Option<String>,

    /// List these slots only: 12..20, 12.., ..20, or 12 alone
    #[arg(long, value_name = "START..END", value_parser = parse_range)]
    pub(crate) range: Option<Range<u32>>,

    /// Show beneath each instruction the machine code that the JIT makes of it, by offset: what is
    /// out of the way of the usual flow as `cold`, and what all instructions share at the end,
    /// unless a part of the program was asked for
    #[arg(long, conflicts_with_all = ["style", "bytes", "addresses"])]
    pub(crate) native: bool,

    /// Whether that machine code is hardened as validators have it; `off` is easier to read.
    /// Either way it comes out the same each time
    #[arg(long, value_enum, default_value_t, requires = "native", value_name = "WHETHER")]
    pub(crate) hardening: SwitchArg,

    /// The file holds bare instructions of the version that --arch says
    #[arg(long)]
    pub(crate) raw: bool,

    /// Write to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Draw the control-flow graph of a program in Graphviz' language
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie cfg program.so | dot -Tsvg > program.svg
  selkie cfg program.so --function entrypoint --dominators
  selkie cfg program.so --json         blocks, edges and dominators as data")]
pub(crate) struct CfgArgs {
    /// The program: .so, loadable or not, or .s to be assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Draw this function only, by name or by the slot that it starts at
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    /// Draw a line from each block to its immediate dominator
    #[arg(long)]
    pub(crate) dominators: bool,

    /// The file holds bare instructions of the version that --arch says
    #[arg(long)]
    pub(crate) raw: bool,

    /// Write to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Run a program with accounts and instruction data, and see exactly what happened
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie run hello.s
  selkie run counter.s --input input.json --trace trace.txt
  selkie run token.so --input transfer.json --limit 5000
  selkie run program.so --accounts vault.json payer.json:s --data u8:1,u64:500
  selkie run program.so --input call.json --program oracle=oracle.so    a program it calls
  selkie run program.s --state selkie.state --accounts vault payer:s    accounts of a cluster
  selkie run program.so --feature Blake3=on

Programs that most clusters have can be called: token, token-2022, associated-token, memo and others.
A saved cluster is read and stays as it is; `selkie send` is what changes it.

DATA is one or more parts, joined by commas:
  u8:N u16:N u32:N u64:N i64:N    a number, little endian
  0x0a0b or 0a0b                  bytes in hexadecimal
  str:TEXT  key:BASE58  base58:…  base64:…  @FILE

FILE of --input is an instruction as JSON:
  {\"program_id\": \"…\", \"instruction_data\": [1, 2],
   \"accounts\": [{\"key\": \"…\", \"owner\": \"…\", \"is_signer\": false, \"is_writable\": true,
                 \"lamports\": 1000, \"data\": [0, 0]}]}
or an account as `solana account --output json` writes it. Data may also be a string as DATA above,
or [\"…\", \"base64\"].")]
pub(crate) struct RunArgs {
    /// The program: .so, or .s to be assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// The instruction: program id, accounts and data, as JSON
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,

    /// More accounts: files as `solana account --output json` writes them, or addresses and names
    /// of what --state has; `:s` behind one makes the account a signer, `:r` read-only
    #[arg(long, value_name = "FILE[:sr]", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) accounts: Vec<String>,

    /// The instruction data, in place of that of --input
    #[arg(short, long)]
    pub(crate) data: Option<String>,

    /// The address that the program runs under
    #[arg(long, value_name = "KEY")]
    pub(crate) program_id: Option<String>,

    /// The loader that the program is deployed with
    #[arg(long, value_enum, default_value_t)]
    pub(crate) loader: LoaderArg,

    #[command(flatten)]
    pub(crate) surroundings: run::SurroundingsArgs,

    /// Compute units that the program may use
    #[arg(short, long, value_name = "CU", default_value_t = 200_000)]
    #[arg(value_parser = numbers::parse::<u64>)]
    pub(crate) limit: u64,

    /// Bytes of heap: 32768 to 262144 in steps of 1024
    #[arg(long, value_name = "BYTES", default_value_t = 32_768, value_parser = parse_heap)]
    pub(crate) heap: u32,

    /// Write the registers before each instruction to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    /// What runs the program
    #[arg(long, visible_alias = "mode", value_enum, default_value_t)]
    pub(crate) engine: EngineArg,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Explain a serialized input region field by field, with offsets
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie input input.json              what a program gets to see of this instruction
  selkie input dump.bin                any buffer that a loader has serialized
  selkie input dump.bin --abi unaligned")]
pub(crate) struct InputArgs {
    /// An instruction as JSON, as `selkie run --input` takes it, or the bytes of an input region
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The layout [default: the one that fits]
    #[arg(long, value_enum)]
    pub(crate) abi: Option<AbiArg>,

    /// Write the bytes of the input region to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Run conformance vectors: what mainnet's own engine did, as data
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie conform vectors/                     every vector file in a folder
  selkie conform suite_exec.jsonl.zst --json
  selkie conform elf_loader.jsonl.zst --elfs testdata/elfs
  selkie conform vectors/ --table             counts by kind, in Markdown")]
pub(crate) struct ConformArgs {
    /// Files of vectors (.jsonl, .jsonl.zst), fixtures (.fix), archives of fixtures (.tar, .tar.zst),
    /// or folders of them
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// What runs the programs
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineArg,

    /// Folder of the base ELFs that vectors refer to: BASE.so or FNV.elf
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) elfs: Option<PathBuf>,

    /// Threads to run on [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = numbers::parse::<usize>)]
    pub(crate) threads: Option<usize>,

    /// Failing vectors to show of each file
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = numbers::parse::<usize>)]
    pub(crate) show: usize,

    /// Print a Markdown table of what was compared, a row for each kind of vector
    #[arg(long)]
    pub(crate) table: bool,
}

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie completions bash > ~/.local/share/bash-completion/completions/selkie
  selkie completions zsh > ~/.zfunc/_selkie
  selkie completions fish > ~/.config/fish/completions/selkie.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum StyleArg {
    /// Source that assembles to the same bytes
    #[default]
    Selkie,
    /// As anza sbpf's disassembler
    Anza,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum SwitchArg {
    On,
    #[default]
    Off,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum EngineArg {
    /// The interpreter, and machine code where it is there and worth compiling
    #[default]
    Auto,
    /// The reference
    Interpreter,
    /// The compiler to machine code; traces are written by the interpreter all the same
    Jit,
}

impl From<EngineArg> for selkie_svm::Engine {
    fn from(engine: EngineArg) -> Self {
        match engine {
            EngineArg::Auto => Self::Auto,
            EngineArg::Interpreter => Self::Interpreter,
            EngineArg::Jit => Self::Jit,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum LoaderArg {
    /// BPFLoader1…, deprecated: the input is not aligned
    V1,
    /// BPFLoader2…
    V2,
    /// BPFLoaderUpgradeab1e…
    #[default]
    V3,
    /// LoaderV4…
    V4,
}

impl From<LoaderArg> for selkie_svm::Loader {
    fn from(loader: LoaderArg) -> Self {
        match loader {
            LoaderArg::V1 => Self::V1,
            LoaderArg::V2 => Self::V2,
            LoaderArg::V3 => Self::V3,
            LoaderArg::V4 => Self::V4,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AbiArg {
    /// Of the current loaders
    Aligned,
    /// Of the deprecated loader v1
    Unaligned,
}

impl From<AbiArg> for selkie_svm::Abi {
    fn from(abi: AbiArg) -> Self {
        match abi {
            AbiArg::Aligned => Self::Aligned,
            AbiArg::Unaligned => Self::Unaligned,
        }
    }
}

pub(crate) fn parse_version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|error: selkie_isa::op::UnknownVersion| error.to_string())
}

fn parse_define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let (sign, digits) = match value.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", value),
    };
    let number = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).map_err(|_| {
            format!("`{value}` is not a number from -0x8000000000000000 to {:#x}", i64::MAX)
        })?,
        None => numbers::parse(value)?,
    };
    Ok((name.to_owned(), number))
}

fn parse_range(text: &str) -> Result<Range<u32>, String> {
    let number = |text: &str, default| match text {
        "" => Ok(default),
        digits => numbers::parse::<u32>(digits),
    };
    let range = match text.split_once("..") {
        Some((start, end)) => number(start, 0)?..number(end, u32::MAX)?,
        None => {
            let slot = numbers::parse::<u32>(text)?;
            slot..slot.saturating_add(1)
        }
    };
    if range.is_empty() { Err("no slot is in this range".to_owned()) } else { Ok(range) }
}

fn parse_heap(text: &str) -> Result<u32, String> {
    let is_valid = |it: &u32| it.is_multiple_of(1024) && (32 * 1024..=256 * 1024).contains(it);
    let refused = || "a transaction can ask for 32768 to 262144 bytes, in steps of 1024".to_owned();
    text.parse().ok().filter(is_valid).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn constants_have_64_bits() {
        let check = |text: &str, value| assert_eq!(super::parse_define(text), Ok(value), "{text}");
        check("A=-9223372036854775808", ("A".to_owned(), i64::MIN));
        check("A=-0x10", ("A".to_owned(), -16));
        check("A", ("A".to_owned(), 1));
        for text in ["A=9223372036854775808", "A=0x8000000000000000", "A=x", "A=0x"] {
            let refused = super::parse_define(text).expect_err("no such number");
            assert!(refused.contains("is not a number from -"), "{refused}");
        }
    }
}
