//! `cargo xtask site`: the book in `docs` as a static site in `target/site`, with search, and the playground.
//!
//! mdBook is installed into `target/mdbook`; it is no dependency of the workspace. Links that lead out
//! of `docs` become links to the repository's address if one is given, as
//! `https://HOST/selkie/blob/main`, and plain text without.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    files::Files,
    links::{self, BOOK},
    playground, repository, say,
    steps::{cargo_command, succeed},
};

/// The version of mdBook.
const MDBOOK: &str = "0.5.4";
/// The pages as mdBook reads them.
const SOURCE: &str = "target/site-source";
const SITE: &str = "target/site";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let address = match arguments {
        [] => None,
        [address] if !address.starts_with('-') => Some(address.trim_end_matches('/')),
        _ => bail!("usage: cargo xtask site [ADDRESS OF THE REPOSITORY'S FILES]"),
    };
    let mdbook = mdbook()?;
    let source = repository().join(SOURCE);
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    fs::create_dir_all(&source)?;
    for name in ["book.toml", "book.css"] {
        fs::copy(repository().join(BOOK).join(name), source.join(name))?;
    }
    for (path, text) in Files::read(repository())?.iter().filter(|(path, _)| path.ends_with(".md"))
    {
        let Some(page) = path.strip_prefix(BOOK) else { continue };
        let to = source.join("pages").join(page);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        let text = within(path, text, address);
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))?;
    }
    let mut build = Command::new(mdbook);
    build.arg("build").arg(&source).arg("--dest-dir").arg(repository().join(SITE));
    succeed(build.env("MDBOOK_BOOK__SRC", "pages"))?;
    say(&format!("{SITE}/index.html: open it in a browser, or serve the folder"));
    // mdBook empties the folder.
    playground::build_if_possible()
}

/// Returns the command, which is installed if it is not there.
fn mdbook() -> Result<PathBuf> {
    let root = repository().join("target/mdbook").join(MDBOOK);
    let command = root.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if !command.exists() {
        say(&format!("installing mdbook {MDBOOK}, which takes some minutes"));
        let features = ["--no-default-features", "--features", "search"];
        let install = ["install", "mdbook", "--locked", "--version", MDBOOK];
        succeed(cargo_command().args(install).args(features).arg("--root").arg(&root))?;
    }
    Ok(command)
}

/// Returns a page whose links that lead out of the book lead to `address`, or are only text.
fn within(page: &str, text: &str, address: Option<&str>) -> String {
    let mut text = text.to_owned();
    for link in links::links(&text.clone()).into_iter().rev() {
        let Some((path, anchor)) = links::resolve(page, link.target) else { continue };
        if path.starts_with(BOOK) {
            continue;
        }
        let label = text[link.label].to_owned();
        let anchor = anchor.map(|it| format!("#{it}")).unwrap_or_default();
        let outside = address.map(|address| format!("[{label}]({address}/{path}{anchor})"));
        text.replace_range(link.whole, &outside.unwrap_or(label));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository_or_are_text() {
        let text = "[a](b.md#c), [`x`](../src/x.rs#L1) and [y](https://y)";
        let text = |address| within("docs/a.md", text, address);
        assert_eq!(text(None), "[a](b.md#c), `x` and [y](https://y)");
        assert_eq!(
            text(Some("https://h/s")),
            "[a](b.md#c), [`x`](https://h/s/src/x.rs#L1) and [y](https://y)"
        );
    }
}
