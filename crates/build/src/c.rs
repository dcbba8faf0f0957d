//! C: a stock clang, or zig, which has one in it. What is assembly beside it, our own assembler
//! takes.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Compiled, Failure, Options, Project, Watch,
    assembly::{self, Objects},
    in_path,
    project::Language,
    typed,
};

/// The header that programs in C begin with.
pub const HEADER: &str = include_str!("../include/selkie.h");

/// The newest clang that is looked for by number, and the oldest that is of use.
const CLANGS: std::ops::RangeInclusive<u32> = 16..=30;

/// Flags for every compiler: code for a machine without an operating system, and one section for
/// each function and variable, so that only what is used is linked.
///
/// Frames may be as large as they like here: the linker judges those of functions that are used.
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

/// The feature of accesses of any alignment, which only new compilers know: others warn of it for
/// each source, and read and write unaligned words byte by byte.
const UNALIGNED: &[&str] =
    &["-Xclang", "-target-feature", "-Xclang", "+allows-misaligned-mem-access"];

/// The name of that feature, as warnings have it.
const UNALIGNED_FEATURE: &str = "allows-misaligned-mem-access";

/// What to say where there is no compiler, or an old one.
const INSTALL: &str = "`apt install clang-22` (https://apt.llvm.org has it where the system does \
                       not), `brew install llvm`, or `pip install ziglang`";

/// A compiler for C.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Compiler {
    /// The words that start it.
    words: Vec<String>,
    /// What it calls the target.
    target: &'static str,
    /// The version of clang that it is.
    version: u32,
    /// Whether it can be told that accesses may have any alignment.
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

    /// Zig: itself, or the package of pip.
    fn zig(cache: &Path) -> Option<Self> {
        let zig = in_path("zig").and_then(|_| Self::try_new(&["zig", "cc"], ZIG_TARGET, cache));
        zig.or_else(|| Self::wheel(cache))
    }

    /// Zig as pip installs it.
    fn wheel(cache: &Path) -> Option<Self> {
        Self::try_new(&["python3", "-m", "ziglang", "cc"], ZIG_TARGET, cache)
    }

    /// The best that is there: the newest clang if it can access memory at any alignment, or else
    /// zig's, or else an older clang.
    fn find(named: Option<&str>, cache: &Path) -> Result<Self, Failure> {
        if let Some(name) = named {
            let compiler = match name {
                "zig" => Self::zig(cache),
                "ziglang" => Self::wheel(cache),
                clang => Self::try_new(&[clang], "bpf", cache),
            };
            return compiler.ok_or_else(|| {
                Failure::setup(
                    format!("`{name}` is no clang that can be started"),
                    "--toolchain takes clang, clang-22, the path of one, zig, or ziglang",
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
            Failure::setup(
                format!("there is no clang {} or newer here, and no zig", CLANGS.start()),
                format!("one of these installs one: {INSTALL}"),
            )
        })
    }

    /// Whether it takes the feature of unaligned accesses without a warning. Asked once for every
    /// version of a compiler, as it tells of itself.
    fn knows_unaligned(&self, said: &str, cache: &Path) -> bool {
        let mut hasher = DefaultHasher::new();
        (&self.words, said).hash(&mut hasher);
        let kept = cache.join("compilers").join(format!("{:016x}", hasher.finish()));
        if let Ok(answer) = fs::read_to_string(&kept) {
            return answer == YES;
        }
        // What warns is the code generator, so there has to be an object. Without a place for that
        // and for the answer, the compiler is told nothing.
        let [source, object] = ["c", "o"].map(|it| kept.with_extension(it));
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(["-target", self.target]).args(UNALIGNED);
        command.arg("-c").arg(&source).arg("-o").arg(&object);
        let asked = crate::write_if_changed(&source, b"").and_then(|()| command.output());
        let Ok(output) = asked else { return false };
        let warns = String::from_utf8_lossy(&output.stderr).contains(UNALIGNED_FEATURE);
        let knows = output.status.success() && !warns;
        let _ = crate::write_if_changed(&kept, if knows { YES } else { "no" }.as_bytes());
        knows
    }

    /// Whether it can compile for BPF: Apple's cannot.
    fn knows_bpf(&self) -> bool {
        let output = Command::new(&self.words[0]).arg("--print-targets").output();
        output.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("bpf"))
    }

    fn name(&self) -> String {
        let Self { words, version, .. } = self;
        format!("{} (clang {version})", words.join(" "))
    }

    /// The newest instructions that it has: signed division came with v4.
    fn cpu(&self) -> &'static str {
        if self.version >= 19 { "v4" } else { "v2" }
    }

    fn command(&self, source: &Path, object: &Path, include: &Path, options: &Options) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(["-target", self.target]);
        command.arg(format!("-mcpu={}", self.cpu())).args(FLAGS);
        if self.is_unaligned {
            command.args(UNALIGNED);
        }
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
        command.arg("-MMD").arg("-MF").arg(object.with_extension("d"));
        command.arg("-c").arg(source).arg("-o").arg(object);
        command
    }
}

const ZIG_TARGET: &str = "bpfel-freestanding";

/// The answer of a compiler that knows a feature.
const YES: &str = "yes";

/// What to do about code that needs floating point, if that is what a compiler complains of: the
/// functions that compute it have the kinds of their numbers in their names, as `__muldf3`.
fn help_for(said: &str) -> Option<&'static str> {
    let mut functions = said.split("built-in function '__").skip(1);
    let is_float = functions.any(|rest| {
        let name = rest.split('\'').next().unwrap_or_default();
        ["sf", "df", "tf"].iter().any(|kind| name.contains(kind))
    });
    is_float.then_some(
        "programs in C have no floating point: count in whole numbers of a small unit, as lamports \
         are (`float` and `double` work in Rust, in software)",
    )
}

/// The number behind `clang version`.
fn version_of(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(['.', ' ']).next()?.parse().ok()
}

/// The name of the compiler that programs in C are built with, or of the one that is asked for. What
/// compilers are capable of is kept in the folder `cache`.
///
/// # Errors
///
/// [`Failure::Setup`] where no compiler is found.
pub fn compiler(named: Option<&str>, cache: &Path) -> Result<String, Failure> {
    Compiler::find(named, cache).map(|compiler| compiler.name())
}

/// Compiles a project in C, and assembles what is beside it.
///
/// # Errors
///
/// [`Failure::Setup`] where no compiler is found, [`Failure::Compiler`] or [`Failure::Assembler`]
/// where a source is refused.
pub fn compile(
    project: &Project,
    target: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Compiled, Failure> {
    let Language::C(sources) = &project.language else {
        unreachable!("the caller has a project in C")
    };
    let compiler = Compiler::find(options.toolchain.as_deref(), &options.cache)?;
    watch.chose(&compiler.name());
    if !compiler.is_unaligned {
        watch.said(&format!(
            "note: clang 22 and zig make smaller programs than clang {}: {INSTALL}\n",
            compiler.version
        ));
    }
    let include = header(&options.cache)?;
    let folder = target.join("selkie").join(&project.name);
    fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let mut compiled = Compiled {
        name: project.name.clone(),
        objects: Vec::new(),
        sources: vec![project.root.join("Cargo.toml")],
        toolchain: compiler.name(),
        target: target.to_owned(),
    };
    let (assembly, sources): (Vec<_>, Vec<_>) = sources.iter().partition(|it| is_assembly(it));
    for (index, source) in sources.iter().enumerate() {
        let stem = source.file_stem().map(|it| it.to_string_lossy()).unwrap_or_default();
        let object = folder.join(format!("{index}-{stem}.o"));
        let mut command = compiler.command(source, &object, &include, options);
        let shown = typed(&command);
        watch.runs(&shown);
        let output = command.output().map_err(|error| {
            Failure::setup(format!("cannot start {shown}: {error}"), "is it still there?")
        })?;
        let said = String::from_utf8_lossy(&output.stderr);
        watch.said(&said);
        if !output.status.success() {
            if let Some(help) = help_for(&said) {
                watch.said(&format!("help: {help}\n"));
            }
            return Err(Failure::Compiler(shown));
        }
        let bytes = fs::read(&object).map_err(|error| Failure::file(&object, &error))?;
        let dependencies = fs::read_to_string(object.with_extension("d")).unwrap_or_default();
        // Our own header may just have been written, and is what it is.
        let dependencies = dependencies_of(&dependencies).into_iter();
        compiled.sources.extend(dependencies.filter(|path| !path.starts_with(&include)));
        compiled.objects.push((source.display().to_string(), bytes));
    }
    let Objects { objects, files } = assembly::assemble(&assembly, options, watch)?;
    compiled.objects.extend(objects);
    compiled.sources.extend(files);
    for source in sources.into_iter().chain(assembly) {
        // Another source may come into its folder; into the project's own, programs come too.
        let folder = source.parent().filter(|folder| **folder != *project.root);
        compiled.sources.extend(folder.map(Path::to_owned));
    }
    compiled.sources.sort();
    compiled.sources.dedup();
    Ok(compiled)
}

/// Whether a source is one for the assembler.
pub(crate) fn is_assembly(source: &Path) -> bool {
    source.extension().is_some_and(|it| it == "s")
}

/// Puts the header where compilers find it, and names the folder.
fn header(cache: &Path) -> Result<PathBuf, Failure> {
    let folder = cache.join("include");
    let path = folder.join("selkie.h");
    crate::write_if_changed(&path, HEADER.as_bytes())
        .map_err(|error| Failure::file(&path, &error))?;
    Ok(folder)
}

/// The files that a makefile rule names as what the first depends on.
pub(crate) fn dependencies_of(rule: &str) -> Vec<PathBuf> {
    // What follows the first rule are empty ones, for files that are deleted later.
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
    fn versions_are_read_off_what_compilers_say_of_themselves() {
        assert_eq!(version_of("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x"), Some(19));
        assert_eq!(version_of("clang version 22.1.8\n"), Some(22));
        assert_eq!(version_of("gcc (Debian 12.2.0)"), None);
    }

    #[test]
    fn floating_point_is_told_from_other_missing_functions() {
        let said = |name| {
            format!("f.c:1:2: error: A call to built-in function '{name}' is not supported.")
        };
        for name in ["__muldf3", "__floatundidf", "__fixunssfdi", "__truncdfsf2", "__gtsf2"] {
            assert!(help_for(&said(name)).is_some(), "{name}");
        }
        for name in ["__multi3", "__udivti3", "memcpy"] {
            assert_eq!(help_for(&said(name)), None, "{name}");
        }
    }

    #[test]
    fn dependencies_are_read_with_spaces_and_over_lines() {
        let rule = "out/a.o: src/a.c include/x\\ y.h \\\n  include/z.h\n\nsrc/b.c:\n";
        let expected = ["src/a.c", "include/x y.h", "include/z.h"].map(PathBuf::from);
        assert_eq!(dependencies_of(rule), expected);
        assert!(dependencies_of("").is_empty());
    }
}
