//! What cargo downloads and unpacks.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

/// What cargo downloaded and unpacked on this machine.
pub(crate) struct Registry<'a> {
    /// Where crates may be made to have cargo download their dependencies.
    pub(crate) scratch: PathBuf,
    /// Is told what is downloaded.
    pub(crate) tell: &'a dyn Fn(&str),
}

impl Registry<'_> {
    /// A file of a package, which is downloaded if it is not there.
    pub(crate) fn file(&self, name: &str, version: &str, path: &Path) -> Result<PathBuf> {
        // The first way downloads that one package; the other needs all that it depends on, but
        // is known to older versions of cargo.
        let ways = [Self::nothing, Self::info, Self::fetch];
        for way in ways {
            way(self, name, version)?;
            if let Some(file) = unpacked(name, version)?.map(|it| it.join(path))
                && file.exists()
            {
                return Ok(file);
            }
        }
        bail!("cargo did not unpack {} of {name} {version}", path.display())
    }

    fn nothing(&self, _name: &str, _version: &str) -> Result<()> {
        Ok(())
    }

    fn info(&self, name: &str, version: &str) -> Result<()> {
        (self.tell)(&format!("downloading {name} {version}"));
        self.write_scratch_crate("")?;
        self.cargo(&["info", "--quiet", &format!("{name}@{version}")])
    }

    fn fetch(&self, name: &str, version: &str) -> Result<()> {
        (self.tell)(&format!("downloading {name} {version} with all that it depends on"));
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

/// The folder of a package among cargo's registry sources, whichever registry it came from.
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

/// Splits `some-package-1.2.3`.
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
    fn a_version_is_split_off_its_package() {
        let check = |package, name: &str, version: &str| {
            assert_eq!(split_version(package), Some((name.to_owned(), version.to_owned())));
        };
        check("solana-sbpf-0.26.0", "solana-sbpf", "0.26.0");
        check("some-2022-1.0.0-alpha.1", "some-2022", "1.0.0-alpha.1");
        assert_eq!(split_version("no-version"), None);
    }
}
