//! Emission: statements to bytes, with all range checks.

mod immediate;
mod target;

use selkie_elf::write::Addresses;
use selkie_isa::{Insn, Kind, Op, Version, layout::FRAME_POINTER, op::Field};

use crate::{
    ast::{Ast, ExprId, ExprKind, InsnStmt, SectionId, SectionKind, Stmt, StmtKind},
    diagnostic::Diagnostic,
    layout::Layout,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    value::Base,
};

/// The bytes of a source.
#[derive(Debug)]
pub(crate) struct Emitted {
    /// The bytes by output section: [`SectionId::TEXT`] and [`SectionId::RODATA`] of a program, all
    /// sections of an object.
    pub(crate) sections: Vec<Vec<u8>>,
    /// By output section, if it contains instructions: slot and span of every statement that
    /// emitted some.
    pub(crate) spans: Vec<Vec<(u32, Span)>>,
    /// In programs until V2: the slots of calls of syscalls, with the syscalls.
    pub(crate) syscalls: Vec<(u32, Name)>,
    /// In objects: the relocations, by section in the order of the text.
    pub(crate) relocations: Vec<Relocation>,
}

/// A relocation of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// The section to relocate.
    pub(crate) section: SectionId,
    /// The offset in the section.
    pub(crate) offset: u32,
    pub(crate) kind: RelocationKind,
    /// The section or symbol that it refers to.
    pub(crate) target: Base,
}

/// The kind of a relocation, by what the linker fills in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RelocationKind {
    /// The distance of a call.
    Call,
    /// The constant of an `lddw`.
    Constant,
    /// Eight bytes of data.
    Data,
}

/// Emits all statements, with final addresses in programs, and with relocations in objects, which
/// have no `addresses`. Statements with errors are reported and emitted as zeros.
pub(crate) fn emit(
    session: &mut Session<'_>,
    ast: &Ast,
    layout: &Layout,
    addresses: Option<Addresses>,
) -> Emitted {
    let mut emitter = Emitter::new(session, ast, layout, addresses);
    let mut ends: Vec<u32> = layout.placements.iter().map(|(_, start)| *start).collect();
    let mut current = SectionId::TEXT;
    for stmt in &ast.stmts {
        if let StmtKind::Section(id) = stmt.kind {
            current = id;
            continue;
        }
        let kind = ast.sections[current.0 as usize].kind;
        let end = &mut ends[current.0 as usize];
        let (section, _) = layout.placements[current.0 as usize];
        emitter.cursor = Cursor { section, in_text: kind == SectionKind::Text, offset: *end };
        emitter.slots = layout.size(section) / 8;
        let size = emitter.stmt(ast, stmt);
        if kind == SectionKind::Zeroed {
            emitter.check_zeros(stmt.span, size);
        }
        *end += size;
    }
    emitter.check_computed_targets();
    emitter.out
}

/// The position at which the current statement is emitted.
#[derive(Clone, Copy)]
struct Cursor {
    section: SectionId,
    /// Whether the section contains instructions.
    in_text: bool,
    /// Bytes from the start of the section.
    offset: u32,
}

impl Cursor {
    fn pc(self) -> u32 {
        self.offset / 8
    }
}

struct Emitter<'s, 'o> {
    session: &'s mut Session<'o>,
    /// The final addresses of a program; `None` in objects.
    addresses: Option<Addresses>,
    /// By output section: whether it contains instructions.
    is_text: Vec<bool>,
    /// The position of the current statement.
    cursor: Cursor,
    /// Slots of the current section.
    slots: u32,
    out: Emitted,
    /// Targets that were written as numbers, which may be the second slot of an `lddw`.
    computed_targets: Vec<(SectionId, u32, Span)>,
}

impl<'s, 'o> Emitter<'s, 'o> {
    fn new(
        session: &'s mut Session<'o>,
        ast: &Ast,
        layout: &Layout,
        addresses: Option<Addresses>,
    ) -> Self {
        let mut is_text = vec![false; layout.sizes.len()];
        for (section, (id, _)) in ast.sections.iter().zip(&layout.placements) {
            is_text[id.0 as usize] |= section.kind == SectionKind::Text;
        }
        Self {
            session,
            addresses,
            is_text,
            cursor: Cursor { section: SectionId::TEXT, in_text: true, offset: 0 },
            slots: 0,
            out: Emitted {
                sections: layout.sizes.iter().map(|&size| vec![0; size as usize]).collect(),
                spans: vec![Vec::new(); layout.sizes.len()],
                syscalls: Vec::new(),
                relocations: Vec::new(),
            },
            computed_targets: Vec::new(),
        }
    }

    /// Emits a statement and returns its size.
    fn stmt(&mut self, ast: &Ast, stmt: &Stmt) -> u32 {
        let Cursor { in_text, offset, .. } = self.cursor;
        match stmt.kind {
            StmtKind::Label(_) | StmtKind::Section(_) => 0,
            StmtKind::Insn(insn) => self.put_insn(insn, stmt.span),
            StmtKind::Call { target, syscall } => self.put_call(target, syscall, stmt.span),
            StmtKind::Bytes { start, end } => {
                self.put(offset, &ast.bytes[start as usize..end as usize]);
                end - start
            }
            StmtKind::Values { size, start, end } => {
                if in_text {
                    self.record_span(stmt.span);
                }
                self.put_values(&ast.lists[start as usize..end as usize], size)
            }
            StmtKind::Repeat { count, size, value } => {
                if in_text && count > 0 {
                    self.record_span(stmt.span);
                }
                let bytes = &value.to_le_bytes()[..size.into()];
                for index in 0..count {
                    self.put(offset + index * u32::from(size), bytes);
                }
                count * u32::from(size)
            }
            StmtKind::Fill { .. } | StmtKind::Align { .. } => {
                unreachable!("layout turned these into repeats")
            }
        }
    }

    fn put_insn(&mut self, stmt: InsnStmt, span: Span) -> u32 {
        self.record_span(span);
        if let Some(insn) = self.insn(stmt, span) {
            let offset = self.cursor.offset;
            let (first, second) = self.encode(insn);
            self.put(offset, &first.to_le_bytes());
            if let Some(second) = second {
                self.put(offset + 8, &second.to_le_bytes());
            }
        }
        if stmt.op == Op::Lddw { 16 } else { 8 }
    }

    fn put_call(&mut self, target: ExprId, syscall: bool, span: Span) -> u32 {
        self.record_span(span);
        if let Some((src, imm)) = self.call(target, syscall) {
            let op = Op::decode(self.session.options.version, 0x85);
            let op = op.expect("every version has `call`");
            let insn = Insn { imm, off: 0, dst: 0, src, op };
            self.put(self.cursor.offset, &insn.encode().0.to_le_bytes());
        }
        8
    }

    fn put_values(&mut self, values: &[ExprId], size: u8) -> u32 {
        let mut offset = self.cursor.offset;
        for &expr in values {
            if let Some(value) = self.data(expr, size, offset) {
                self.put(offset, &value.to_le_bytes()[..size.into()]);
            }
            offset += u32::from(size);
        }
        offset - self.cursor.offset
    }

    /// Records that the current statement emits instructions.
    fn record_span(&mut self, span: Span) {
        let pc = self.cursor.pc();
        self.out.spans[self.cursor.section.0 as usize].push((pc, span));
    }

    fn put(&mut self, offset: u32, bytes: &[u8]) {
        let start = offset as usize;
        let section = &mut self.out.sections[self.cursor.section.0 as usize];
        section[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Reports the statement that was just emitted if it is not zeros.
    fn check_zeros(&mut self, span: Span, size: u32) {
        let Cursor { section, offset, .. } = self.cursor;
        let (start, end) = (offset as usize, (offset + size) as usize);
        let is_relocated = |it: &Relocation| it.section == section && it.offset >= offset;
        let is_zero = self.out.sections[section.0 as usize][start..end].iter().all(|it| *it == 0);
        if !is_zero || self.out.relocations.last().is_some_and(is_relocated) {
            let diagnostic = Diagnostic::error(span, "this section can only contain zeros")
                .help("reserve memory with `.zero`, or put constants into `.rodata`");
            self.report(diagnostic);
        }
    }

    fn span_of(&self, expr: ExprId) -> Span {
        self.session.exprs.get(expr).span
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.session.diagnostics.push(diagnostic);
    }

    /// Returns the guest address that `base` and `number` yield. In objects, relocates the field at
    /// `offset` and returns the addend. `None` after a report.
    fn address(
        &mut self,
        expr: ExprId,
        (base, number): (Base, i128),
        (kind, offset): (RelocationKind, u32),
    ) -> Option<u64> {
        let span = self.span_of(expr);
        let Some(addresses) = self.addresses else {
            let (target, addend) = self.symbol_of(expr, base, number);
            self.relocate(target, kind, offset);
            let addend = i32::try_from(addend).ok();
            if addend.is_none() {
                self.session.error(span, "this address is too far from its symbol");
            }
            return addend.map(|it| i64::from(it).cast_unsigned());
        };
        let start = match base {
            Base::Section(SectionId::TEXT) => addresses.text,
            _ => addresses.rodata,
        };
        let address = u64::try_from(i128::from(start) + number).ok();
        if address.is_none() {
            self.session.error(span, "this address is outside the address space");
        }
        address
    }

    /// Returns the target and addend of a relocation. An expression that is only a label refers to
    /// the label's symbol instead of its section, which makes relocations readable.
    fn symbol_of(&self, expr: ExprId, base: Base, number: i128) -> (Base, i128) {
        if let ExprKind::Symbol(name) = self.session.exprs.get(expr).kind
            && let Def::Label(Some(_)) = self.session.symbols.get(name).def
            && self.session.is_linkable(name)
        {
            return (Base::Symbol(name), 0);
        }
        (base, number)
    }

    fn relocate(&mut self, target: Base, kind: RelocationKind, offset: u32) {
        let section = self.cursor.section;
        self.out.relocations.push(Relocation { section, offset, kind, target });
    }

    /// Returns an element of a data directive, which is at `offset`.
    fn data(&mut self, expr: ExprId, size: u8, offset: u32) -> Option<u64> {
        let span = self.span_of(expr);
        let value = self.session.eval(expr)?;
        match value.base {
            Some(_) if self.cursor.in_text && self.addresses.is_none() => {
                let diagnostic = Diagnostic::error(span, "an address between instructions")
                    .help("load it with `lddw`, or put `.rodata` before the data");
                self.report(diagnostic);
                None
            }
            Some(base) if size == 8 => {
                self.address(expr, (base, value.number), (RelocationKind::Data, offset))
            }
            Some(_) => {
                let diagnostic =
                    Diagnostic::error(span, format!("an address does not fit {size} bytes"))
                        .help("store it with `.quad`, or the distance of two labels");
                self.report(diagnostic);
                None
            }
            None => self.session.fit(span, value.number, size),
        }
    }

    // Instructions.

    fn insn(&mut self, stmt: InsnStmt, span: Span) -> Option<Insn> {
        let InsnStmt { op, dst, src, off, imm } = stmt;
        let mut insn = Insn { imm: 0, off: 0, dst, src, op };
        match op.kind() {
            Kind::LoadImm64 => insn.imm = self.imm64(imm?)?,
            Kind::Jump | Kind::Branch(..) => insn.off = self.jump(off?)?,
            Kind::CallReg(Field::InImm) => {
                insn.imm = dst.into();
                insn.dst = 0;
            }
            _ => {
                if let Some(off) = off {
                    insn.off = self.offset(off, if is_store(op) { dst } else { src })?;
                }
            }
        }
        if let (Some(imm), false) = (imm, op == Op::Lddw) {
            insn.imm = self.imm(op, imm)?;
        }
        if op == Op::Add64Imm && dst == FRAME_POINTER {
            return self.move_frame_pointer(insn, span);
        }
        Some(insn)
    }

    /// Encodes an instruction. V2 has no `lddw`: `mov32` and `hor64` take its two slots
    /// (SIMD-0173).
    #[allow(clippy::cast_possible_truncation, reason = "the immediate is split into halves")]
    fn encode(&self, insn: Insn) -> (u64, Option<u64>) {
        if insn.op != Op::Lddw || self.session.options.version != Version::V2 {
            return insn.encode();
        }
        let low = Insn { op: Op::Mov32Imm, imm: (insn.imm as i32).into(), ..insn };
        let high = Insn { op: Op::Hor64, imm: insn.imm >> 32, ..insn };
        (low.encode().0, Some(high.encode().0))
    }

    /// Checks `add64 r10, imm`, which only versions with dynamic frames have.
    fn move_frame_pointer(&mut self, insn: Insn, span: Span) -> Option<Insn> {
        if !self.session.options.version.dynamic_frames() {
            let version = self.session.options.version;
            let message = format!("`add64 r10` does nothing in {version}: `or64 r0, 0` is emitted");
            let diagnostic = Diagnostic::warning(span, message)
                .note(
                    "a call moves the frame pointer by itself; v1 and v2 leave it to the function",
                )
                .help("remove it; to point into the frame: `mov64 r2, r10` then `add64 r2, -8`");
            self.report(diagnostic);
            return Some(Insn { op: Op::Or64Imm, dst: 0, imm: 0, ..insn });
        }
        if insn.imm % 64 != 0 {
            let diagnostic = Diagnostic::error(span, format!("r10 cannot move by {}", insn.imm))
                .note("the verifier accepts multiples of 64 only");
            self.report(diagnostic);
            return None;
        }
        Some(insn)
    }
}

fn is_store(op: Op) -> bool {
    matches!(op.kind(), Kind::StoreImm(_) | Kind::StoreReg(_))
}
