//! What is shown of a profile in files for other tools, as its tables show it: libraries count for the
//! own functions that have called them, closures are part of the item that they belong to, and sources
//! of libraries have short paths.

use std::{collections::BTreeMap, rc::Rc};

use selkie_inspect::item_name;

use super::{
    FrameKind, Node, Profile, ProfileFrame,
    table::{Libraries, own_caller},
};
use crate::symbolize::Line;

impl Profile {
    /// Returns the profile with libraries as they are to be shown. The compute units are the same.
    #[must_use]
    pub fn shown(&self, libraries: Libraries) -> Self {
        let rolls_up = libraries == Libraries::RolledUp;
        let (units, transactions) = (self.units, self.transactions);
        let mut shown = Self { units, transactions, ..Self::default() };
        for (path, file) in &self.files {
            shown.files.insert(self.path(path), file.clone());
        }
        let mut places: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let caller = node.parent.map(|it| places[it]);
            let is_function = is_function(node.frame.kind);
            let is_of_caller =
                rolls_up && is_function && !node.is_own && own_caller(self, index).is_some();
            let place = match caller {
                // Libraries between it and the own function are that function's as well.
                Some(caller) if is_of_caller => caller,
                _ => shown.place(caller, self.frame(&node.frame, rolls_up)),
            };
            places.push(place);
            let lines = if rolls_up { &node.own_lines } else { &node.lines };
            let lines = lines.iter().map(|(line, units)| (line, *units));
            let own = |line: &Line| self.file(&line.file).is_some_and(|it| it.is_own);
            let lines = lines.filter(|(line, _)| !is_of_caller || own(line));
            let lines = lines.map(|(line, units)| {
                (Line { file: self.path(&line.file), line: line.line }, units)
            });
            let lines: Vec<(Line, u64)> = lines.collect();
            shown.nodes[place].merge(node, !is_of_caller, lines);
        }
        shown
    }

    /// Returns the node of a frame below its caller: a closure's is that of the item.
    fn place(&mut self, caller: Option<usize>, frame: ProfileFrame) -> usize {
        let of_item = caller.filter(|it| {
            let caller = &self.nodes[*it].frame;
            let is_same = caller.name == frame.name && caller.program == frame.program;
            is_same && frame.kind == FrameKind::Inlined && is_function(caller.kind)
        });
        of_item.unwrap_or_else(|| self.child(caller, frame))
    }

    fn frame(&self, frame: &ProfileFrame, rolls_up: bool) -> ProfileFrame {
        let name = match rolls_up && is_function(frame.kind) {
            true => item_name(&frame.name).into(),
            false => Rc::clone(&frame.name),
        };
        let file = frame.file.as_ref().map(|it| self.path(it));
        ProfileFrame { name, file, ..frame.clone() }
    }

    /// Returns the path of a source: of an own one as it was recorded, so that tools find it.
    fn path(&self, path: &Rc<str>) -> Rc<str> {
        let file = self.files.get(path).filter(|it| !it.is_own);
        Rc::clone(file.map_or(path, |it| &it.short))
    }
}

impl Node {
    fn merge(&mut self, other: &Self, is_same: bool, lines: Vec<(Line, u64)>) {
        self.units += other.units;
        self.instructions += other.instructions;
        self.calls += if is_same { other.calls } else { 0 };
        self.is_own |= other.is_own;
        for lines_of in [&mut self.lines, &mut self.own_lines] {
            add(lines_of, &lines);
        }
    }
}

fn add(to: &mut BTreeMap<Line, u64>, lines: &[(Line, u64)]) {
    for (line, units) in lines {
        *to.entry(line.clone()).or_default() += units;
    }
}

fn is_function(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Function | FrameKind::Inlined)
}

#[cfg(test)]
mod tests {
    use selkie::Pubkey;

    use super::*;
    use crate::profile::{SourceFile, format::collapsed, table::Tables};

    const OWN: &str = "/users/ada/vault/src/lib.rs";
    const LIBRARY: &str = "/users/ada/.cargo/registry/src/index-0/lib-1.0.0/src/lib.rs";

    /// Adds a function with units at a line of a file, whose own line is `own`.
    fn add(
        profile: &mut Profile,
        caller: Option<usize>,
        (kind, name): (FrameKind, &str),
        units: u64,
        (file, line, own): (&str, u32, u32),
    ) -> usize {
        let program = Pubkey::default();
        let place = (kind == FrameKind::Inlined).then(|| file.into());
        let node =
            profile.child(caller, ProfileFrame { kind, name: name.into(), program, file: place });
        let it = &mut profile.nodes[node];
        (it.units, it.instructions, it.calls, it.is_own) = (units, units, 1, file == OWN);
        if units > 0 {
            it.lines.insert(Line { file: file.into(), line }, units);
            let file = if own > 0 { OWN } else { file };
            let line = if own > 0 { own } else { line };
            it.own_lines.insert(Line { file: file.into(), line }, units);
        }
        profile.units += units;
        node
    }

    fn profile() -> Profile {
        let mut profile = Profile::default();
        for (path, short, is_own) in
            [(OWN, "src/lib.rs", true), (LIBRARY, "lib-1.0.0/src/lib.rs", false)]
        {
            let file = SourceFile { short: short.into(), package: "".into(), is_own };
            profile.files.insert(path.into(), file);
        }
        let function = |name| (FrameKind::Function, name);
        let inlined = |name| (FrameKind::Inlined, name);
        let vault = Some(add(&mut profile, None, (FrameKind::Program, "vault"), 0, ("", 0, 0)));
        let start = Some(add(&mut profile, vault, function("lib::start"), 3, (LIBRARY, 1, 0)));
        add(&mut profile, vault, function("lib::stop"), 2, (LIBRARY, 2, 0));
        let pay = Some(add(&mut profile, start, function("vault::pay"), 500, (OWN, 10, 10)));
        let closure = inlined("vault::pay::{closure#0}");
        let closure = Some(add(&mut profile, pay, closure, 70, (OWN, 11, 11)));
        let copy = Some(add(&mut profile, closure, inlined("lib::copy"), 20, (LIBRARY, 9, 11)));
        let bytes = Some(add(&mut profile, copy, function("lib::bytes"), 5, (LIBRARY, 8, 0)));
        add(&mut profile, bytes, (FrameKind::Syscall, "sol_log_"), 100, ("", 0, 0));
        profile
    }

    #[test]
    fn libraries_and_closures_count_for_the_own_function() {
        let (whole, shown) = (profile(), profile().shown(Libraries::RolledUp));
        let text = "vault;lib::start 3\nvault;lib::stop 2\nvault;lib::start;vault::pay 595\n\
                    vault;lib::start;vault::pay;sol_log_ 100\n";
        assert_eq!(collapsed(&shown), text);
        let sum = |it: &Profile| it.nodes.iter().map(|it| it.units).sum::<u64>();
        assert_eq!((sum(&shown), shown.units), (sum(&whole), whole.units));
        let pay = shown.nodes.iter().find(|it| &*it.frame.name == "vault::pay").unwrap();
        let lines: Vec<_> =
            pay.lines.iter().map(|(it, units)| (&*it.file, it.line, *units)).collect();
        assert_eq!(lines, [(OWN, 10, 500), (OWN, 11, 90)]);
        assert_eq!(pay.calls, 2, "the closure is entered as well");
    }

    #[test]
    fn expanded_libraries_have_short_paths() {
        let shown = profile().shown(Libraries::Expanded);
        assert_eq!(shown.nodes.len(), profile().nodes.len());
        let copy = shown.nodes.iter().find(|it| &*it.frame.name == "lib::copy").unwrap();
        assert_eq!(copy.frame.file.as_deref(), Some("lib-1.0.0/src/lib.rs"));
        let line = copy.lines.keys().next().unwrap();
        assert_eq!((&*line.file, line.line), ("lib-1.0.0/src/lib.rs", 9));
    }

    #[test]
    fn small_functions_of_libraries_without_own_callers_are_one_row() {
        let names = |libraries| {
            let tables = Tables::of(&profile(), libraries);
            tables.functions.into_iter().map(|it| (it.name, it.own)).collect::<Vec<_>>()
        };
        let rows = [("vault::pay".to_owned(), 595), ("[2 functions of libraries]".to_owned(), 5)];
        assert_eq!(names(Libraries::RolledUp), rows);
        assert_eq!(names(Libraries::Expanded).len(), 6);
    }
}
