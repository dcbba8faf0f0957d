//! The modules of a crate, and which uses which.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, references};

/// A module, as a path from the crate's root; the root itself is empty.
type Path = Vec<String>;

/// The layers of crates whose modules are layered. Each may use those before it; modules that are not
/// listed are in no layer.
const LAYERS: &[(&str, &[&str])] = &[
    ("svm", &["chain", "programs", "runtime", "pipeline"]),
    ("cli", &["ui", "args", "command", "cli"]),
];

/// The modules of one crate, with the modules that each uses.
pub(crate) struct Modules {
    uses: BTreeMap<Path, BTreeSet<Path>>,
}

impl Modules {
    /// Reads the files of a crate, whose paths start after `src/`.
    pub(crate) fn new<'a>(files: impl Iterator<Item = (&'a str, &'a Source<'a>)>) -> Self {
        let (mut imports, mut paths) = (BTreeMap::new(), BTreeMap::new());
        for (file, source) in files {
            let module = module_of(file);
            let (references, imported) = references(source, &module);
            imports.insert(module.clone(), imported);
            paths.insert(module, references);
        }
        let modules: BTreeSet<Path> = paths.keys().cloned().collect();
        // A path may lead through the imports of a module.
        let named = imports.iter().flat_map(|(module, imported)| {
            imported
                .iter()
                .map(move |it| ([&module[..], core::slice::from_ref(&it.name)].concat(), &it.path))
        });
        let named: BTreeMap<Path, &Path> = named.collect();
        let resolve = |path: &Path| resolve(path, &modules, &named, 8);
        let uses = paths.iter().map(|(module, paths)| {
            (module.clone(), paths.iter().map(resolve).filter(|it| it != module).collect())
        });
        Self { uses: uses.collect() }
    }

    /// The cycles: sets of modules with the same parent that use each other, directly or not. A
    /// module's children count as the module.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        let parents: BTreeSet<&[String]> =
            self.uses.keys().filter_map(|it| Some(it.split_last()?.1)).collect();
        parents.into_iter().flat_map(|parent| cycles(&self.siblings(parent))).collect()
    }

    /// For each child of `parent` the other children that it uses, as paths.
    fn siblings(&self, parent: &[String]) -> BTreeMap<String, BTreeSet<String>> {
        let child = |it: &Path| {
            let behind = it.strip_prefix(parent)?.first()?;
            Some([parent, core::slice::from_ref(behind)].concat().join("::"))
        };
        let mut siblings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (user, used) in &self.uses {
            let Some(user) = child(user) else { continue };
            let used = used.iter().filter_map(child).filter(|used| *used != user);
            siblings.entry(user.clone()).or_default().extend(used);
        }
        siblings
    }

    /// Uses of a higher layer by a lower one.
    pub(crate) fn upward(&self, name: &str) -> Vec<String> {
        let Some((_, layers)) = LAYERS.iter().find(|(it, _)| *it == name) else {
            return Vec::new();
        };
        let layer =
            |module: &Path| layers.iter().position(|it| module.first().is_some_and(|m| m == it));
        let pairs = self.uses.iter().flat_map(|(user, used)| used.iter().map(move |it| (user, it)));
        let upward = pairs.filter(|(user, used)| {
            layer(user).zip(layer(used)).is_some_and(|(user, used)| used > user)
        });
        upward.map(|(user, used)| format!("{} uses {}", user.join("::"), used.join("::"))).collect()
    }
}

/// The module of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_of(file: &str) -> Path {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if ["lib", "main"].contains(&path) {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}

/// The module in which the item of a path is declared, re-exports followed.
fn resolve(
    path: &Path,
    modules: &BTreeSet<Path>,
    named: &BTreeMap<Path, &Path>,
    steps: u8,
) -> Path {
    let module = (0..=path.len()).rev().find(|&len| modules.contains(&path[..len]));
    let module = module.unwrap_or_default();
    let name = path.get(..=module);
    match name.and_then(|name| named.get(name)) {
        Some(target) if steps > 0 && *target != path => {
            let path = [&target[..], &path[module + 1..]].concat();
            resolve(&path, modules, named, steps - 1)
        }
        _ => path[..module].to_vec(),
    }
}

/// The strongly connected components of more than one node.
fn cycles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|it| (it, reachable(it, uses))).collect();
    let (mut cycles, mut seen) = (Vec::new(), BTreeSet::new());
    for (node, others) in &reached {
        let in_cycle = |it: &&&String| reached.get(**it).is_some_and(|back| back.contains(*node));
        let cycle: Vec<String> = others.iter().filter(in_cycle).map(|it| (*it).clone()).collect();
        if cycle.len() > 1 && seen.insert(cycle.clone()) {
            cycles.push(cycle);
        }
    }
    cycles
}

fn reachable<'a>(
    start: &'a String,
    uses: &'a BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<&'a String> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![start]);
    while let Some(used) = left.pop().and_then(|node| uses.get(node)) {
        left.extend(used.iter().filter(|it| reached.insert(*it)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let sources: Vec<_> = files.iter().map(|(file, text)| (*file, Source::new(text))).collect();
        Modules::new(sources.iter().map(|(file, source)| (*file, source)))
    }

    fn check_cycles(files: &[(&str, &str)], expected: &[&[&str]]) {
        assert_eq!(modules(files).cycles(), expected);
    }

    #[test]
    fn modules_that_use_each_other_are_a_cycle() {
        let root = ("lib.rs", "mod a; mod b; mod c; pub use a::A;");
        check_cycles(
            &[
                root,
                ("a.rs", "use crate::b;"),
                ("b/mod.rs", ""),
                ("b/d.rs", "fn f() -> crate::c::C"),
                ("c.rs", "use crate::A;"),
            ],
            &[&["a", "b", "c"]],
        );
        check_cycles(
            &[root, ("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "")],
            &[],
        );
    }

    #[test]
    fn cycles_among_children_are_found() {
        check_cycles(
            &[
                ("lib.rs", ""),
                ("a/mod.rs", ""),
                ("a/b.rs", "use super::c::C;"),
                ("a/c.rs", "use super::b;"),
            ],
            &[&["a::b", "a::c"]],
        );
    }

    #[test]
    fn tests_do_not_count() {
        let test = "#[cfg(test)]\nmod tests { use crate::b; }";
        check_cycles(&[("lib.rs", ""), ("a.rs", test), ("b.rs", "use crate::a;")], &[]);
    }

    #[test]
    fn a_lower_layer_must_not_use_a_higher_one() {
        let files = [
            ("lib.rs", ""),
            ("runtime/mod.rs", "use crate::programs;"),
            ("chain.rs", "use crate::runtime;"),
            ("programs.rs", ""),
        ];
        assert_eq!(modules(&files).upward("svm"), ["chain uses runtime"]);
        assert_eq!(modules(&files).upward("vm"), [""; 0]);
    }

    #[test]
    fn the_commands_arguments_must_not_use_the_command_line() {
        let files = [
            ("main.rs", "mod args; mod cli; mod command;"),
            ("args.rs", "use crate::numbers;"),
            ("cli.rs", "use crate::{args, command};"),
            ("command/mod.rs", "use crate::args::CheckArgs;"),
            ("command/completions.rs", "use crate::cli::Cli;"),
            ("numbers.rs", ""),
        ];
        assert_eq!(modules(&files).upward("cli"), ["command::completions uses cli"]);
    }
}
