//! Anchor's workspaces: what a validator has at its start, by `Anchor.toml` and `Test.toml`.
//!
//! Surfpool reads these with `--legacy-anchor-compatibility` (txtx/surfpool,
//! `crates/cli/src/scaffold/anchor.rs`): the programs are the names in the first table of `[programs]`
//! whose `target/deploy/NAME.so` exists.

use std::path::{Path, PathBuf};

use selkie_isa::{
    failure::{Context as _, Failure, Result},
    input,
};
use serde_json::Value;
use toml::Table;

/// Anchor's own names of clusters, in the order in which surfpool looks for programs.
const CLUSTERS: &[&str] = &["testnet", "mainnet", "devnet", "localnet"];

/// The authority of programs at genesis, as with surfpool: the system program, which signs nothing.
const GENESIS_AUTHORITY: &str = "11111111111111111111111111111111";

/// What a validator has at its start.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Start {
    /// Programs: address or key file, file, and upgrade authority or its key file.
    pub programs: Vec<[String; 3]>,
    /// Accounts: address and file.
    pub accounts: Vec<[String; 2]>,
    /// Folders of account files.
    pub account_folders: Vec<PathBuf>,
    /// Addresses that are fetched from another cluster.
    pub clones: Vec<String>,
    /// The wallet that is to have a balance.
    pub wallet: Option<PathBuf>,
    /// What is left out, and why.
    pub notes: Vec<String>,
}

/// Reads what a workspace asks for. With `Test.toml` files, the accounts that `Anchor.toml` lists are
/// theirs to list.
///
/// # Errors
///
/// If a file cannot be read, or is not TOML.
pub fn start(
    root: &Path,
    artifacts: Option<&Path>,
    test_files: &[PathBuf],
    home: Option<&Path>,
) -> Result<Start> {
    let path = root.join("Anchor.toml");
    let anchor = table(&path)?;
    let provider = anchor.get("provider").and_then(|it| it.get("wallet")).and_then(text);
    let wallet = provider.map(|it| expand(root, it, home)).filter(|it| it.is_file());
    let authority =
        wallet.as_ref().map_or_else(|| "none".to_owned(), |it| it.display().to_string());
    let mut start = Start { wallet, ..Start::default() };
    let deploy = artifacts.map_or_else(|| root.join("target/deploy"), Path::to_owned);
    for (name, address) in programs(&anchor) {
        let Some(program) = program_file(&deploy, &name) else {
            start.notes.push(format!("{name} is not built: no {name}.so in {}", deploy.display()));
            continue;
        };
        let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let idl = root.join("target/idl").join(format!("{stem}.json"));
        let key = deploy.join(format!("{stem}-keypair.json"));
        let key = key.is_file().then(|| key.display().to_string());
        match idl_address(&idl).or(address).or(key) {
            Some(address) => start.programs.push([address, shown(&program), authority.clone()]),
            None => {
                start.notes.push(format!("{name} has no address: neither an IDL nor a keypair"))
            }
        }
    }
    let is_main = |it: &&PathBuf| it.file_name().is_some_and(|it| it == "Anchor.toml");
    let others: Vec<&PathBuf> = test_files.iter().filter(|it| !is_main(it)).collect();
    add(&mut start, root, &anchor, others.is_empty());
    for file in others {
        add_file(&mut start, file, 0)?;
    }
    Ok(start)
}

/// Adds a `Test.toml`, after those that it extends.
fn add_file(start: &mut Start, path: &Path, depth: usize) -> Result<()> {
    if depth > 16 {
        let help = "remove the circle of `extends`";
        return Err(Failure::new(format!("{} extends itself", path.display())).with_help(help));
    }
    let table = table(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let extended = table.get("extends").and_then(toml::Value::as_array).into_iter().flatten();
    for other in extended.filter_map(text) {
        add_file(start, &folder.join(other), depth + 1)?;
    }
    add(start, folder, &table, true);
    Ok(())
}

/// Adds the entries of a file's table `test`; paths are relative to the file's folder.
fn add(start: &mut Start, folder: &Path, table: &Table, with_accounts: bool) {
    let Some(test) = table.get("test") else { return };
    let rows = |value: &toml::Value, name: &str| {
        value.get(name).and_then(toml::Value::as_array).cloned().unwrap_or_default()
    };
    let field = |row: &toml::Value, name: &str| row.get(name).and_then(text).map(str::to_owned);
    for row in rows(test, "genesis") {
        if let (Some(address), Some(program)) = (field(&row, "address"), field(&row, "program")) {
            let program = shown(&folder.join(program));
            start.programs.push([address, program, GENESIS_AUTHORITY.to_owned()]);
        }
    }
    let Some(validator) = test.get("validator") else { return };
    if with_accounts {
        for row in rows(validator, "account") {
            if let (Some(address), Some(file)) = (field(&row, "address"), field(&row, "filename")) {
                start.accounts.push([address, shown(&folder.join(file))]);
            }
        }
    }
    let folders = rows(validator, "account_dir");
    start.account_folders.extend(folders.iter().filter_map(|row| {
        let name = field(row, "directory").or_else(|| text(row).map(str::to_owned))?;
        Some(folder.join(name))
    }));
    let clones = rows(validator, "clone");
    start.clones.extend(clones.iter().filter_map(|row| field(row, "address")));
}

/// The names and addresses of the first table of programs.
fn programs(anchor: &Table) -> Vec<(String, Option<String>)> {
    let Some(all) = anchor.get("programs") else { return Vec::new() };
    let table = CLUSTERS.iter().find_map(|it| all.get(it)).and_then(toml::Value::as_table);
    let localnet = all.get("localnet").and_then(toml::Value::as_table);
    let address = |name: &String| {
        let value = localnet.and_then(|it| it.get(name))?;
        text(value).or_else(|| value.get("address").and_then(text)).map(str::to_owned)
    };
    let names = table.into_iter().flat_map(Table::keys);
    names.map(|name| (name.clone(), address(name))).collect()
}

/// Finds the file of a program: names of packages may have dashes, those of libraries have none.
fn program_file(deploy: &Path, name: &str) -> Option<PathBuf> {
    let names = [name.to_owned(), name.replace('-', "_")];
    names.map(|it| deploy.join(it + ".so")).into_iter().find(|it| it.is_file())
}

/// The address that an IDL names.
fn idl_address(path: &Path) -> Option<String> {
    let text = input::text(path, input::TEXT_BYTES_MAX).ok()?;
    let idl: Value = serde_json::from_str(&text).ok()?;
    let address = idl.get("address").or_else(|| idl.get("metadata")?.get("address"))?;
    Some(address.as_str().filter(|it| !it.is_empty())?.to_owned())
}

/// Reads a TOML file.
pub(crate) fn table(path: &Path) -> Result<Table> {
    let text = input::text(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| format!("{} is not TOML", path.display()))
}

/// A path in which `~` stands for the user's folder.
fn expand(root: &Path, path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => root.join(path),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn text(value: &toml::Value) -> Option<&str> {
    value.as_str()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_workspace_names_what_a_validator_has() {
        let root =
            std::env::temp_dir().join(format!("selkie-switch-anchor-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "Anchor.toml",
            "[programs.localnet]\none = \"A1\"\ntwo-b = { address = \"A2\" }\nthree = \"A3\"\n\
             [provider]\nwallet = \"~/id.json\"\n\
             [[test.genesis]]\naddress = \"G\"\nprogram = \"g.so\"\nupgradeable = true\n\
             [[test.validator.account]]\naddress = \"own\"\nfilename = \"own.json\"\n\
             [[test.validator.clone]]\naddress = \"C\"\n",
        );
        write("target/deploy/one.so", "");
        write("target/deploy/two_b.so", "");
        write("target/idl/one.json", r#"{"address":"I1"}"#);
        write("id.json", "[]");
        write(
            "suite/Test.toml",
            "extends = [\"../base.toml\"]\n\
             [[test.validator.account_dir]]\ndirectory = \"dir\"\n",
        );
        write("base.toml", "[[test.validator.account]]\naddress = \"B\"\nfilename = \"b.json\"\n");
        let path = |name: &str| root.join(name).display().to_string();

        let found = start(&root, None, &[], Some(&root)).unwrap();
        let wallet = path("id.json");
        let expected = [
            ["I1".to_owned(), path("target/deploy/one.so"), wallet.clone()],
            ["A2".to_owned(), path("target/deploy/two_b.so"), wallet],
            ["G".to_owned(), path("g.so"), GENESIS_AUTHORITY.to_owned()],
        ];
        assert_eq!(found.programs, expected);
        assert_eq!(found.accounts, [["own".to_owned(), path("own.json")]]);
        assert_eq!(found.clones, ["C"]);
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);

        let found = start(&root, None, &[root.join("suite/Test.toml")], None).unwrap();
        assert_eq!(found.wallet, None);
        let file = root.join("suite/../base.toml").parent().unwrap().join("b.json");
        assert_eq!(found.accounts, [["B".to_owned(), file.display().to_string()]]);
        assert_eq!(found.account_folders, [root.join("suite/dir")]);
        fs::remove_dir_all(&root).unwrap();
    }
}
