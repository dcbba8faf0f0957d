//! Downloads packages through cargo.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

/// Packages that cargo downloaded and unpacked on this machine.
pub(crate) struct Registry<'a> {
    /// Folder for temporary crates whose dependencies cargo downloads.
    pub(crate) scratch: PathBuf,
    /// Receives progress messages.
    pub(crate) tell: &'a dyn Fn(&str),
}

impl Registry<'_> {
    /// Returns the path of a file in a package, downloading the package if necessary.
    pub(crate) fn file(&self, name: &str, version: &str, path: &Path) -> Result<PathBuf> {
        // `cargo info` downloads just this package, `cargo fetch` all its dependencies, too, but
        // older versions of cargo lack the former.
        let downloads = [Self::already_unpacked, Self::info, Self::fetch];
        for download in downloads {
            download(self, name, version)?;
            if let Some(file) = unpacked(name, version)?.map(|it| it.join(path))
                && file.exists()
            {
                return Ok(file);
            }
        }
        bail!("cargo did not unpack {} of {name} {version}", path.display())
    }

    fn already_unpacked(&self, _name: &str, _version: &str) -> Result<()> {
        Ok(())
    }

    fn info(&self, name: &str, version: &str) -> Result<()> {
        (self.tell)(&format!("downloading {name} {version}"));
        self.write_scratch_crate("")?;
        self.cargo(&["info", "--quiet", &format!("{name}@{version}")])
    }

    fn fetch(&self, name: &str, version: &str) -> Result<()> {
        (self.tell)(&format!("downloading {name} {version} with its dependencies"));
        self.write_scratch_crate(&format!("{name} = \"={version}\""))?;
        self.cargo(&["fetch"])
    }

    fn write_scratch_crate(&self, dependencies: &str) -> Result<()> {
        let manifest = format!(
            "[package]\nname = \"fixtures\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependencies}\n\n[workspace]\n"
        );
        fs::create_dir_all(self.scratch.join("src"))?;
        fs::write(self.scratch.join("src/lib.rs"), "")?;
        fs::write(self.scratch.join("Cargo.toml"), manifest)?;
        Ok(())
    }

    fn cargo(&self, arguments: &[&str]) -> Result<()> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(arguments)
            .current_dir(&self.scratch)
            .output()
            .context("cannot start cargo")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo {} failed\n{message}", arguments.join(" "));
        Ok(())
    }
}

/// Returns the folder of a package among cargo's unpacked sources, from any registry.
fn unpacked(name: &str, version: &str) -> Result<Option<PathBuf>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.context("neither CARGO_HOME nor a home directory is known")?;
    let Ok(registries) = fs::read_dir(sources.join("registry/src")) else { return Ok(None) };
    for registry in registries {
        let folder = registry?.path().join(format!("{name}-{version}"));
        if folder.exists() {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Splits `some-package-1.2.3` into name and version.
pub(crate) fn split_version(package: &str) -> Option<(String, String)> {
    let is_version =
        |text: &str| text.split_once('.').is_some_and(|(major, _)| major.parse::<u64>().is_ok());
    let (at, _) = package.match_indices('-').find(|&(at, _)| is_version(&package[at + 1..]))?;
    Some((package[..at].to_owned(), package[at + 1..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_version_finds_the_version_after_dashes_and_digits() {
        let check = |package, name: &str, version: &str| {
            assert_eq!(split_version(package), Some((name.to_owned(), version.to_owned())));
        };
        check("solana-sbpf-0.26.0", "solana-sbpf", "0.26.0");
        check("some-2022-1.0.0-alpha.1", "some-2022", "1.0.0-alpha.1");
        assert_eq!(split_version("no-version"), None);
    }
}
