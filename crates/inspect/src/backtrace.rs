//! Backtraces for people: the first frame of the user's own is the place, inlined calls are frames, and
//! those of libraries are folded.

use core::fmt::{self, Write as _};

use crate::{
    source::{Location, SourceFrame, SourceMap},
    symbols::item_name,
};

/// A function around an instruction: one that has not returned, or one that was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BacktraceFrame {
    /// The slot of the instruction, or of the call that has not returned.
    pub pc: usize,
    /// The demangled name of the function.
    pub function: Option<String>,
    /// The position in the function, with the path as the compiler recorded it.
    pub location: Option<Location>,
    /// Whether the function was inlined into that of the next frame.
    pub is_inlined: bool,
    /// Whether the position is in the user's own code.
    pub is_own: bool,
    /// The position with a short path.
    shown: String,
    /// The number of the call site, from the innermost one: inlined calls share that of their function.
    site: usize,
}

/// The functions around an instruction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Backtrace {
    /// The frames, the innermost one first.
    pub frames: Vec<BacktraceFrame>,
    /// The index of the place.
    place: Option<usize>,
}

/// The beginnings of names of functions in which a panic is on its way. The line that panicked is
/// outside of them, also of a handler of the user's own.
const PANICKING: &[&str] = &[
    "core::panicking::",
    "std::panicking::",
    "core::option::unwrap_failed",
    "core::result::unwrap_failed",
];

impl Backtrace {
    /// Makes the backtrace of call sites, the innermost one first: the instruction itself, the call of
    /// its function, and so on.
    #[must_use]
    pub fn new(map: &SourceMap, pcs: impl IntoIterator<Item = usize>) -> Self {
        let mut frames = Vec::new();
        for (site, pc) in pcs.into_iter().enumerate() {
            let mut found = map.frames_at(u32::try_from(pc).unwrap_or(u32::MAX));
            if found.is_empty() {
                found.push(SourceFrame { function: None, location: None });
            }
            let outermost = found.len() - 1;
            let own = map.own();
            frames.extend(found.into_iter().enumerate().map(|(index, frame)| {
                let SourceFrame { function, location } = frame;
                let is_own = location.as_ref().is_some_and(|it| own.contains(&it.file));
                let shown = location.as_ref().map_or_else(String::new, |it| {
                    let file = own.short(&it.file).into_owned();
                    Location { file, ..it.clone() }.to_string()
                });
                let is_inlined = index < outermost;
                BacktraceFrame { pc, function, location, is_inlined, is_own, shown, site }
            }));
        }
        let place = place(frames.iter().map(|it| (it.function.as_deref(), it.is_own)));
        Self { frames, place }
    }

    /// Returns the first frame of the user's own; `None` if there is none, as without debug information.
    #[must_use]
    pub fn place(&self) -> Option<&BacktraceFrame> {
        self.frames.get(self.place?)
    }

    /// Returns how many calls that have not returned are between the instruction and the place.
    #[must_use]
    pub fn place_site(&self) -> Option<usize> {
        self.place().map(|it| it.site)
    }

    /// Renders the place: `src/lib.rs:80:19 in amm::swap`.
    #[must_use]
    pub fn place_line(&self) -> Option<String> {
        self.place().map(|it| format!("{} in {}", it.shown, it.name()))
    }

    /// Renders the place with the slot of the instruction: `src/lib.rs:80:19 in amm::swap, pc 773`, or
    /// without lines `pc 773 in entrypoint`.
    #[must_use]
    pub fn instruction_line(&self) -> String {
        let mut sites = self.frames.chunk_by(|a, b| a.site == b.site);
        let Some(site) = sites.next() else { return String::new() };
        let pc = site.first().map_or(0, |it| it.pc);
        match self.place_line() {
            Some(line) => format!("{line}, pc {pc}"),
            None => plain(site),
        }
    }

    /// Returns whether the instruction belongs to the place alone, and does more than to convert a
    /// value, as `?` does with an error that another line has decided on. Instructions that compilers
    /// have moved, or merged from several places, have no line; of those in an inlined function, the call
    /// of that is known.
    #[must_use]
    pub fn is_decided_here(&self) -> bool {
        let Some(first) = self.frames.first() else { return false };
        let is_of_call = first.is_inlined && self.place().is_some_and(|it| it.site == first.site);
        (first.location.is_some() || is_of_call)
            && self.place().is_some_and(|it| !it.function.as_deref().is_some_and(is_conversion))
    }

    /// Returns whether the place is there since values go out of scope, and nothing is decided.
    #[must_use]
    pub fn is_cleaning_up(&self) -> bool {
        let inner = self.frames.iter().take(self.place.unwrap_or(0));
        inner.filter_map(|it| it.function.as_ref()).any(|it| {
            it.starts_with("core::ptr::drop_in_place") || it.contains(" as core::ops::drop::Drop>")
        })
    }

    /// Returns whether the place is in code that a macro has written: it has the line in which its function
    /// was declared, as that of a derived trait has the line of `#[derive(…)]`.
    #[must_use]
    pub fn is_generated(&self, map: &SourceMap) -> bool {
        let Some(index) = self.place else { return false };
        let Some(place) = self.frames.get(index) else { return false };
        let before = self.frames.iter().take(index).filter(|it| it.site == place.site).count();
        let here = place.location.as_ref().filter(|it| it.file.ends_with(".rs"));
        let declared = u32::try_from(place.pc).ok().and_then(|pc| map.declared_line(pc, before));
        declared.is_some() && here.map(|it| it.line) == declared
    }

    /// Renders the frames besides the place, a line for each, those of libraries folded.
    #[must_use]
    pub fn other_lines(&self) -> Vec<String> {
        let Some(place) = self.place else { return self.plain_lines() };
        let (inner, outer) = (&self.frames[..place], &self.frames[place + 1..]);
        let mut lines = Vec::new();
        if let Some(last) = inner.first() {
            let count =
                folded(inner, if inner.iter().any(|it| it.is_own) { "inner" } else { "library" });
            lines.push(format!("in {count}: {last}"));
        }
        for same in outer.chunk_by(|a, b| a.is_beside(b)) {
            match same {
                [only] => lines.push(format!("called from {only}")),
                // What a macro writes is at the line of the macro.
                [first, more @ ..] if first.is_own => {
                    lines.push(format!(
                        "called from {first}, and {} at this line",
                        folded(more, "more")
                    ));
                }
                [.., last] => {
                    let count = folded(same, "library");
                    lines.push(format!("called from {count}, in {}", last.name()));
                }
                [] => {}
            }
        }
        times(lines)
    }

    /// Renders the call sites around the instruction if no frame is known to be the user's own.
    fn plain_lines(&self) -> Vec<String> {
        let sites = self.frames.chunk_by(|a, b| a.site == b.site);
        let lines = sites.skip(1).map(|site| format!("called from {}", plain(site)));
        times(lines.collect())
    }
}

impl BacktraceFrame {
    fn name(&self) -> &str {
        self.function.as_deref().map_or("an unknown function", item_name)
    }

    /// Returns the position with a short path: `src/lib.rs:80:19`. Empty if there is none.
    #[must_use]
    pub fn position(&self) -> &str {
        &self.shown
    }

    /// Returns whether two frames are shown as one: both of libraries, or different functions at the
    /// same own line.
    fn is_beside(&self, other: &Self) -> bool {
        let line = |it: &Self| it.location.as_ref().map(|at| (at.file.clone(), at.line));
        self.is_own == other.is_own
            && (!self.is_own || line(self) == line(other) && self.function != other.function)
    }
}

/// Writes position, function and slot: `src/lib.rs:80:19 in amm::swap, pc 773`. An inlined call has no
/// slot of its own.
impl fmt::Display for BacktraceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown.is_empty() {
            true => write!(f, "{}", self.name())?,
            false => write!(f, "{} in {}", self.shown, self.name())?,
        }
        match self.is_inlined {
            true => f.write_str(" (inlined)"),
            false => write!(f, ", pc {}", self.pc),
        }
    }
}

/// Returns the index of the place among frames, the innermost one first, by their names and whether they
/// are the user's own: the first own one outside of a panic that is on its way. Conversions count only
/// if there is nothing else.
#[must_use]
pub fn place<'a>(frames: impl IntoIterator<Item = (Option<&'a str>, bool)>) -> Option<usize> {
    let frames: Vec<_> = frames.into_iter().collect();
    let panicking = frames.iter().rposition(|(name, _)| name.is_some_and(is_panicking));
    let outside = panicking.map_or(0, |it| it + 1);
    let own = |from: usize| (from..frames.len()).filter(|&it| frames[it].1);
    let decided = own(outside).find(|&it| !frames[it].0.is_some_and(is_conversion));
    decided.or_else(|| own(outside).next()).or_else(|| own(0).next())
}

/// Returns whether a function converts one type into another.
fn is_conversion(function: &str) -> bool {
    [" as core::convert::From<", " as core::convert::Into<"].iter().any(|it| function.contains(it))
}

fn is_panicking(function: &str) -> bool {
    PANICKING.iter().any(|start| function.starts_with(start))
        || function.contains("rust_begin_unwind")
}

/// Renders the frames of a call site of which none is known to be own.
fn plain(site: &[BacktraceFrame]) -> String {
    let mut text = format!("pc {}", site.first().map_or(0, |it| it.pc));
    if let Some(function) = site.last().and_then(|it| it.function.as_ref()) {
        let _ = write!(text, " in {function}");
    }
    if let Some(inner) = site.first().filter(|it| !it.shown.is_empty()) {
        let _ = write!(text, " ({})", inner.shown);
    }
    text
}

fn folded(frames: &[BacktraceFrame], kind: &str) -> String {
    match frames.len() {
        1 => format!("1 {kind} frame"),
        count => format!("{count} {kind} frames"),
    }
}

/// Joins equal lines that follow each other, of recursion.
fn times(lines: Vec<String>) -> Vec<String> {
    let joined = lines.chunk_by(|a, b| a == b).filter_map(|same| match same {
        [] => None,
        [line] => Some(line.clone()),
        [line, ..] => Some(format!("{line}  {} times", same.len())),
    });
    joined.collect()
}
