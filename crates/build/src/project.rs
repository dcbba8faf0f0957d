//! What there is to build in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, c, rust};

/// A folder that a program is built from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// The folder.
    pub root: PathBuf,
    /// The name of the program.
    pub name: String,
    /// What it is written in.
    pub language: Language,
}

/// What a program is written in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Language {
    /// Assembly: the source that includes all others.
    Assembly(PathBuf),
    /// C: the sources that are compiled, and those in assembly beside them.
    C(Vec<PathBuf>),
    /// Rust: the manifest of the package.
    Rust(PathBuf),
}

impl Project {
    /// Finds what there is to build in a folder: a Cargo package with a library, assembly, or C.
    ///
    /// A Cargo package without a library may be there for tests of a program in assembly or C. A
    /// Cargo workspace without a package is all of its programs; `package` chooses one by name.
    ///
    /// # Errors
    ///
    /// [`Failure::Setup`] where nothing is found, or several sources that might be the program.
    pub fn find(folder: &Path, package: Option<&str>) -> Result<Vec<Self>, Failure> {
        let found = Self::find_one(folder)?;
        let Language::Rust(manifest) = &found.language else { return Ok(vec![found]) };
        let is_alone = Package::read(manifest)?.is_some_and(|it| it.has_library);
        if is_alone && package.is_none_or(|name| name == found.name) {
            return Ok(vec![found]);
        }
        let mut programs = rust::programs(manifest)?;
        programs.retain(|it| package.is_none_or(|name| name == it.name));
        if programs.is_empty() {
            return Err(Failure::setup(
                format!("no package of {} is a program", folder.display()),
                "the manifest of a program says: [lib] crate-type = [\"cdylib\", \"lib\"]",
            ));
        }
        Ok(programs)
    }

    fn find_one(folder: &Path) -> Result<Self, Failure> {
        let root = folder.canonicalize().map_err(|error| Failure::file(folder, &error))?;
        let manifest = root.join("Cargo.toml");
        let package = Package::read(&manifest)?;
        let base = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = package.as_ref().and_then(|it| it.name.clone()).or(base);
        let name = name.unwrap_or_else(|| "program".to_owned());
        if package.is_some_and(|it| it.has_library || it.is_workspace) {
            return Ok(Self { root, name, language: Language::Rust(manifest) });
        }
        let sources = sources(&root);
        if !sources.iter().all(|it| c::is_assembly(it)) {
            return Ok(Self { root, name, language: Language::C(sources) });
        }
        match assembly(&root, &name)? {
            Some(source) => Ok(Self { root, name, language: Language::Assembly(source) }),
            None => Err(Failure::setup(
                format!("there is nothing to build in {}", folder.display()),
                "a project is a Cargo package with a library, or has src/*.s or src/*.c; \
                 `selkie new NAME` begins one",
            )),
        }
    }

    /// A program of one C source.
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

/// What a manifest says.
struct Package {
    name: Option<String>,
    has_library: bool,
    is_workspace: bool,
}

impl Package {
    fn read(manifest: &Path) -> Result<Option<Self>, Failure> {
        let Ok(text) = fs::read_to_string(manifest) else { return Ok(None) };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let message = format!("{}: {}", manifest.display(), error.message());
            Failure::setup(message, "cargo cannot read this manifest either")
        })?;
        let package = table.get("package");
        let name = package.and_then(|it| it.get("name")).and_then(toml::Value::as_str);
        let implied = manifest.with_file_name("src").join("lib.rs");
        Ok(Some(Self {
            name: name.map(str::to_owned),
            has_library: package.is_some() && (table.contains_key("lib") || implied.is_file()),
            is_workspace: table.contains_key("workspace") && package.is_none(),
        }))
    }
}

/// The source that the program begins with: `src/NAME.s`, `src/NAME/NAME.s`, `src/main.s`, or the
/// only one in `src` or in the folder.
fn assembly(root: &Path, name: &str) -> Result<Option<PathBuf>, Failure> {
    let src = root.join("src");
    let file = format!("{name}.s");
    let usual = [src.join(&file), src.join(name).join(&file), src.join("main.s"), root.join(&file)];
    if let Some(source) = usual.into_iter().find(|path| path.is_file()) {
        return Ok(Some(source));
    }
    for folder in [src.as_path(), root] {
        match files(folder, "s").as_slice() {
            [] => {}
            [source] => return Ok(Some(source.clone())),
            many => {
                let names: Vec<_> = many.iter().map(|it| it.display().to_string()).collect();
                return Err(Failure::setup(
                    format!("there are several sources: {}", names.join(", ")),
                    format!("call the one that includes the others src/{file}, or build it alone"),
                ));
            }
        }
    }
    Ok(None)
}

/// Every source in C or assembly of `src` and below, or of the folder itself.
fn sources(root: &Path) -> Vec<PathBuf> {
    let of = |folder: &Path| [files(folder, "c"), files(folder, "s")].concat();
    let mut found = Vec::new();
    let mut pending = vec![root.join("src")];
    while let Some(folder) = pending.pop() {
        found.extend(of(&folder));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // Links to folders are left out: they might lead in circles.
        pending.extend(
            entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path()),
        );
    }
    if found.is_empty() {
        found = of(root);
    }
    found.sort();
    found
}

/// The files of a folder that have this extension, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    let mut files: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|path| has_extension(path) && path.is_file()).collect();
    files.sort();
    files
}
