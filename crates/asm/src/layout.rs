//! Layout: the sizes of statements and sections, and the offsets of labels.
//!
//! Layout replaces alignments and fills by repeats with a count, and gives every label an offset.
//! In programs the offset is from the start of the merged instructions ([`SectionId::TEXT`]) or of
//! the merged read-only data ([`SectionId::RODATA`]), in objects from the start of the label's
//! section.

use selkie_isa::Op;

use crate::{
    ast::{Ast, ExprId, SectionId, SectionKind, Stmt, StmtKind},
    diagnostic::Diagnostic,
    session::Session,
    source::Span,
    symbols::Def,
};

/// Limit for the size of a program, larger than any account: stops a mistyped `.zero`.
pub(crate) const IMAGE_BYTES_MAX: u64 = 16 << 20;
/// The largest alignment that is accepted.
const ALIGN_MAX: i128 = 4096;
/// Bytes of a slot, which is also the default alignment of sections.
const SLOT_BYTES: u32 = 8;
/// `ja +0`, which does nothing and fills the space between aligned instructions.
const FILLER: u64 = Op::Ja.code() as u64;

/// The sizes and offsets of the sections of a source.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By section of the source: the output section, and the offset in it.
    pub(crate) placements: Vec<(SectionId, u32)>,
    /// Bytes of each output section.
    pub(crate) sizes: Vec<u32>,
    /// The largest alignment in each section of the source.
    pub(crate) aligns: Vec<u32>,
}

impl Layout {
    /// Returns the size of an output section in bytes.
    pub(crate) fn size(&self, section: SectionId) -> u32 {
        self.sizes.get(section.0 as usize).copied().unwrap_or(0)
    }
}

/// Lays out all sections; `None` if they are too large.
pub(crate) fn layout(session: &mut Session<'_>, ast: &mut Ast) -> Option<Layout> {
    session.resolve_constants(false);
    let mut sizing = Sizing::new(ast.sections.len().max(2));
    let mut stmts = core::mem::take(&mut ast.stmts);
    for stmt in &mut stmts {
        sizing.add(session, ast, stmt)?;
    }
    ast.stmts = stmts;
    let layout = match session.is_object() {
        true => keep_sections(&sizing.sizes, sizing.aligns)?,
        false => merge_sections(ast, &sizing.sizes)?,
    };
    place_labels(session, &layout);
    session.resolves_at_link_time = session.is_object();
    session.resolve_constants(true);
    Some(layout)
}

/// The sizes of the sections up to the current statement.
struct Sizing {
    sizes: Vec<u64>,
    aligns: Vec<u32>,
    /// Bytes of all sections.
    total: u64,
    current: SectionId,
    /// Whether a label precedes the data, or its lack was reported.
    data_has_label: bool,
}

impl Sizing {
    fn new(sections: usize) -> Self {
        Self {
            sizes: vec![0; sections],
            aligns: vec![SLOT_BYTES; sections],
            total: 0,
            current: SectionId::TEXT,
            data_has_label: false,
        }
    }

    /// Adds a statement; `None` if the sections become too large.
    fn add(&mut self, session: &mut Session<'_>, ast: &Ast, stmt: &mut Stmt) -> Option<()> {
        let index = self.current.0 as usize;
        let offset = self.sizes[index];
        let in_data = ast.sections.get(index).is_some_and(|it| it.kind == SectionKind::ReadOnly);
        let size = match stmt.kind {
            StmtKind::Section(id) => {
                self.current = id;
                return Some(());
            }
            StmtKind::Label(name) => {
                let offset = u32::try_from(offset).ok()?;
                self.data_has_label |= in_data;
                session.symbols.entry(name).def = Def::Label(Some((self.current, offset)));
                return Some(());
            }
            StmtKind::Align { to, power, .. } => {
                let align = alignment(session, to, power).unwrap_or(1);
                self.aligns[index] = align.max(self.aligns[index]);
                align_to(ast, self.current, offset, align, stmt)
            }
            _ => size(session, stmt),
        };
        if in_data && size > 0 && !self.data_has_label {
            self.data_has_label = true;
            warn_unlabelled(session, stmt.span);
        }
        self.total = self.total.saturating_add(size);
        if self.total > IMAGE_BYTES_MAX {
            let message = format!("the program grows beyond {} MiB here", IMAGE_BYTES_MAX >> 20);
            session.error(stmt.span, message);
            return None;
        }
        self.sizes[index] = offset + size;
        Some(())
    }
}

fn warn_unlabelled(session: &mut Session<'_>, span: Span) {
    let diagnostic = Diagnostic::warning(span, "data without a label")
        .note("no instruction can refer to it")
        .help("put a name before it: `message: .ascii \"…\"`");
    session.diagnostics.push(diagnostic);
}

/// Returns the size of a statement. Evaluates the count and value of fills, and replaces them by
/// repeats.
fn size(session: &mut Session<'_>, stmt: &mut Stmt) -> u64 {
    match stmt.kind {
        StmtKind::Insn(insn) if insn.op == Op::Lddw => 16,
        StmtKind::Insn(_) | StmtKind::Call { .. } => 8,
        StmtKind::Bytes { start, end } => u64::from(end - start),
        StmtKind::Values { size, start, end } => u64::from(end - start) * u64::from(size),
        StmtKind::Fill { count, size, value } => {
            let span = session.exprs.get(count).span;
            let number = session.eval_number(count);
            let value = value.map_or(Some(0), |value| fill_value(session, size, value));
            let count = number.and_then(|number| {
                let count = u32::try_from(number).ok();
                if count.is_none() {
                    session.error(span, format!("cannot repeat {number} times"));
                }
                count
            });
            repeat(stmt, count.unwrap_or(0), size, value.unwrap_or(0))
        }
        StmtKind::Repeat { count, size, .. } => u64::from(count) * u64::from(size),
        StmtKind::Label(_) | StmtKind::Section(_) | StmtKind::Align { .. } => 0,
    }
}

/// Returns the size of an alignment at `offset`, which it replaces by the padding.
fn align_to(ast: &Ast, section: SectionId, offset: u64, align: u32, stmt: &mut Stmt) -> u64 {
    let StmtKind::Align { fill, .. } = stmt.kind else { return 0 };
    let gap = offset.next_multiple_of(align.into()) - offset;
    if ast.sections[section.0 as usize].kind == SectionKind::Text {
        return repeat(stmt, u32::try_from(gap / 8).unwrap_or(0), 8, FILLER);
    }
    repeat(stmt, u32::try_from(gap).unwrap_or(0), 1, fill.into())
}

fn repeat(stmt: &mut Stmt, count: u32, size: u8, value: u64) -> u64 {
    stmt.kind = StmtKind::Repeat { count, size, value };
    u64::from(count) * u64::from(size)
}

fn fill_value(session: &mut Session<'_>, size: u8, value: ExprId) -> Option<u64> {
    let span = session.exprs.get(value).span;
    let number = session.eval_number(value)?;
    session.fit(span, number, size)
}

/// Evaluates an alignment in bytes, or as a power of two; `None` after a report.
pub(crate) fn alignment(session: &mut Session<'_>, to: ExprId, power: bool) -> Option<u32> {
    let span = session.exprs.get(to).span;
    let number = session.eval_number(to)?;
    let align = match number {
        0..=12 if power => 1 << number,
        0 if !power => 1,
        _ if power => ALIGN_MAX + 1,
        number => number,
    };
    let valid = u32::try_from(align).ok().filter(|it| it.is_power_of_two() && align <= ALIGN_MAX);
    if valid.is_none() {
        let diagnostic = Diagnostic::error(span, "invalid alignment")
            .note("alignments are powers of two up to 4096")
            .help("`.align 8` and `.p2align 3` both align to 8 bytes");
        session.diagnostics.push(diagnostic);
    }
    valid
}

/// Concatenates the sections of each kind, in the order of their first occurrence.
fn merge_sections(ast: &Ast, sizes: &[u64]) -> Option<Layout> {
    let mut ends = [0_u64; 2];
    let mut placements = Vec::with_capacity(sizes.len());
    for (section, size) in ast.sections.iter().zip(sizes) {
        let (id, end) = match (section.kind, &mut ends) {
            (SectionKind::Text, [text, _]) => (SectionId::TEXT, text),
            (_, [_, rodata]) => (SectionId::RODATA, rodata),
        };
        if *size > 0 {
            *end = end.next_multiple_of(SLOT_BYTES.into());
        }
        placements.push((id, u32::try_from(*end).ok()?));
        *end += size;
    }
    let [text, rodata] = ends;
    let sizes = vec![u32::try_from(text).ok()?, u32::try_from(rodata).ok()?];
    Some(Layout { placements, sizes, aligns: Vec::new() })
}

/// Makes every section an output section, for objects.
fn keep_sections(sizes: &[u64], aligns: Vec<u32>) -> Option<Layout> {
    let sizes: Option<Vec<u32>> = sizes.iter().map(|&size| u32::try_from(size).ok()).collect();
    let sizes = sizes?;
    let placements = (0..).map(|index| (SectionId(index), 0)).take(sizes.len()).collect();
    Some(Layout { placements, sizes, aligns })
}

fn place_labels(session: &mut Session<'_>, layout: &Layout) {
    for symbol in session.symbols.all_mut() {
        if let Def::Label(Some((section, offset))) = &mut symbol.def {
            let (id, start) = layout.placements[section.0 as usize];
            *section = id;
            *offset += start;
        }
    }
}
