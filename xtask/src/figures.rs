//! `cargo xtask figures`: the size of functions and files, cycles of modules and documentation, in
//! figures that [`crate::ratchets`] keeps from getting worse.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::{
    files::Files,
    modules::Modules,
    print, repository,
    source::{Function, Source},
    workspaces::WORKSPACES,
};

/// Functions with more lines of code should be split.
const LINES_MAX: usize = 70;

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let files = match arguments {
        [] => Files::read(repository())?,
        [folder] => Files::read(folder.as_ref())?,
        _ => bail!("usage: cargo xtask figures [REPOSITORY]"),
    };
    for part in parts(&files) {
        print(&part.to_string());
    }
    for document in ["README.md", "ARCHITECTURE.md"] {
        let words = files.get(document).map_or(0, |text| text.split_whitespace().count());
        print(&format!("{document}: {words} words"));
    }
    Ok(())
}

/// The figures of every part of the repository.
pub(crate) fn parts(files: &Files) -> Vec<Part> {
    let parts = WORKSPACES.iter().flat_map(|it| it.parts);
    parts.map(|(name, folders)| Part::new(name, folders, files)).collect()
}

/// The figures of a part of a workspace, without its tests.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// Lines of code of each function, the longest last, with its file.
    pub(crate) functions: Vec<(String, Function)>,
    /// Lines of code of each file, the longest last.
    file_lines: Vec<usize>,
    documented: usize,
    /// Places of public items without documentation.
    pub(crate) undocumented: Vec<String>,
    /// The cycles of modules, by crate.
    cycles: BTreeMap<String, Vec<Vec<String>>>,
    /// Uses of a higher layer of modules by a lower one.
    pub(crate) upward: Vec<String>,
}

impl Part {
    fn new(name: &'static str, folders: &[&str], files: &Files) -> Self {
        let is_here = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
        let sources = files.iter().filter(|(path, _)| is_here(path) && is_product(path));
        let sources: Vec<(&str, Source<'_>)> =
            sources.map(|(path, text)| (path, Source::new(text))).collect();
        let test_files: BTreeSet<String> = sources.iter().flat_map(test_files).collect();
        let is_test = |path: &str| test_files.iter().any(|it| path.starts_with(it.as_str()));
        let sources: Vec<_> = sources.into_iter().filter(|(path, _)| !is_test(path)).collect();
        let mut functions: Vec<_> = sources
            .iter()
            .flat_map(|(path, it)| it.functions().into_iter().map(|it| ((*path).to_owned(), it)))
            .collect();
        functions.sort_by_key(|(_, function)| function.code_lines);
        let mut file_lines: Vec<_> = sources.iter().map(|(_, it)| it.code_lines()).collect();
        file_lines.sort_unstable();
        let mut part = Self {
            name,
            functions,
            file_lines,
            documented: 0,
            undocumented: Vec::new(),
            cycles: BTreeMap::new(),
            upward: Vec::new(),
        };
        part.add_documentation(&sources);
        part.add_modules(&sources);
        part
    }

    /// Only libraries have public items.
    fn add_documentation(&mut self, sources: &[(&str, Source<'_>)]) {
        for (path, source) in sources.iter().filter(|(path, _)| !path.starts_with("xtask/")) {
            let items = source.public_items();
            self.documented += items.documented;
            let undocumented = items.undocumented.iter();
            self.undocumented.extend(undocumented.map(|(line, it)| format!("{path}:{line}: {it}")));
        }
    }

    fn add_modules(&mut self, sources: &[(&str, Source<'_>)]) {
        let mut crates: BTreeMap<&str, Vec<(&str, &Source<'_>)>> = BTreeMap::new();
        for (path, source) in sources {
            if let Some((folder, file)) = path.split_once("/src/") {
                crates.entry(folder).or_default().push((file, source));
            }
        }
        for (folder, files) in crates {
            let name = folder.strip_prefix("crates/").unwrap_or(folder);
            let modules = Modules::new(files.into_iter());
            let cycles = modules.cycles();
            if !cycles.is_empty() {
                self.cycles.insert(name.to_owned(), cycles);
            }
            let upward = modules.upward(name).into_iter();
            self.upward.extend(upward.map(|it| format!("{folder}: {it}, which is a higher layer")));
        }
    }

    /// The figures that must not grow, by name.
    pub(crate) fn ratchets(&self) -> BTreeMap<String, usize> {
        let lines = self.function_lines();
        let mut figures = BTreeMap::from([
            ("functions over 70 lines".to_owned(), self.long_functions().count()),
            ("function lines, p90".to_owned(), quantile(&lines, 90)),
            ("function lines, max".to_owned(), quantile(&lines, 100)),
            ("file lines, max".to_owned(), quantile(&self.file_lines, 100)),
            ("public items without documentation".to_owned(), self.undocumented.len()),
        ]);
        for (name, cycles) in &self.cycles {
            let modules = cycles.iter().map(Vec::len).sum();
            figures.insert(format!("modules in cycles, {name}"), modules);
        }
        figures
    }

    /// The functions that should be split.
    pub(crate) fn long_functions(&self) -> impl Iterator<Item = &(String, Function)> {
        self.functions.iter().filter(|(_, function)| function.code_lines > LINES_MAX)
    }

    /// Each cycle of modules, with its crate.
    pub(crate) fn cycles(&self) -> impl Iterator<Item = String> {
        self.cycles.iter().flat_map(|(name, cycles)| {
            cycles.iter().map(move |modules| format!("{name}: {}", modules.join(" ")))
        })
    }

    fn function_lines(&self) -> Vec<usize> {
        self.functions.iter().map(|(_, function)| function.code_lines).collect()
    }
}

impl core::fmt::Display for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (lines, files) = (self.function_lines(), &self.file_lines);
        let at = |lines: &[usize], percents: &[usize]| {
            let at: Vec<String> =
                percents.iter().map(|it| quantile(lines, *it).to_string()).collect();
            at.join("/")
        };
        let long = self.long_functions().count();
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        writeln!(f, "{}: {} functions, {} files", self.name, lines.len(), files.len())?;
        writeln!(
            f,
            "  lines of a function, median/p90/p99/max: {}",
            at(&lines, &[50, 90, 99, 100])
        )?;
        writeln!(
            f,
            "  functions over {LINES_MAX} lines: {long} ({:.1} %)",
            percent(long, lines.len())
        )?;
        writeln!(f, "  lines of a file, median/p90/max: {}", at(files, &[50, 90, 100]))?;
        let all = self.documented + self.undocumented.len();
        let documented = percent(self.documented, all);
        writeln!(f, "  public items documented: {documented:.1} % of {all}")?;
        self.cycles().try_for_each(|it| writeln!(f, "  cycle of modules in {it}"))
    }
}

/// Whether a file is part of the product, and not of its tests.
fn is_product(path: &str) -> bool {
    let is_test = |it: &str| ["tests", "tests.rs", "benches", "examples"].contains(&it);
    path.ends_with(".rs") && !path.split('/').any(is_test)
}

/// Prefixes of the paths of a file's test modules.
fn test_files((path, source): &(&str, Source<'_>)) -> Vec<String> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let folder =
        ["/mod", "/lib", "/main"].iter().find_map(|it| stem.strip_suffix(it)).unwrap_or(stem);
    let modules = source.test_modules.iter();
    modules.flat_map(|it| [format!("{folder}/{it}.rs"), format!("{folder}/{it}/")]).collect()
}

/// The value below which so many percent of sorted values are.
fn quantile(sorted: &[usize], percent: usize) -> usize {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}
