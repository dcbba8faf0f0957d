//! Projects: the programs in a folder.

mod sdk;

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::input;

use crate::{BuildError, metadata};

/// A program and the folder of its sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// The folder.
    pub root: PathBuf,
    /// The name of the program.
    pub name: String,
    /// Its language and sources.
    pub language: Language,
}

/// The language of a program, with its sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Language {
    /// Assembly. Holds the source that includes all others.
    Assembly(PathBuf),
    /// C or C++. Holds the sources in these and assembly.
    C(Vec<PathBuf>),
    /// Rust. Holds the manifest of the package.
    Rust(PathBuf),
}

impl Project {
    /// Finds the programs of a folder: a Cargo package with a library, or sources in assembly or C.
    ///
    /// A Cargo package may contain the tests of a program in assembly or C. It does if it has no library,
    /// or if its library is no `cdylib` and there is `src/NAME.s` or `src/NAME/NAME.s`, by whose name the
    /// program goes. Of a Cargo workspace, all programs are returned, or only that of `package`; so are those of a
    /// project of Solana's C SDK, whose makefile includes `sbf.mk`.
    ///
    /// # Errors
    ///
    /// [`BuildError::Setup`] if there is no program, or if it is unclear which source is the main one.
    pub fn find(folder: &Path, package: Option<&str>) -> Result<Vec<Self>, BuildError> {
        if let Some(programs) = sdk::programs(folder) {
            return sdk::named(programs, package);
        }
        let found = Self::find_one(folder)?;
        let Language::Rust(manifest) = &found.language else { return Ok(vec![found]) };
        let is_alone = Package::read(manifest)?.is_some_and(|it| it.has_library);
        if is_alone && package.is_none_or(|name| name == found.name) {
            return Ok(vec![found]);
        }
        let is_chosen = |it: &metadata::Package| package.is_none_or(|name| name == it.name);
        let packages = metadata::packages(manifest)?.into_iter().filter(is_chosen);
        let programs: Vec<Self> = packages.filter_map(Self::of_package).collect();
        if programs.is_empty() {
            return Err(BuildError::setup(
                format!("no package of {} is a program", folder.display()),
                "add to the manifest of a program in Rust: [lib] crate-type = [\"cdylib\", \"lib\"]; one \
                 in assembly has src/NAME/NAME.s",
            ));
        }
        Ok(programs)
    }

    fn find_one(folder: &Path) -> Result<Self, BuildError> {
        let root = folder.canonicalize().map_err(|error| BuildError::file(folder, &error))?;
        let manifest = root.join("Cargo.toml");
        let package = Package::read(&manifest)?;
        let base = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = package.as_ref().and_then(|it| it.name.clone()).or(base);
        let name = name.unwrap_or_else(|| "program".to_owned());
        if let Some(package) = package.filter(|it| it.has_library || it.is_workspace) {
            // Its library has the tests.
            let source = named_assembly(&root, &name);
            return Ok(match source.filter(|_| package.has_library && !package.has_cdylib) {
                Some(source) => Self::of_assembly(root, source),
                None => Self { root, name, language: Language::Rust(manifest) },
            });
        }
        let sources = sources(&root);
        if !sources.iter().all(|it| is_assembly(it)) {
            return Ok(Self { root, name, language: Language::C(sources) });
        }
        match assembly(&root, &name)? {
            Some(source) => Ok(Self { root, name, language: Language::Assembly(source) }),
            None => Err(BuildError::setup(
                format!("there is nothing to build in {}", folder.display()),
                "a project is a Cargo package with a library, or has src/*.s, src/*.c or src/*.cc; \
                 `selkie new NAME` creates one",
            )),
        }
    }

    fn of_package(package: metadata::Package) -> Option<Self> {
        let metadata::Package { name, root, manifest, has_cdylib } = package;
        if has_cdylib {
            return Some(Self { root, name, language: Language::Rust(manifest) });
        }
        let source = named_assembly(&root, &name)?;
        Some(Self::of_assembly(root, source))
    }

    /// Makes a project of the assembly in a Cargo package: the program has the name of its source.
    fn of_assembly(root: PathBuf, source: PathBuf) -> Self {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { root, name, language: Language::Assembly(source) }
    }

    /// Makes a project of a single C source.
    #[must_use]
    pub fn of_c(source: &Path) -> Self {
        let name = source.file_stem().map(|it| it.to_string_lossy().into_owned());
        Self {
            root: source.parent().map(Path::to_owned).unwrap_or_default(),
            name: name.unwrap_or_else(|| "program".to_owned()),
            language: Language::C(vec![source.to_owned()]),
        }
    }
}

/// The relevant contents of a manifest.
struct Package {
    name: Option<String>,
    has_library: bool,
    has_cdylib: bool,
    is_workspace: bool,
}

impl Package {
    fn read(manifest: &Path) -> Result<Option<Self>, BuildError> {
        let Ok(text) = input::text(manifest, input::TEXT_BYTES_MAX) else { return Ok(None) };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let message = format!("{}: {}", manifest.display(), error.message());
            BuildError::setup(message, "correct the manifest, which cargo cannot read either")
        })?;
        let package = table.get("package");
        let name = package.and_then(|it| it.get("name")).and_then(toml::Value::as_str);
        let types = table
            .get("lib")
            .and_then(|it| it.get("crate-type").or(it.get("crate_type"))?.as_array());
        let implied = manifest.with_file_name("src").join("lib.rs");
        Ok(Some(Self {
            name: name.map(str::to_owned),
            has_library: package.is_some() && (table.contains_key("lib") || implied.is_file()),
            has_cdylib: types.is_some_and(|it| it.iter().any(|it| it.as_str() == Some("cdylib"))),
            is_workspace: table.contains_key("workspace") && package.is_none(),
        }))
    }
}

/// Returns the assembly source that has the package's name in `src`, `NAME.s` or `NAME/NAME.s`, or else the
/// only `NAME/NAME.s` of another name.
fn named_assembly(root: &Path, name: &str) -> Option<PathBuf> {
    let (src, file) = (root.join("src"), format!("{name}.s"));
    let named = [src.join(&file), src.join(name).join(&file)].into_iter().find(|it| it.is_file());
    named.or_else(|| {
        let folders = fs::read_dir(&src).into_iter().flatten().flatten().map(|it| it.path());
        let own = |it: PathBuf| Some(it.join(format!("{}.s", it.file_name()?.to_str()?)));
        let mut sources = folders.filter_map(own).filter(|it| it.is_file());
        sources.next().filter(|_| sources.next().is_none())
    })
}

/// Returns the main assembly source: `src/NAME.s`, `src/NAME/NAME.s`, `src/main.s`, `NAME.s`, or the
/// only one in `src` or in the folder.
fn assembly(root: &Path, name: &str) -> Result<Option<PathBuf>, BuildError> {
    let src = root.join("src");
    let file = format!("{name}.s");
    let usual = || [src.join("main.s"), root.join(&file)].into_iter().find(|it| it.is_file());
    if let Some(source) = named_assembly(root, name).or_else(usual) {
        return Ok(Some(source));
    }
    for folder in [src.as_path(), root] {
        match files(folder, "s").as_slice() {
            [] => {}
            [source] => return Ok(Some(source.clone())),
            many => {
                let names: Vec<_> = many.iter().map(|it| it.display().to_string()).collect();
                return Err(BuildError::setup(
                    format!("there are several sources: {}", names.join(", ")),
                    format!("name the one that includes the others src/{file}, or build that file"),
                ));
            }
        }
    }
    Ok(None)
}

impl Project {
    /// Returns the address that a program in Rust declares in `src/lib.rs` with `declare_id!`.
    #[must_use]
    pub fn declared_id(&self) -> Option<String> {
        let Language::Rust(manifest) = &self.language else { return None };
        let source = manifest.with_file_name("src").join("lib.rs");
        declared_id(&input::text(&source, input::TEXT_BYTES_MAX).ok()?)
    }
}

/// Returns the address in the first `declare_id!` that is not in a comment.
fn declared_id(source: &str) -> Option<String> {
    let code: String = source.lines().map(|it| it.split("//").next().unwrap_or(it)).collect();
    let (_, rest) = code.split_once("declare_id!")?;
    let text = rest.trim_start().strip_prefix(['(', '{', '['])?.trim_start().strip_prefix('"')?;
    Some(text.split_once('"')?.0.to_owned())
}

/// Returns whether a source is in assembly.
pub(crate) fn is_assembly(source: &Path) -> bool {
    source.extension().is_some_and(|it| it == "s")
}

/// The extensions of sources in C++.
const CPP: [&str; 2] = ["cc", "cpp"];

/// Returns whether a source is in C or C++.
#[must_use]
pub fn is_c(source: &Path) -> bool {
    is_cpp(source) || source.extension().is_some_and(|it| it == "c")
}

/// Returns whether a source is in C++.
pub(crate) fn is_cpp(source: &Path) -> bool {
    source.extension().is_some_and(|it| CPP.iter().any(|known| it == *known))
}

/// Returns all sources in C, C++ or assembly in `src` and its folders, or else in the folder itself, without
/// tests in C for the developer's machine.
fn sources(root: &Path) -> Vec<PathBuf> {
    let extensions = || ["c", "s"].into_iter().chain(CPP);
    let of = |folder: &Path| extensions().flat_map(|it| files(folder, it)).collect::<Vec<_>>();
    let mut found = Vec::new();
    let mut pending = vec![root.join("src")];
    while let Some(folder) = pending.pop() {
        found.extend(of(&folder));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // Links to folders are not followed, since they can form cycles.
        pending.extend(
            entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path()),
        );
    }
    if found.is_empty() {
        found = of(root);
    }
    found.retain(|it| !sdk::is_host_test(it));
    found.sort();
    found
}

/// Returns the files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    let mut files: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|path| has_extension(path) && path.is_file()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assembly_of_a_package_may_have_a_name_of_its_own() {
        let root = std::env::temp_dir().join(format!("selkie-{}-own-name", std::process::id()));
        let add = |name: &str| {
            let folder = root.join("src").join(name);
            fs::create_dir_all(&folder).expect("the folder can be made");
            fs::write(folder.join(format!("{name}.s")), "exit\n").expect("it can be written");
        };
        add("send-1.2");
        fs::write(root.join("src/lib.rs"), "").expect("it can be written");
        fs::write(root.join("Cargo.toml"), "[package]\nname = \"tests\"\n")
            .expect("it can be written");
        let found = Project::find(&root, None).expect("there is a program");
        let [Project { name, language: Language::Assembly(source), .. }] = found.as_slice() else {
            panic!("it is in assembly: {found:?}")
        };
        assert!(name == "send-1.2" && source.ends_with("src/send-1.2/send-1.2.s"));
        add("receive");
        let found = named_assembly(&root, "tests");
        assert_eq!(found, None, "it is unclear which one is meant");
        assert!(named_assembly(&root, "receive").is_some());
        fs::remove_dir_all(root).expect("it can be removed");
    }

    #[test]
    fn declared_address_is_found_outside_of_comments() {
        let source = "// declare_id!(\"old\");\nanchor_lang::declare_id!(\n    \"Fg6P\"\n);\n";
        assert_eq!(declared_id(source).as_deref(), Some("Fg6P"));
        assert_eq!(declared_id("declare_id!(ID);"), None);
        assert_eq!(declared_id("fn main() {}"), None);
    }
}
