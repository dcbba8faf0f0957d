//! The arguments of commands, with their help texts.

pub(crate) mod account;
#[cfg(feature = "batch")]
pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod debug;
pub(crate) mod feature;
pub(crate) mod fuzz;
pub(crate) mod keygen;
#[cfg(feature = "node")]
pub(crate) mod node;
pub(crate) mod program;
pub(crate) mod replay;
pub(crate) mod send;
pub(crate) mod switch;
pub(crate) mod token;

use selkie_client::numbers;
use std::{ops::Range, path::PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use selkie_isa::Version;
use selkie_svm::Rules;

/// Assembler options.
#[derive(Args, Clone, Debug)]
pub(crate) struct AssemblerArgs {
    /// The sBPF version to assemble for
    #[arg(short, long, value_name = "VERSION", default_value = "v3")]
    #[arg(value_parser = parse_version, visible_alias = "sbpf-version")]
    pub(crate) arch: Version,

    /// Also search this folder for included files
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,

    /// Define a constant, like `.equ NAME, VALUE`
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = parse_define)]
    pub(crate) defines: Vec<(String, i64)>,
}

/// Load and verify a program, and locate what is wrong with it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie check program.so              checks the rules of deployment
  selkie check program.so --execution  checks the rules of execution
  selkie check program.s --json")]
pub(crate) struct CheckArgs {
    /// The program: .so, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Apply the rules of execution, which accept more programs than those of deployment
    #[arg(long)]
    pub(crate) execution: bool,

    #[command(flatten)]
    pub(crate) features: feature::FeatureArgs,

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
  selkie disasm program.so --native         with the machine code that the JIT emits
  selkie disasm program.so --style anza     in the syntax of anza's tools
  selkie disasm text.bin --raw --arch v0    raw instructions without an ELF file")]
pub(crate) struct DisasmArgs {
    /// The program: .so, loadable or not, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Syntax of the listing
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: StyleArg,

    /// Show the bytes of each instruction
    #[arg(long)]
    pub(crate) bytes: bool,

    /// Show the slot and address of each instruction
    #[arg(long)]
    pub(crate) addresses: bool,

    /// List only this function, given by name or first slot
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub(crate) function: Option<String>,

    /// List only these slots: 12..20, 12.., ..20 or 12
    #[arg(long, value_name = "START..END", value_parser = parse_range)]
    pub(crate) range: Option<Range<u32>>,

    /// Show the JIT's machine code below each instruction, with offsets: `cold` marks code moved
    /// off the fast path; code that instructions share is at the end, in listings of whole
    /// programs
    #[arg(long, conflicts_with_all = ["style", "bytes", "addresses"])]
    pub(crate) native: bool,

    /// Whether to harden the machine code as validators do; `off` is easier to read. The output
    /// is reproducible either way
    #[arg(long, value_enum, default_value_t, requires = "native", value_name = "on|off")]
    pub(crate) hardening: SwitchArg,

    /// The file holds raw instructions of the version given by --arch
    #[arg(long)]
    pub(crate) raw: bool,

    /// The output file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Write the control-flow graph of a program in the DOT language of Graphviz
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie cfg program.so | dot -Tsvg > program.svg
  selkie cfg program.so --function entrypoint --dominators
  selkie cfg program.so --json         blocks, edges and dominators as data")]
pub(crate) struct CfgArgs {
    /// The program: .so, loadable or not, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    /// Draw only this function, given by name or first slot
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    /// Draw an edge from each block to its immediate dominator
    #[arg(long)]
    pub(crate) dominators: bool,

    /// The file holds raw instructions of the version given by --arch
    #[arg(long)]
    pub(crate) raw: bool,

    /// The output file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

/// Run a program with accounts and instruction data, and show the result
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie run hello.s
  selkie run counter.s --input input.json --trace trace.txt
  selkie run token.so --input transfer.json --limit 5000
  selkie run program.so --accounts vault.json payer.json:s --data u8:1,u64:500
  selkie run program.so --input call.json --program oracle=oracle.so    with a program that it calls
  selkie run program.s --state selkie.state --accounts vault payer:s    with accounts of a cluster
  selkie run program.so --feature Blake3=on

The well-known programs can be called: token, token-2022, associated-token, memo and others. A saved
cluster is not changed; use `selkie send` for that.

DATA is one or more parts, joined by commas:
  u8:N u16:N u32:N u64:N i64:N    a number, little endian
  0x0a0b or 0a0b                  bytes in hexadecimal
  str:TEXT  key:BASE58  base58:…  base64:…  @FILE

The FILE of --input is an instruction as JSON:
  {\"program_id\": \"…\", \"instruction_data\": [1, 2],
   \"accounts\": [{\"key\": \"…\", \"owner\": \"…\", \"is_signer\": false, \"is_writable\": true,
                 \"lamports\": 1000, \"data\": [0, 0]}]}
or an account as `solana account --output json` writes it. Data may also be a string in the form of DATA,
or [\"…\", \"base64\"].")]
pub(crate) struct RunArgs {
    /// The program: .so, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,

    #[command(flatten)]
    pub(crate) call: call::CallArgs,

    /// Take accounts, programs, sysvars and features from a running cluster: a URL, or a name such as
    /// localhost or devnet
    #[arg(short, long, value_name = "URL", conflicts_with = "state")]
    pub(crate) url: Option<String>,

    /// Write a trace with the registers before each instruction to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    /// Write the instruction with the state before it to a file, for `selkie trace`, `selkie profile`
    /// and `selkie coverage`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save_replay: Option<PathBuf>,

    /// Write logs and names as they are, with their control characters and line breaks
    #[arg(long)]
    pub(crate) raw: bool,

    /// The engine that runs the program
    #[arg(long, visible_alias = "mode", value_enum, default_value_t)]
    pub(crate) engine: EngineArg,
}

/// Explain a serialized input region field by field, with offsets
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie input input.json              the input that a program receives for this instruction
  selkie input dump.bin                an input region in binary form
  selkie input dump.bin --abi unaligned")]
pub(crate) struct InputArgs {
    /// An instruction in the JSON form of `selkie run --input`, or the bytes of an input region
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The layout [default: detect]
    #[arg(long, value_enum)]
    pub(crate) abi: Option<AbiArg>,

    /// Write the bytes of the input region to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Run conformance vectors: recorded results of mainnet's engine
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie conform vectors/                     all vector files in a folder
  selkie conform suite_exec.jsonl.zst --json
  selkie conform elf_loader.jsonl.zst --elfs testdata/elfs
  selkie conform fixtures/ --rules 4.5        fixtures that agave 4.5 has recorded
  selkie conform vectors/ --table             counts by kind, in Markdown")]
pub(crate) struct ConformArgs {
    /// Files of vectors (.jsonl, .jsonl.zst), fixtures (.fix), archives of fixtures (.tar, .tar.zst),
    /// or folders of them
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// The engine that runs the programs
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineArg,

    /// Folder of the base ELF files that vectors refer to: BASE.so or FNV.elf
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) elfs: Option<PathBuf>,

    /// Follow the release of these rules, instead of that which each vector names or means: `4.5`, `mainnet`,
    /// `mainnet@2026-09-01`. The features stay those of the vectors
    #[arg(long, value_name = "NAME")]
    pub(crate) rules: Option<Rules>,

    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = numbers::parse::<usize>)]
    pub(crate) threads: Option<usize>,

    /// Number of failing vectors to show per file
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = numbers::parse::<usize>)]
    pub(crate) show: usize,

    /// Print a Markdown table of what was compared, one row per kind of vector
    #[arg(long, conflicts_with = "json")]
    pub(crate) table: bool,
}

/// Print a completion script for a shell
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
    /// Selkie assembly that assembles to the same bytes
    #[default]
    Selkie,
    /// The syntax of anza sbpf's disassembler
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
    /// The interpreter, and the JIT where it is available and worth compiling
    #[default]
    Auto,
    /// The reference interpreter
    Interpreter,
    /// The JIT compiler; traces are still written by the interpreter
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
    /// BPFLoader1…, deprecated: unaligned input
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
    /// The layout of the current loaders
    Aligned,
    /// The layout of the deprecated loader v1
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
    if range.is_empty() { Err("the range is empty".to_owned()) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn defined_constants_are_64_bit_numbers() {
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
