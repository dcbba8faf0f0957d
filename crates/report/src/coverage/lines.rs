//! Turns executed slots and jumps into lines, functions and branches.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{Branch, Files, FunctionCoverage, collect::Executed};
use crate::symbolize::{Function, Line, Symbols};

/// Adds what was executed of a program to its source files.
pub(super) fn add(files: &mut Files, symbols: &mut Symbols, executed: &Executed) {
    let slots: Vec<u32> = executed.slots().collect();
    let mut places: BTreeMap<u32, Rc<[Function]>> = BTreeMap::new();
    for pc in &slots {
        places.insert(*pc, symbols.functions_at(*pc));
    }
    let mut arrivals = Arrivals::new(executed);
    for (pc, functions) in &places {
        let sources = arrivals.take(*pc);
        for function in functions.iter() {
            let Some(line) = &function.line else { continue };
            let file = files.entry(Rc::clone(&line.file)).or_default();
            let count = file.lines.entry(line.line).or_default();
            *count += sources
                .iter()
                .filter(|it| it.enters(*pc, line, &places))
                .map(|it| it.count)
                .sum::<u64>();
        }
        add_branch(files, executed, *pc, functions);
    }
    add_functions(files, &places, executed);
    let own = symbols.view.map.own();
    let named = places.values().flat_map(|it| it.iter()).filter_map(|it| it.line.as_ref());
    for path in named.map(|line| &line.file).collect::<BTreeSet<_>>() {
        if let Some(file) = files.get_mut(path) {
            file.is_own |= own.contains(path);
        }
    }
}

/// How control comes to a slot: from where, and how often.
struct Arrival {
    from: Option<u32>,
    count: u64,
}

impl Arrival {
    /// Returns whether it comes to the line of slot `pc` from another line, or back to it by a jump.
    fn enters(&self, pc: u32, line: &Line, places: &BTreeMap<u32, Rc<[Function]>>) -> bool {
        let Some(from) = self.from.filter(|from| *from < pc) else { return true };
        let before = places.get(&from);
        let is_in = |function: &Function| function.line.as_ref() == Some(line);
        !before.is_some_and(|functions| functions.iter().any(is_in))
    }
}

/// How control comes to each slot.
struct Arrivals<'a> {
    executed: &'a Executed,
    jumps: BTreeMap<u32, Vec<(u32, u64)>>,
    /// The instruction before each slot.
    before: BTreeMap<u32, u32>,
}

impl<'a> Arrivals<'a> {
    fn new(executed: &'a Executed) -> Self {
        let mut jumps: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for ((from, to), count) in &executed.jumps {
            jumps.entry(*to).or_default().push((*from, *count));
        }
        let before = executed.slots().map(|pc| (executed.next(pc), pc)).collect();
        Self { executed, jumps, before }
    }

    fn take(&mut self, pc: u32) -> Vec<Arrival> {
        let entered = self.executed.entries.get(&pc).copied().unwrap_or_default();
        let mut arrivals = vec![Arrival { from: None, count: entered }];
        let jumps = self.jumps.remove(&pc).unwrap_or_default();
        arrivals
            .extend(jumps.iter().map(|(from, count)| Arrival { from: Some(*from), count: *count }));
        let known: u64 = arrivals.iter().map(|arrival| arrival.count).sum();
        let all = self.executed.hits.get(pc as usize).copied().unwrap_or_default();
        let straight = all.saturating_sub(known);
        arrivals.push(Arrival { from: self.before.get(&pc).copied(), count: straight });
        arrivals
    }
}

/// Adds the sides of the conditional jump at a slot to the line of its innermost function.
fn add_branch(files: &mut Files, executed: &Executed, pc: u32, functions: &[Function]) {
    let Some(line) = functions.last().and_then(|it| it.line.as_ref()) else { return };
    if !executed.is_branch(pc) {
        return;
    }
    let hits = executed.hits.get(pc as usize).copied().unwrap_or_default();
    let jumps = executed.jumps.range((pc, 0)..=(pc, u32::MAX));
    let taken: u64 = jumps.map(|(_, count)| *count).sum();
    let branch = Branch { taken, not_taken: hits.saturating_sub(taken) };
    let file = files.entry(Rc::clone(&line.file)).or_default();
    file.branches.entry(line.line).or_default().push(branch);
}

/// Adds the functions, each to the file of its first line.
fn add_functions(files: &mut Files, places: &BTreeMap<u32, Rc<[Function]>>, executed: &Executed) {
    let mut seen: BTreeMap<(Rc<str>, Rc<str>), FunctionCoverage> = BTreeMap::new();
    let mut outermost: BTreeSet<Rc<str>> = BTreeSet::new();
    for (pc, functions) in places {
        let hits = executed.hits.get(*pc as usize).copied().unwrap_or_default();
        for (depth, function) in functions.iter().enumerate() {
            let Some(line) = &function.line else { continue };
            let key = (Rc::clone(&line.file), Rc::clone(&function.name));
            let it = seen.entry(key).or_insert(FunctionCoverage { line: line.line, calls: 0 });
            it.line = it.line.min(line.line);
            let is_new = depth == 0 && outermost.insert(Rc::clone(&function.name));
            let entered = executed.entries.get(pc).copied().unwrap_or_default();
            it.calls = match depth {
                0 if is_new => entered.max(it.calls),
                0 => it.calls + entered,
                _ => it.calls.max(hits),
            };
        }
    }
    for ((file, name), coverage) in seen {
        let functions = &mut files.entry(file).or_default().functions;
        let known = functions.entry(name).or_insert(FunctionCoverage { calls: 0, ..coverage });
        known.line = known.line.min(coverage.line);
        known.calls += coverage.calls;
    }
}
