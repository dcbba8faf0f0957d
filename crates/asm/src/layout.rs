//! Where everything goes: sizes, sections, addresses of labels.
//!
//! Before, a label has no offset; after, alignments and fills are settled counts, and every label
//! counts from the start of a section: of a program from that of the merged instructions
//! ([`SectionId::TEXT`]) or of the merged read-only data ([`SectionId::RODATA`]), of an object from
//! that of the section that it stands in.

use selkie_isa::Op;

use crate::{
    ast::{Ast, ExprId, SectionId, SectionKind, Stmt, StmtKind},
    diagnostic::Diagnostic,
    session::Session,
    symbols::Def,
};

/// More than any account holds; a `.zero` with a slip of the pen stops here.
pub(crate) const IMAGE_BYTES_MAX: u64 = 16 << 20;
/// The largest alignment that makes sense in a program.
const ALIGN_MAX: i128 = 4096;
/// Bytes of a slot, and the alignment of a section that asks for none.
const SLOT_BYTES: u32 = 8;
/// `ja +0`, which does nothing: what fills the space between aligned instructions.
const FILLER: u64 = Op::Ja.code() as u64;

/// The placements of the sections of a source.
#[derive(Debug)]
pub(crate) struct Layout {
    /// For each section of the source: the section that it goes to, and its offset there.
    pub(crate) placements: Vec<(SectionId, u32)>,
    /// Bytes of each section that something goes to.
    pub(crate) sizes: Vec<u32>,
    /// The largest alignment that was asked for in each section of the source.
    pub(crate) aligns: Vec<u32>,
}

impl Layout {
    /// Bytes of a section that something goes to.
    pub(crate) fn size(&self, section: SectionId) -> u32 {
        self.sizes.get(section.0 as usize).copied().unwrap_or(0)
    }
}

/// Places everything; `None` if a section is too large.
pub(crate) fn layout(session: &mut Session<'_>, ast: &mut Ast) -> Option<Layout> {
    session.resolve_constants(false);
    let mut total = 0_u64;
    let mut sizes = vec![0_u64; ast.sections.len().max(2)];
    let mut aligns = vec![SLOT_BYTES; sizes.len()];
    let mut data_has_label = false;
    let mut current = SectionId::TEXT;
    let mut stmts = core::mem::take(&mut ast.stmts);
    for stmt in &mut stmts {
        let offset = sizes[current.0 as usize];
        let section = ast.sections.get(current.0 as usize);
        let in_data = section.is_some_and(|it| it.kind == SectionKind::ReadOnly);
        let size = match stmt.kind {
            StmtKind::Section(id) => {
                current = id;
                continue;
            }
            StmtKind::Label(name) => {
                let offset = u32::try_from(offset).ok()?;
                data_has_label |= in_data;
                session.symbols.entry(name).def = Def::Label(Some((current, offset)));
                continue;
            }
            StmtKind::Align { to, power, .. } => {
                let align = alignment(session, to, power).unwrap_or(1);
                let known = &mut aligns[current.0 as usize];
                *known = align.max(*known);
                align_to(ast, current, offset, align, stmt)
            }
            _ => size(session, stmt),
        };
        if in_data && size > 0 && !data_has_label {
            // Once is enough.
            data_has_label = true;
            let diagnostic = Diagnostic::warning(stmt.span, "data without a label")
                .note("no instruction can refer to it")
                .help("put a name before it: `message: .ascii \"…\"`");
            session.diagnostics.push(diagnostic);
        }
        total = total.saturating_add(size);
        if total > IMAGE_BYTES_MAX {
            let message = format!("the program grows beyond {} MiB here", IMAGE_BYTES_MAX >> 20);
            session.error(stmt.span, message);
            return None;
        }
        sizes[current.0 as usize] = offset + size;
    }
    ast.stmts = stmts;
    let layout = match session.is_object() {
        true => keep_sections(&sizes, aligns)?,
        false => merge_sections(ast, &sizes)?,
    };
    place_labels(session, &layout);
    session.resolves_at_link_time = session.is_object();
    session.resolve_constants(true);
    Some(layout)
}

/// The size of a statement at `offset`. Replaces those whose size depends on expressions.
fn size(session: &mut Session<'_>, stmt: &mut Stmt) -> u64 {
    match stmt.kind {
        StmtKind::Insn(insn) if insn.op == Op::Lddw => 16,
        StmtKind::Insn(_) | StmtKind::Call { .. } => 8,
        StmtKind::Bytes { start, end } => u64::from(end - start),
        StmtKind::Values { size, start, end } => u64::from(end - start) * u64::from(size),
        StmtKind::Fill { count, size, value } => {
            let span = session.exprs.get(count).span;
            let found = session.eval_number(count);
            let value = value.map_or(Some(0), |value| fill_value(session, size, value));
            let count = found.and_then(|found| {
                let count = u32::try_from(found).ok();
                if count.is_none() {
                    session.error(span, format!("cannot repeat {found} times"));
                }
                count
            });
            repeat(stmt, count.unwrap_or(0), size, value.unwrap_or(0))
        }
        StmtKind::Repeat { count, size, .. } => u64::from(count) * u64::from(size),
        StmtKind::Label(_) | StmtKind::Section(_) | StmtKind::Align { .. } => 0,
    }
}

/// The size of an alignment at `offset`, which becomes what fills the gap.
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

pub(crate) fn alignment(session: &mut Session<'_>, to: ExprId, power: bool) -> Option<u32> {
    let span = session.exprs.get(to).span;
    let number = session.eval_number(to)?;
    let align = match number {
        0..=12 if power => 1 << number,
        0 if !power => 1,
        _ if power => ALIGN_MAX + 1,
        number => number,
    };
    let found = u32::try_from(align).ok().filter(|it| it.is_power_of_two() && align <= ALIGN_MAX);
    if found.is_none() {
        let diagnostic = Diagnostic::error(span, "this is no alignment")
            .note("alignments are powers of two up to 4096")
            .help("`.align 8` and `.p2align 3` both align to 8 bytes");
        session.diagnostics.push(diagnostic);
    }
    found
}

/// Puts the sections of each kind behind each other, in the order in which they came up.
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

/// Leaves every section where it is.
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
