//! Own code: which source files are the user's, and which are of a library.
//!
//! Optimised programs are mostly inlined libraries, so every view starts at own code. Invariant: this
//! is the only definition of it.
//!
//! A file is a library's if it lies where a package manager or a toolchain keeps sources. All others
//! are the user's: those of the workspace, and of packages outside of it that it names by path. Paths
//! are those that the compiler recorded, on any machine; no file is looked for.

use std::{borrow::Cow, path::Path};

use gimli::Unit;
use selkie_isa::plain::line;

use crate::dwarf::Reader;

/// Whose code a program's files are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnCode {
    /// The folder in which the unit with the program's entry was compiled: for cargo the workspace of
    /// the program, or its package if that was built as a dependency.
    home: Option<String>,
}

/// Packages of the standard library, whose sources are in a folder `library`.
const STANDARD: &[&str] = &[
    "alloc",
    "backtrace",
    "compiler-builtins",
    "core",
    "panic_abort",
    "panic_unwind",
    "portable-simd",
    "proc_macro",
    "rustc-std-workspace-alloc",
    "rustc-std-workspace-core",
    "std",
    "stdarch",
    "sysroot",
    "unwind",
];

/// Folders in which everything is a library's, with the number of folders beneath them that are not
/// part of the package's name.
const FOLDERS: &[(&str, usize)] = &[
    // An index, as `index.crates.io-1949cf8c6b5b557f`.
    ("/.cargo/registry/src/", 1),
    ("/cargo/registry/src/", 1),
    ("/.cargo/registry/", 0),
    // A repository and a commit; the packages of one are told apart by their folders.
    ("/.cargo/git/checkouts/", 2),
    ("/cargo/git/checkouts/", 2),
    ("/.cargo/git/", 0),
    // Copies of packages in which `selkie build` replaced a text.
    ("/selkie/copies/", 0),
    ("/rustlib/src/rust/", 0),
    ("/rustlib/src/", 0),
    // The view of the standard library that `selkie build` compiles.
    ("/selkie/build/rust-src/", 1),
    ("/rust-src/", 0),
    // The headers of Solana's helper functions for C, which it writes.
    ("/selkie/build/include/", 0),
    // Headers of systems and of Solana's tools for C.
    ("/usr/include/", 0),
    ("/usr/local/include/", 0),
    ("/lib/clang/", 0),
    ("/sbf/c/inc/", 0),
    ("/bpf/c/inc/", 0),
];

/// Returns whether a source file is of a library rather than of the user's program, as far as its path
/// alone tells.
#[must_use]
pub fn is_library(path: &str) -> bool {
    library(&plain(path)).is_some()
}

/// What source files of programs end in.
const SOURCES: &[&str] = &["rs", "s", "asm", "c", "h", "cc", "cpp", "cxx", "hpp", "zig"];

/// Returns whether a file is named as sources of programs are. Debug information may name any file, of which
/// no other is shown.
#[must_use]
pub fn is_source_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| SOURCES.iter().any(|known| known.eq_ignore_ascii_case(it)))
}

impl OwnCode {
    /// Returns the definition for a program whose entry was compiled in a folder.
    #[must_use]
    pub fn of(home: Option<&str>) -> Self {
        let home = home.map(|it| plain(it).trim_end_matches('/').to_owned());
        Self { home: home.filter(|it| !it.is_empty()) }
    }

    /// Returns the definition for a program by the unit that contains its entry.
    #[must_use]
    pub fn of_unit(unit: &Unit<Reader>) -> Self {
        let text = |it: &Reader| line(&String::from_utf8_lossy(it.bytes())).into_owned();
        let (folder, name) = (unit.comp_dir.as_ref().map(text), unit.name.as_ref().map(text));
        Self::of(home(folder.as_deref(), name.as_deref().unwrap_or_default()).as_deref())
    }

    /// Returns whether a source file is the user's own.
    ///
    /// ```
    /// use selkie_inspect::OwnCode;
    /// let own = OwnCode::of(Some("/users/ada/amm"));
    /// assert!(own.contains("/users/ada/amm/programs/amm/src/lib.rs"));
    /// assert!(own.contains("/users/ada/shared/src/math.rs"));
    /// assert!(!own.contains("/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/mem.rs"));
    /// ```
    #[must_use]
    pub fn contains(&self, file: &str) -> bool {
        let path = plain(file);
        match self.at_home(&path) {
            // The home itself may be in a registry: then the program is one of its packages.
            Some(rest) => library(rest).is_none(),
            None => library(&path).is_none() && !(self.home.is_some() && is_versioned(&path)),
        }
    }

    /// Returns the path of a file from its package on, and of an own file from the program's folder on:
    /// `core/src/slice/mod.rs`, `pinocchio-0.12.0/src/cpi.rs`, `src/lib.rs`.
    #[must_use]
    pub fn short<'a>(&self, file: &'a str) -> Cow<'a, str> {
        let path = plain(file);
        let start = match self.at_home(&path) {
            Some(rest) => {
                let outside = path.len() - rest.len();
                outside + library(rest).unwrap_or(1)
            }
            None => library(&path).unwrap_or(0),
        };
        // Only separators were replaced, so positions are the same.
        match path {
            Cow::Borrowed(_) => Cow::Borrowed(file.get(start..).unwrap_or(file)),
            Cow::Owned(path) => Cow::Owned(path.get(start..).unwrap_or(&path).to_owned()),
        }
    }

    /// Returns the package of a file, with its version if a library's has one: `core`,
    /// `pinocchio-0.12.0`. Empty if the path does not tell, as for own files directly in the home.
    #[must_use]
    pub fn package<'a>(&self, file: &'a str) -> Cow<'a, str> {
        let short = self.short(file);
        let end = match self.contains(file) {
            false => short.find('/').unwrap_or(0),
            true => short.rfind("/src/").unwrap_or(0),
        };
        let start = short.get(..end).and_then(|it| it.rfind('/')).map_or(0, |it| it + 1);
        match short {
            Cow::Borrowed(short) => Cow::Borrowed(short.get(start..end).unwrap_or_default()),
            Cow::Owned(short) => Cow::Owned(short.get(start..end).unwrap_or_default().to_owned()),
        }
    }

    /// Returns the path of a file within the home, from the separator on.
    fn at_home<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.home.as_deref()?).filter(|rest| rest.starts_with('/'))
    }
}

/// Returns the folder of the program whose entry is in a unit, by the folder in which that was compiled
/// and by its name. rustc names a unit after the crate's root, `src/lib.rs/@/amm.0123456789abcdef-cgu.0`;
/// if that is outside of the folder, it is that of a manifest that another one stands for.
fn home(folder: Option<&str>, name: &str) -> Option<String> {
    let (folder, name) = (folder.map(plain), plain(name));
    let root = name.split_once("/@/").map_or("", |(root, _)| root);
    let is_whole = root.starts_with('/') || root.as_bytes().get(1) == Some(&b':');
    let is_inside = folder.as_ref().is_some_and(|it| root.starts_with(&**it));
    match root.rsplit_once('/').filter(|_| is_whole && !is_inside) {
        Some((sources, _)) => Some(sources.strip_suffix("/src").unwrap_or(sources).to_owned()),
        None => folder.map(Cow::into_owned),
    }
}

/// Returns a path with the separators of Unix.
fn plain(path: &str) -> Cow<'_, str> {
    match path.contains('\\') {
        true => Cow::Owned(path.replace('\\', "/")),
        false => Cow::Borrowed(path),
    }
}

/// Returns where the package begins in the path of a library's file.
fn library(path: &str) -> Option<usize> {
    let folders = FOLDERS.iter().filter_map(|&(folder, skipped)| within(path, folder, skipped));
    let mut found = folders.collect::<Vec<_>>();
    found.extend(standard(path));
    found.extend(indexed(path));
    found.extend(vendored(path));
    found.extend(generated(path));
    found.extend(remapped(path));
    // The innermost one: a registry may hold a toolchain, and a target folder copies.
    found.into_iter().max()
}

/// Returns where the package begins in a path with a folder, some levels beneath that.
fn within(path: &str, folder: &str, skipped: usize) -> Option<usize> {
    let mut start = path.rfind(folder)? + folder.len();
    for _ in 0..skipped {
        start += path.get(start..)?.find('/')? + 1;
    }
    Some(start)
}

/// The standard library: `…/library/core/src/…` wherever that is, and `/rustc/HASH/…`.
fn standard(path: &str) -> Option<usize> {
    let packages = path.match_indices("library/").filter_map(|(at, folder)| {
        let is_whole = at == 0 || path.as_bytes().get(at - 1) == Some(&b'/');
        let start = at + folder.len();
        let (package, _) = path.get(start..)?.split_once('/')?;
        (is_whole && STANDARD.contains(&package)).then_some(start)
    });
    packages.last().or_else(|| {
        let start = path.rfind("/rustc/")? + "/rustc/".len();
        let (hash, _) = path.get(start..)?.split_once('/')?;
        is_hash(hash, 7).then_some(start + hash.len() + 1)
    })
}

/// Registries and checkouts of a cargo whose home has any name: they have names with hashes.
fn indexed(path: &str) -> Option<usize> {
    [("/registry/src/", 1), ("/git/checkouts/", 2)].iter().find_map(|&(folder, levels)| {
        let start = within(path, folder, 0)?;
        let (name, _) = path.get(start..)?.split_once('/')?;
        let (_, hash) = name.rsplit_once('-')?;
        is_hash(hash, 16).then(|| within(path, folder, levels)).flatten()
    })
}

/// Packages that `cargo vendor` has copied: `vendor/NAME/…`.
fn vendored(path: &str) -> Option<usize> {
    let start = match path.strip_prefix("vendor/") {
        Some(_) => "vendor/".len(),
        None => within(path, "/vendor/", 0)?,
    };
    let (package, rest) = path.get(start..)?.split_once('/')?;
    // A program may be called so itself.
    (package != "src" && rest.contains('/')).then_some(start)
}

/// Sources that a build script has written: `build/NAME-HASH/out/…`.
fn generated(path: &str) -> Option<usize> {
    let end = path.rfind("/out/")?;
    let (before, package) = path.get(..end)?.rsplit_once('/')?;
    let (_, hash) = package.rsplit_once('-')?;
    (before.ends_with("/build") && is_hash(hash, 16)).then_some(before.len() + 1)
}

/// A path from the package's folder on, as compilers write it that are told to shorten paths.
fn remapped(path: &str) -> Option<usize> {
    let (package, _) = path.split_once('/')?;
    has_version(package).then_some(0)
}

/// Returns whether a folder of a path is named after a package with its version, as those of
/// packages that were fetched for a build without cargo.
fn is_versioned(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(has_version)
}

/// Returns whether a name ends in a version: `pinocchio-0.12.0`.
fn has_version(name: &str) -> bool {
    let starts = name.match_indices('-').filter_map(|(at, _)| name.get(at + 1..));
    starts.filter(|_| !name.starts_with('-')).any(|version| {
        let mut numbers = version.splitn(3, '.');
        let is_number = |it: Option<&str>| {
            it.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_whole = is_number(numbers.next()) && is_number(numbers.next());
        is_whole && numbers.next().is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
    })
}

fn is_hash(text: &str, len_min: usize) -> bool {
    text.len() >= len_min && text.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "/users/ada/amm";

    #[test]
    fn workspaces_and_packages_by_path_are_own() {
        let own = OwnCode::of(Some(HOME));
        for (file, short) in [
            ("/users/ada/amm/src/lib.rs", "src/lib.rs"),
            ("/users/ada/amm/programs/registry/src/lib.rs", "programs/registry/src/lib.rs"),
            ("/users/ada/shared/src/math.rs", "/users/ada/shared/src/math.rs"),
            ("/users/ada/amm/programs/vendor/src/lib.rs", "programs/vendor/src/lib.rs"),
            ("programs/amm/src/lib.rs", "programs/amm/src/lib.rs"),
            ("/users/ada/library/src/lib.rs", "/users/ada/library/src/lib.rs"),
            ("./examples/payout.s", "./examples/payout.s"),
        ] {
            assert!(own.contains(file), "{file}");
            assert_eq!(own.short(file), short);
        }
        // A folder with a version is a program's if it was compiled there.
        let own = OwnCode::of(Some("/src/amm-1.2.0"));
        assert!(own.contains("/src/amm-1.2.0/src/lib.rs"));
        assert!(OwnCode::default().contains("/src/amm-1.2.0/src/lib.rs"));
    }

    #[test]
    fn libraries_are_known_wherever_they_lie() {
        let own = OwnCode::of(Some(HOME));
        let index = "index.crates.io-1949cf8c6b5b557f";
        for (file, short) in [
            (format!("/users/me/.cargo/registry/src/{index}/pinocchio-0.12.0/src/cpi.rs"), "pinocchio-0.12.0/src/cpi.rs"),
            (format!("/usr/local/cargo/registry/src/{index}/borsh-1.6.1/src/lib.rs"), "borsh-1.6.1/src/lib.rs"),
            (format!("/cache/registry/src/{index}/borsh-1.6.1/src/lib.rs"), "borsh-1.6.1/src/lib.rs"),
            (format!(r"C:\Users\ada\.cargo\registry\src\{index}\borsh-1.6.1\src\lib.rs"), "borsh-1.6.1/src/lib.rs"),
            ("/users/me/.cargo/git/checkouts/anchor-0123456789abcdef/1a2b3c4/lang/src/error.rs".into(), "lang/src/error.rs"),
            ("/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/slice/mod.rs".into(), "core/src/slice/mod.rs"),
            ("/build/platform-tools/out/rust/library/alloc/src/vec/mod.rs".into(), "alloc/src/vec/mod.rs"),
            ("/users/me/.cache/selkie/build/rust-src/ae865e32b8e3d3d7/library/core/src/mem.rs".into(), "core/src/mem.rs"),
            ("library/core/src/slice/mod.rs".into(), "core/src/slice/mod.rs"),
            ("/users/ada/amm/target/sbpf-selkie-solana/release/deps/selkie/copies/solana-address-2.9.0/src/lib.rs".into(), "solana-address-2.9.0/src/lib.rs"),
            ("/users/ada/amm/vendor/borsh/src/lib.rs".into(), "borsh/src/lib.rs"),
            ("/users/ada/amm/target/release/build/typenum-0123456789abcdef/out/consts.rs".into(), "typenum-0123456789abcdef/out/consts.rs"),
            ("pinocchio-0.12.0/src/cpi.rs".into(), "pinocchio-0.12.0/src/cpi.rs"),
            ("/nix/store/0a1b-vendor/pinocchio-0.12.0/src/cpi.rs".into(), "/nix/store/0a1b-vendor/pinocchio-0.12.0/src/cpi.rs"),
        ] {
            assert!(!own.contains(&file), "{file}");
            assert_eq!(own.short(&file), short);
        }
    }

    #[test]
    fn a_program_that_another_manifest_stands_for_is_where_its_root_is() {
        let root = "/users/ada/amm/src/lib.rs/@/amm.0123456789abcdef-cgu.0";
        assert_eq!(home(Some("/cache/view"), root).as_deref(), Some(HOME));
        assert_eq!(home(Some(HOME), root).as_deref(), Some(HOME));
        assert_eq!(home(Some(HOME), "src/lib.rs/@/amm.0-cgu.0").as_deref(), Some(HOME));
        assert_eq!(home(Some("/src"), "/opt/counter.c").as_deref(), Some("/src"));
        assert_eq!(home(None, "counter.c"), None);
    }

    #[test]
    fn a_program_in_a_registry_is_own_to_itself() {
        let home = "/users/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/vault-1.0.0";
        let own = OwnCode::of(Some(home));
        assert!(own.contains(&format!("{home}/src/lib.rs")));
        assert!(!own.contains(&home.replace("vault", "borsh")));
        assert!(!own.contains(&format!("{home}/target/deps/selkie/copies/a-1.0.0/src/lib.rs")));
        assert_eq!(own.short(&format!("{home}/src/lib.rs")), "src/lib.rs");
    }
}
