//! C: a stock clang, or zig, which has one in it. What is assembly beside it, our own assembler
//! takes.

use std::{
    fs,
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

/// Flags for every compiler: code for a machine without an operating system, one section for each
/// function and variable, so that only what is used is linked, and accesses of any alignment.
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
    "-Xclang",
    "-target-feature",
    "-Xclang",
    "+allows-misaligned-mem-access",
];

/// A compiler for C.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Compiler {
    /// The words that start it.
    words: Vec<String>,
    /// What it calls the target.
    target: &'static str,
    /// The version of clang that it is.
    version: u32,
}

impl Compiler {
    fn try_new(words: &[&str], target: &'static str) -> Option<Self> {
        let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
        let mut command = Command::new(&words[0]);
        let output = command.args(&words[1..]).arg("--version").output().ok()?;
        let version = version_of(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { words, target, version })
    }

    /// The best that is there: the newest clang, or else zig's.
    fn find(named: Option<&str>) -> Result<Self, Failure> {
        if let Some(name) = named {
            let (words, target) = match name {
                "zig" => (vec!["zig", "cc"], ZIG_TARGET),
                "ziglang" => (vec!["python3", "-m", "ziglang", "cc"], ZIG_TARGET),
                clang => (vec![clang], "bpf"),
            };
            return Self::try_new(&words, target).ok_or_else(|| {
                Failure::setup(
                    format!("`{name}` is no clang that can be started"),
                    "--toolchain takes clang, clang-19, the path of one, zig, or ziglang",
                )
            });
        }
        let numbered = CLANGS.rev().map(|number| format!("clang-{number}"));
        let clangs = numbered.chain(["clang".to_owned()]).filter(|name| in_path(name).is_some());
        let clangs = clangs.filter_map(|name| Self::try_new(&[&name], "bpf"));
        let usable = clangs.filter(|it| CLANGS.contains(&it.version) && it.knows_bpf());
        if let Some(best) = usable.max_by_key(|it| it.version) {
            return Ok(best);
        }
        let zig = in_path("zig").and_then(|_| Self::try_new(&["zig", "cc"], ZIG_TARGET));
        let wheel = || Self::try_new(&["python3", "-m", "ziglang", "cc"], ZIG_TARGET);
        zig.or_else(wheel).ok_or_else(|| {
            Failure::setup(
                format!("there is no clang {} or newer here, and no zig", CLANGS.start()),
                "one of these installs one: `apt install clang-19`, `brew install llvm`, \
                 `pip install ziglang`",
            )
        })
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

/// The number behind `clang version`.
fn version_of(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(['.', ' ']).next()?.parse().ok()
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
    let compiler = Compiler::find(options.toolchain.as_deref())?;
    watch.chose(&compiler.name());
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
        watch.said(&String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
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
    fn dependencies_are_read_with_spaces_and_over_lines() {
        let rule = "out/a.o: src/a.c include/x\\ y.h \\\n  include/z.h\n\nsrc/b.c:\n";
        let expected = ["src/a.c", "include/x y.h", "include/z.h"].map(PathBuf::from);
        assert_eq!(dependencies_of(rule), expected);
        assert!(dependencies_of("").is_empty());
    }
}
