//! C: finding and running a stock clang, or zig, which contains one.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

use selkie_isa::input;
use selkie_link::Icf;

use crate::{
    BuildError, Compiled, Options, Progress, Project,
    assembly::{self, Objects},
    inline_asm,
    project::{Language, is_assembly, is_cpp},
    system::{in_path, typed, write_if_changed},
};

/// The content of `selkie.h`, the header for programs in C.
pub const HEADER: &str = include_str!("../include/selkie.h");

/// The content of `solana_sdk.h`, which gives the names of Solana's C SDK to what `selkie.h` declares.
const SDK_HEADER: &str = include_str!("../include/solana_sdk.h");

/// Other headers of Solana's C SDK that programs include: all of them are `solana_sdk.h`.
const SDK_PARTS: &[&str] = &[
    "stdio.h",
    "stdlib.h",
    "string.h",
    "sol/alt_bn128.h",
    "sol/alt_bn128_compression.h",
    "sol/assert.h",
    "sol/big_mod_exp.h",
    "sol/blake3.h",
    "sol/compute_units.h",
    "sol/constants.h",
    "sol/cpi.h",
    "sol/deserialize.h",
    "sol/deserialize_deprecated.h",
    "sol/entrypoint.h",
    "sol/keccak.h",
    "sol/last_restart_slot.h",
    "sol/log.h",
    "sol/poseidon.h",
    "sol/pubkey.h",
    "sol/return_data.h",
    "sol/secp256k1.h",
    "sol/sha.h",
    "sol/string.h",
    "sol/types.h",
];

/// The supported versions of clang: from the oldest that works to the newest that is searched for
/// by number.
const CLANGS: std::ops::RangeInclusive<u32> = 16..=30;

/// Flags for every compiler: freestanding code, and one section for each function and variable, so
/// that only used ones are linked.
const FLAGS: &[&str] = &[
    "-O2",
    "-g",
    "-Wall",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-jump-tables",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
    "-fcolor-diagnostics",
];

/// Flags for C++, of which programs have the language and no library.
const CPP_FLAGS: &[&str] = &["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"];

/// The target feature of unaligned memory accesses. Older compilers do not know it, warn about it
/// for each source, and access unaligned words byte by byte.
const UNALIGNED: &[&str] =
    &["-Xclang", "-target-feature", "-Xclang", "+allows-misaligned-mem-access"];

/// The name of that feature in warnings.
const UNALIGNED_FEATURE: &str = "allows-misaligned-mem-access";

/// How to install a compiler.
const INSTALL: &str = "`apt install clang-22` (https://apt.llvm.org has it where the system does \
                       not), `brew install llvm`, or `pip install ziglang`";

/// A compiler for C.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Compiler {
    /// The command that starts it.
    words: Vec<String>,
    /// Its name of the target.
    target: &'static str,
    /// The version of clang.
    version: u32,
    /// Whether it supports [`UNALIGNED`].
    is_unaligned: bool,
}

impl Compiler {
    fn try_new(words: &[&str], target: &'static str, cache: &Path) -> Option<Self> {
        let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
        let mut command = Command::new(&words[0]);
        let output = command.args(&words[1..]).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = version_of(&said)?;
        let compiler = Self { words, target, version, is_unaligned: false };
        let is_unaligned = compiler.knows_unaligned(&said, cache);
        Some(Self { is_unaligned, ..compiler })
    }

    /// Returns zig, or the package of pip.
    fn zig(cache: &Path) -> Option<Self> {
        let zig = in_path("zig").and_then(|_| Self::try_new(&["zig", "cc"], ZIG_TARGET, cache));
        zig.or_else(|| Self::wheel(cache))
    }

    /// Returns zig as installed by pip.
    fn wheel(cache: &Path) -> Option<Self> {
        Self::try_new(&["python3", "-m", "ziglang", "cc"], ZIG_TARGET, cache)
    }

    /// Returns the best compiler: the newest clang if it supports unaligned accesses, or else zig, or
    /// else an older clang.
    fn find(named: Option<&str>, cache: &Path) -> Result<Self, BuildError> {
        if let Some(name) = named {
            let compiler = match name {
                "zig" => Self::zig(cache),
                "ziglang" => Self::wheel(cache),
                clang => Self::try_new(&[clang], "bpf", cache),
            };
            return compiler.ok_or_else(|| {
                BuildError::setup(
                    format!("`{name}` cannot be started, or is not clang"),
                    "--toolchain takes clang, clang-22, the path of a clang, zig, or ziglang",
                )
            });
        }
        let numbered = CLANGS.rev().map(|number| format!("clang-{number}"));
        let clangs = numbered.chain(["clang".to_owned()]).filter(|name| in_path(name).is_some());
        let clangs = clangs.filter_map(|name| Self::try_new(&[&name], "bpf", cache));
        let usable = clangs.filter(|it| CLANGS.contains(&it.version) && it.knows_bpf());
        let clang = usable.max_by_key(|it| it.version);
        if let Some(best) = clang.clone().filter(|it| it.is_unaligned) {
            return Ok(best);
        }
        Self::zig(cache).or(clang).ok_or_else(|| {
            BuildError::setup(
                format!("found neither clang {} or newer nor zig", CLANGS.start()),
                format!("install one: {INSTALL}"),
            )
        })
    }

    /// Returns whether the compiler accepts [`UNALIGNED`] without a warning. The answer is cached for
    /// each compiler and output of `--version`.
    fn knows_unaligned(&self, version: &str, cache: &Path) -> bool {
        let mut hasher = DefaultHasher::new();
        (&self.words, version).hash(&mut hasher);
        let cached = cache.join("compilers").join(format!("{:016x}", hasher.finish()));
        if let Ok(answer) = input::text(&cached, input::TEXT_BYTES_MAX) {
            return answer == YES;
        }
        // The code generator emits the warning, so an object must be written. If the cache is not
        // writable, the feature is not used.
        let [source, object] = ["c", "o"].map(|it| cached.with_extension(it));
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(["-target", self.target]).args(UNALIGNED);
        command.arg("-c").arg(&source).arg("-o").arg(&object);
        let asked = write_if_changed(&source, b"").and_then(|()| command.output());
        let Ok(output) = asked else { return false };
        let warns = String::from_utf8_lossy(&output.stderr).contains(UNALIGNED_FEATURE);
        let knows = output.status.success() && !warns;
        let _ = write_if_changed(&cached, if knows { YES } else { "no" }.as_bytes());
        knows
    }

    /// Returns whether the compiler supports BPF. Apple's clang does not.
    fn knows_bpf(&self) -> bool {
        let output = Command::new(&self.words[0]).arg("--print-targets").output();
        output.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("bpf"))
    }

    fn name(&self) -> String {
        let Self { words, version, .. } = self;
        format!("{} (clang {version})", words.join(" "))
    }

    /// Returns the newest BPF CPU that the compiler supports. v4 has signed division.
    fn cpu(&self) -> &'static str {
        if self.version >= 19 { "v4" } else { "v2" }
    }

    fn command(
        &self,
        (root, source): (&Path, &Path),
        object: &Path,
        include: &Path,
        options: &Options,
    ) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(["-target", self.target]);
        command.arg(format!("-mcpu={}", self.cpu())).args(FLAGS);
        if is_cpp(source) {
            command.args(CPP_FLAGS);
        }
        if self.is_unaligned {
            command.args(UNALIGNED);
        }
        // Clang would write the source to the folder for temporary files when LLVM ends.
        if self.target != ZIG_TARGET {
            command.arg("-fno-crash-diagnostics");
        }
        // The linker checks the frames of functions that are used.
        if self.version >= 19 {
            command.args(["-mllvm", "-bpf-stack-size=1048576"]);
        }
        for folder in &options.includes {
            command.arg("-I").arg(folder);
        }
        command.arg("-I").arg(include);
        for (name, value) in &options.defines {
            command.arg(format!("-D{name}={value}"));
        }
        // `__FILE__` is part of the program, which must not depend on where the project is.
        let folders = [root, include].into_iter().filter(|it| !it.as_os_str().is_empty());
        for folder in folders {
            command.arg(format!("-fmacro-prefix-map={}/=", folder.display()));
        }
        command.args(&options.arguments);
        command.arg("-MMD").arg("-MF").arg(object.with_extension("d"));
        command.arg("-c").arg(source).arg("-o").arg(object);
        command
    }
}

const ZIG_TARGET: &str = "bpfel-freestanding";

/// The cached answer of a compiler that supports a feature.
const YES: &str = "yes";

/// What to do where LLVM cannot compile C for BPF: parts of its errors, and the help.
const HELP: &[(&[&str], &str)] = &[
    (
        &[
            "pass by value not supported",
            "aggregate returns are not supported",
            "only small returns supported",
            "too many arguments",
            "stack arguments are not supported",
            "unable to allocate function return",
        ],
        "functions take up to five words and return one: pass pointers to structures and integers of 128 \
         bits, or make the function `static inline __attribute__((always_inline))`",
    ),
    (
        &["variadic functions are not supported"],
        "make the function a macro, or let it take an array and its length",
    ),
    (
        &["undeclared function '", "undeclared library function '"],
        "selkie.h declares what programs can call, and there is no C library: `sol_log_64` logs numbers, \
         `sol_alloc` allocates",
    ),
    (&["'__multi3'"], "multiply integers of 128 bits by `sol_wide_multiply` of selkie.h"),
    (
        &["'__ashlti3'", "'__lshrti3'", "'__ashrti3'"],
        "shift integers of 128 bits by a constant, or by `sol_wide_shift_left` and `sol_wide_shift_right` of \
         selkie.h",
    ),
    (
        &["'__udivti3'", "'__umodti3'", "'__divti3'", "'__modti3'"],
        "divide integers of 128 bits by `sol_wide_divide` of selkie.h, which takes no signs",
    ),
];

/// What clang writes before its stack, when LLVM ends after an error that it has reported.
const CRASH: &str = "PLEASE submit a bug report";

/// Returns the output of a compiler without clang's own stack.
fn without_crash(output: &str) -> &str {
    let end = output.find(CRASH).unwrap_or(output.len());
    let said = &output[..end];
    // Where a place in the source is known, the last line before it says nothing new.
    let (before, last) = said.trim_end().rsplit_once('\n').unwrap_or_default();
    match end < output.len() && last.contains("error in backend") && !before.is_empty() {
        true => &said[..=before.len()],
        false => said,
    }
}

/// Returns the function in which LLVM ended, from clang's own stack.
fn crashed_in(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("on function '@")?;
    Some(rest.split_once('\'')?.0)
}

/// Returns help for compiler errors, if they are about what LLVM cannot compile for BPF. Floating-point functions
/// have the types of their operands in their names, like `__muldf3`.
fn help_for(errors: &str) -> Vec<&'static str> {
    let mut functions = errors.split("built-in function '__").skip(1);
    let is_float = functions.any(|rest| {
        let name = rest.split('\'').next().unwrap_or_default();
        ["sf", "df", "tf"].iter().any(|kind| name.contains(kind))
    });
    let is_wide = errors.contains("ti3'");
    let about_float = is_float.then_some(
        "programs in C have no floating point: use integers of a small unit, like lamports (in Rust, \
         `f32` and `f64` work, in software)",
    );
    // A call of a function for wide integers is also an error about its result.
    let rows = HELP.iter().filter(|(parts, _)| parts.iter().any(|it| errors.contains(it)));
    let is_caused = |parts: &[&str]| (is_wide || is_float) && parts.contains(&HELP[0].0[0]);
    let rows = rows.filter(|(parts, _)| !is_caused(parts) || errors.contains(HELP[0].0[1]));
    about_float.into_iter().chain(rows.map(|(_, help)| *help)).collect()
}

/// Returns the major version in the output of `--version`.
fn version_of(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(['.', ' ']).next()?.parse().ok()
}

/// Returns the name of the compiler for C: the one named, or the best one that is installed. The
/// features of compilers are cached in the folder `cache`.
///
/// # Errors
///
/// [`BuildError::Setup`] if no compiler is found.
pub fn compiler(named: Option<&str>, cache: &Path) -> Result<String, BuildError> {
    Compiler::find(named, cache).map(|compiler| compiler.name())
}

/// Compiles the C sources of a project, and assembles its assembly sources.
///
/// # Errors
///
/// [`BuildError::Setup`] if no compiler is found, [`BuildError::Compiler`] or [`BuildError::Assembler`] if a
/// source has errors.
pub fn compile(
    project: &Project,
    target: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Compiled, BuildError> {
    let Language::C(sources) = &project.language else {
        unreachable!("the caller has a project in C")
    };
    let compiler = Compiler::find(options.toolchain.as_deref(), &options.cache)?;
    progress.toolchain(&compiler.name());
    if !compiler.is_unaligned {
        progress.output(&format!(
            "note: clang 22 and zig make smaller programs than clang {}: {INSTALL}\n",
            compiler.version
        ));
    }
    let include = headers(&options.cache)?;
    let folder = target.join("selkie").join(&project.name);
    fs::create_dir_all(&folder).map_err(|error| BuildError::file(&folder, &error))?;
    let mut compiled = Compiled {
        name: project.name.clone(),
        objects: Vec::new(),
        sources: vec![project.root.join("Cargo.toml")],
        toolchain: compiler.name(),
        target: target.to_owned(),
        has_other_layout: None,
        icf: Icf::Safe,
    };
    let (assembly, sources): (Vec<_>, Vec<_>) = sources.iter().partition(|it| is_assembly(it));
    for (index, source) in sources.iter().enumerate() {
        let stem = source.file_stem().map(|it| it.to_string_lossy()).unwrap_or_default();
        let object = folder.join(format!("{index}-{stem}.o"));
        let command = compiler.command((&project.root, source), &object, &include, options);
        run(command, source, progress)?;
        let bytes = input::read(&object, input::FILE_BYTES_MAX)
            .map_err(|error| BuildError::file(&object, &error))?;
        let dependencies =
            input::text(&object.with_extension("d"), input::TEXT_BYTES_MAX).unwrap_or_default();
        // Headers may just have been written, but their content is constant.
        let dependencies = dependencies_of(&dependencies).into_iter();
        compiled.sources.extend(dependencies.filter(|path| !path.starts_with(&include)));
        compiled.objects.push((source.display().to_string(), bytes));
    }
    let Objects { objects, files } = assembly::assemble(&assembly, options, progress)?;
    compiled.objects.extend(objects);
    compiled.sources.extend(files);
    for source in sources.into_iter().chain(assembly) {
        // A source may be added to its folder. The root folder is left out: builds write to it.
        let folder = source.parent().filter(|folder| **folder != *project.root);
        compiled.sources.extend(folder.map(Path::to_owned));
    }
    compiled.sources.sort();
    compiled.sources.dedup();
    Ok(compiled)
}

/// Runs a compiler on a source.
fn run(mut command: Command, source: &Path, progress: &mut dyn Progress) -> Result<(), BuildError> {
    let shown = typed(&command);
    progress.command(&shown);
    let output = command.output().map_err(|error| {
        BuildError::setup(
            format!("cannot start {shown}: {error}"),
            "check that it is still installed",
        )
    })?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = without_crash(&errors);
    progress.output(said);
    if let Some(function) = crashed_in(&errors).filter(|_| said.contains("error in backend")) {
        progress.output(&format!(" --> {}, in function `{function}`\n", source.display()));
    }
    if output.status.success() {
        return Ok(());
    }
    let helps = help_for(&errors).into_iter().map(str::to_owned);
    for help in helps.chain(inline_asm::advice_of_clang(&without_colours(&errors))) {
        progress.output(&format!("help: {help}\n"));
    }
    Err(BuildError::Compiler(shown))
}

/// Removes escape sequences for colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, it)| it))
}

/// Writes the headers to the cache, and returns their folder.
fn headers(cache: &Path) -> Result<PathBuf, BuildError> {
    let folder = cache.join("include");
    let parts = SDK_PARTS.iter().map(|&name| (name, "#include <solana_sdk.h>\n"));
    for (name, text) in
        [("selkie.h", HEADER), ("solana_sdk.h", SDK_HEADER)].into_iter().chain(parts)
    {
        let path = folder.join(name);
        write_if_changed(&path, text.as_bytes())
            .map_err(|error| BuildError::file(&path, &error))?;
    }
    Ok(folder)
}

/// Returns the prerequisites of the first rule of a makefile.
pub(crate) fn dependencies_of(rule: &str) -> Vec<PathBuf> {
    // The other rules are empty, for files that are deleted later.
    let rule = rule.replace("\\\n", " ");
    let (_, names) = rule.lines().next().and_then(|it| it.split_once(": ")).unwrap_or_default();
    let mut paths = vec![String::new()];
    let mut characters = names.chars();
    while let Some(it) = characters.next() {
        let path = paths.last_mut().expect("there is always one");
        match it {
            '\\' => path.extend(characters.next()),
            ' ' => paths.push(String::new()),
            other => path.push(other),
        }
    }
    paths.into_iter().filter(|it| !it.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clang_version_is_read_from_the_output_of_version() {
        assert_eq!(version_of("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x"), Some(19));
        assert_eq!(version_of("clang version 22.1.8\n"), Some(22));
        assert_eq!(version_of("gcc (Debian 12.2.0)"), None);
    }

    #[test]
    fn help_is_given_for_what_clang_cannot_compile() {
        let error = |name| {
            format!("f.c:1:2: error: A call to built-in function '{name}' is not supported.")
        };
        for name in ["__muldf3", "__floatundidf", "__fixunssfdi", "__truncdfsf2", "__gtsf2"] {
            let [help] = help_for(&error(name))[..] else { panic!("{name} needs one line") };
            assert!(help.contains("no floating point"), "{name}");
        }
        assert!(help_for(&error("memcpy")).is_empty());
        let [help] =
            help_for("f.c:2:3: error: call to undeclared function 'snprintf'; ISO C99")[..]
        else {
            panic!("it needs one line")
        };
        assert!(help.contains("no C library"), "{help}");
        for (name, instead) in [("__multi3", "sol_wide_multiply"), ("__umodti3", "sol_wide_divide")]
        {
            let [help] = help_for(&error(name))[..] else { panic!("{name} needs one line") };
            assert!(help.contains(instead), "{name}");
        }
    }

    #[test]
    fn errors_of_the_back_end_name_their_function() {
        let said = "fatal error: error in backend: unable to allocate function return #1\n";
        let crash = format!(
            "{said}{CRASH} to a page.\nStack dump:\n0.\tProgram arguments: clang\n4.\tRunning \
             pass 'BPF DAG->DAG Pattern Instruction Selection' on function '@wide'\n"
        );
        assert_eq!((without_crash(&crash), crashed_in(&crash)), (said, Some("wide")));
        assert_eq!(help_for(said).len(), 1);
        assert_eq!(crashed_in(said), None);
    }

    #[test]
    fn dependencies_may_contain_spaces_and_span_lines() {
        let rule = "out/a.o: src/a.c include/x\\ y.h \\\n  include/z.h\n\nsrc/b.c:\n";
        let expected = ["src/a.c", "include/x y.h", "include/z.h"].map(PathBuf::from);
        assert_eq!(dependencies_of(rule), expected);
        assert!(dependencies_of("").is_empty());
    }
}
