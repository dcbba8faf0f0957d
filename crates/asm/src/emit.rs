//! From statements to bytes, with every range checked.

use selkie_elf::write::Addresses;
use selkie_isa::{
    Alu, Cond, Insn, Kind, Op, Operand, Size, Version, Width,
    layout::{FRAME_POINTER, SLOT_BYTES},
    op::Field,
    symbol::murmur3,
    syscalls,
};

use crate::{
    ast::{Ast, ExprId, ExprKind, InsnStmt, SectionId, SectionKind, Stmt, StmtKind},
    diagnostic::{Diagnostic, Severity},
    layout::Layout,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// A source in bytes.
#[derive(Debug)]
pub(crate) struct Emitted {
    /// By section that something goes to: [`SectionId::TEXT`] and [`SectionId::RODATA`] of a
    /// program, every section of an object.
    pub(crate) sections: Vec<Vec<u8>>,
    /// The same, of those with instructions: the slot and the place of every statement that made
    /// some.
    pub(crate) spans: Vec<Vec<(u32, Span)>>,
    /// Until V2, of a program: the slots of calls of syscalls, and which.
    pub(crate) syscalls: Vec<(u32, Name)>,
    /// Of an object: what the linker has to fill in, section by section in the order of the text.
    pub(crate) relocations: Vec<Relocation>,
}

/// A place of an object that the linker fills in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// The section that the place is in.
    pub(crate) section: SectionId,
    /// The offset of the place there.
    pub(crate) offset: u32,
    pub(crate) field: RelocationKind,
    /// What the place refers to.
    pub(crate) target: Base,
}

/// What is filled in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RelocationKind {
    /// The distance of a call.
    Call,
    /// The constant of an `lddw`.
    Constant,
    /// Eight bytes of data.
    Data,
}

/// Emits all statements: with final addresses if there are any, or else with relocations. What is
/// wrong is reported, and left zero.
pub(crate) fn emit(
    session: &mut Session<'_>,
    ast: &Ast,
    layout: &Layout,
    addresses: Option<Addresses>,
) -> Emitted {
    let mut is_text = vec![false; layout.sizes.len()];
    for (section, (id, _)) in ast.sections.iter().zip(&layout.placements) {
        is_text[id.0 as usize] |= section.kind == SectionKind::Text;
    }
    let mut emitter = Emitter {
        session,
        addresses,
        is_text,
        cursor: Cursor { section: SectionId::TEXT, in_text: true, at: 0 },
        slots: 0,
        out: Emitted {
            sections: layout.sizes.iter().map(|&size| vec![0; size as usize]).collect(),
            spans: vec![Vec::new(); layout.sizes.len()],
            syscalls: Vec::new(),
            relocations: Vec::new(),
        },
        computed_targets: Vec::new(),
    };
    let mut ends: Vec<u32> = layout.placements.iter().map(|(_, start)| *start).collect();
    let mut current = SectionId::TEXT;
    for stmt in &ast.stmts {
        if let StmtKind::Section(id) = stmt.kind {
            current = id;
            continue;
        }
        let kind = ast.sections[current.0 as usize].kind;
        let at = &mut ends[current.0 as usize];
        let (section, _) = layout.placements[current.0 as usize];
        emitter.cursor = Cursor { section, in_text: kind == SectionKind::Text, at: *at };
        emitter.slots = layout.size(section) / 8;
        let size = emitter.stmt(ast, stmt);
        if kind == SectionKind::Zeroed {
            emitter.check_zeros(stmt.span, size);
        }
        *at += size;
    }
    emitter.check_computed_targets();
    emitter.out
}

/// Where a statement is emitted.
#[derive(Clone, Copy)]
struct Cursor {
    section: SectionId,
    /// Whether the section has instructions.
    in_text: bool,
    /// Bytes from the start of the section.
    at: u32,
}

impl Cursor {
    fn pc(self) -> u32 {
        self.at / 8
    }
}

struct Emitter<'s, 'o> {
    session: &'s mut Session<'o>,
    /// Of a program.
    addresses: Option<Addresses>,
    /// By section: whether it has instructions.
    is_text: Vec<bool>,
    /// Of the statement.
    cursor: Cursor,
    /// Slots of its section.
    slots: u32,
    out: Emitted,
    /// Targets that were written as numbers: they may hit the middle of an `lddw`.
    computed_targets: Vec<(SectionId, u32, Span)>,
}

impl Emitter<'_, '_> {
    /// Emits a statement and returns its size.
    fn stmt(&mut self, ast: &Ast, stmt: &Stmt) -> u32 {
        let Cursor { in_text, at, .. } = self.cursor;
        match stmt.kind {
            StmtKind::Label(_) | StmtKind::Section(_) => 0,
            StmtKind::Insn(insn) => {
                self.note_line(stmt.span);
                if let Some(encoded) = self.insn(insn, stmt.span) {
                    let (first, second) = self.encode(encoded);
                    self.put(at, &first.to_le_bytes());
                    if let Some(second) = second {
                        self.put(at + 8, &second.to_le_bytes());
                    }
                }
                if insn.op == Op::Lddw { 16 } else { 8 }
            }
            StmtKind::Call { target, syscall } => {
                self.note_line(stmt.span);
                if let Some((src, imm)) = self.call(target, syscall) {
                    let op = Op::decode(self.session.options.version, 0x85);
                    let op = op.expect("every version has `call`");
                    let insn = Insn { imm, off: 0, dst: 0, src, op };
                    self.put(at, &insn.encode().0.to_le_bytes());
                }
                8
            }
            StmtKind::Bytes { start, end } => {
                self.put(at, &ast.bytes[start as usize..end as usize]);
                end - start
            }
            StmtKind::Values { size, start, end } => {
                if in_text {
                    self.note_line(stmt.span);
                }
                let mut offset = at;
                for &expr in &ast.lists[start as usize..end as usize] {
                    if let Some(value) = self.data(expr, size, offset) {
                        self.put(offset, &value.to_le_bytes()[..size.into()]);
                    }
                    offset += u32::from(size);
                }
                offset - at
            }
            StmtKind::Repeat { count, size, value } => {
                if in_text && count > 0 {
                    self.note_line(stmt.span);
                }
                let bytes = &value.to_le_bytes()[..size.into()];
                for index in 0..count {
                    self.put(at + index * u32::from(size), bytes);
                }
                count * u32::from(size)
            }
            StmtKind::Fill { .. } | StmtKind::Align { .. } => {
                unreachable!("layout turned these into repeats")
            }
        }
    }

    fn note_line(&mut self, span: Span) {
        let pc = self.cursor.pc();
        self.out.spans[self.cursor.section.0 as usize].push((pc, span));
    }

    fn put(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        let section = &mut self.out.sections[self.cursor.section.0 as usize];
        section[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Refuses what is not zero, of the statement that was just emitted.
    fn check_zeros(&mut self, span: Span, size: u32) {
        let Cursor { section, at, .. } = self.cursor;
        let (start, end) = (at as usize, (at + size) as usize);
        let is_relocated = |it: &Relocation| it.section == section && it.offset >= at;
        let is_zero = self.out.sections[section.0 as usize][start..end].iter().all(|it| *it == 0);
        if !is_zero || self.out.relocations.last().is_some_and(is_relocated) {
            let diagnostic = Diagnostic::error(span, "this section holds nothing but zeros")
                .help("reserve room with `.zero`, or put constants into `.rodata`");
            self.report(diagnostic);
        }
    }

    fn span_of(&self, expr: ExprId) -> Span {
        self.session.exprs.get(expr).span
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.session.diagnostics.push(diagnostic);
    }

    /// What stands for an address at `at`: the guest address, or in an object what is added to a
    /// symbol's. `None` after a report.
    fn address(
        &mut self,
        expr: ExprId,
        (base, number): (Base, i128),
        (field, at): (RelocationKind, u32),
    ) -> Option<u64> {
        let span = self.span_of(expr);
        let Some(addresses) = self.addresses else {
            let (target, addend) = self.symbol_of(expr, base, number);
            self.relocate(target, field, at);
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

    /// The symbol that a relocation names, and what is added to it. A label goes by its own name
    /// where it stands alone, since people read relocations too.
    fn symbol_of(&self, expr: ExprId, base: Base, number: i128) -> (Base, i128) {
        if let ExprKind::Symbol(name) = self.session.exprs.get(expr).kind
            && let Def::Label(Some(_)) = self.session.symbols.get(name).def
            && self.session.is_linkable(name)
        {
            return (Base::Symbol(name), 0);
        }
        (base, number)
    }

    fn relocate(&mut self, target: Base, field: RelocationKind, offset: u32) {
        let section = self.cursor.section;
        self.out.relocations.push(Relocation { section, offset, field, target });
    }

    /// An element of a data directive, at `at`.
    fn data(&mut self, expr: ExprId, size: u8, at: u32) -> Option<u64> {
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
                self.address(expr, (base, value.number), (RelocationKind::Data, at))
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
                    insn.off = self.offset(off, if stores(op) { dst } else { src })?;
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

    /// The words of an instruction. V2 loads 64 bits in two halves, which take as many slots as
    /// `lddw` does elsewhere (SIMD-0173).
    #[allow(clippy::cast_possible_truncation, reason = "halves are cut out of the immediate")]
    fn encode(&self, insn: Insn) -> (u64, Option<u64>) {
        if insn.op != Op::Lddw || self.session.options.version != Version::V2 {
            return insn.encode();
        }
        let low = Insn { op: Op::Mov32Imm, imm: (insn.imm as i32).into(), ..insn };
        let high = Insn { op: Op::Hor64, imm: insn.imm >> 32, ..insn };
        (low.encode().0, Some(high.encode().0))
    }

    /// `add64 r10, imm`, which only versions with dynamic frames have.
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

    fn imm64(&mut self, expr: ExprId) -> Option<i64> {
        let span = self.span_of(expr);
        let Value { base, number } = self.session.eval(expr)?;
        let value = match base {
            Some(base) => {
                self.address(expr, (base, number), (RelocationKind::Constant, self.cursor.at))
            }
            None => self.session.fit(span, number, 8),
        };
        value.map(u64::cast_signed)
    }

    /// The offset of a memory access, `base` being its register.
    fn offset(&mut self, expr: ExprId, base: u8) -> Option<i16> {
        let number = self.session.eval_number(expr)?;
        if let Ok(offset) = i16::try_from(number) {
            return Some(offset);
        }
        let (what, limit) =
            if number < 0 { ("is below", "-0x8000") } else { ("exceeds", "0x7fff") };
        let hex = hex(number);
        let temporary = if base == 2 { 3 } else { 2 };
        let diagnostic = Diagnostic::error(self.span_of(expr), format!("offset {hex} {what} {limit}"))
            .note("the offset of a memory access has 16 bits")
            .help(format!(
                "advance a base register first: `mov64 r{temporary}, r{base}` then `add64 r{temporary}, {hex}`"
            ));
        self.report(diagnostic);
        None
    }

    /// An immediate of 32 bits, by the rules of its operation.
    fn imm(&mut self, op: Op, expr: ExprId) -> Option<i64> {
        let span = self.span_of(expr);
        let number = match self.session.eval(expr)? {
            Value { base: None, number } => number,
            Value { base: Some(Base::Symbol(name)), .. } if self.session.is_undefined(name) => {
                let diagnostic = self.session.undefined(name, span);
                self.report(diagnostic);
                return None;
            }
            Value { base: Some(_), .. } => {
                let diagnostic = Diagnostic::error(span, "an address does not fit an immediate")
                    .help("load it into a register with `lddw`");
                self.report(diagnostic);
                return None;
            }
        };
        self.check_meaning(op, span, number)?;
        let lower_half = match op.kind() {
            Kind::Alu(Alu::Hor, ..) | Kind::Alu(_, _, Operand::Uimm) => true,
            Kind::Alu(_, width, _) | Kind::Branch(_, width, _) => width != Width::W64,
            Kind::StoreImm(size) => size != Size::Dw,
            _ => false,
        };
        if let Ok(imm) = i32::try_from(number) {
            return Some(imm.into());
        }
        if let Ok(imm) = u32::try_from(number) {
            if lower_half {
                return Some(imm.cast_signed().into());
            }
            self.report(sign_extended(op, span, number));
            return None;
        }
        let diagnostic =
            Diagnostic::error(span, format!("immediate {} does not fit 32 bits", hex(number)));
        let diagnostic = match op.kind() {
            Kind::Alu(Alu::Mov, ..) => diagnostic.help("use `lddw`, which loads 64 bits"),
            _ => diagnostic.help("load it into a register with `lddw` first"),
        };
        self.report(diagnostic);
        None
    }

    /// Refuses immediates that the verifier refuses, and warns of those that cannot be meant.
    fn check_meaning(&mut self, op: Op, span: Span, number: i128) -> Option<()> {
        let diagnostic = match op.kind() {
            Kind::Alu(Alu::Lsh | Alu::Rsh | Alu::Arsh, width, _)
                if !(0..i128::from(width.bits())).contains(&number) =>
            {
                let bits = width.bits();
                Diagnostic::error(span, format!("shift of a {bits}-bit value by {number}"))
                    .note(format!("the verifier accepts 0 to {}", bits - 1))
            }
            Kind::Alu(Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, ..) if number == 0 => {
                Diagnostic::error(span, "division by zero")
                    .note("the verifier refuses a constant zero here")
            }
            Kind::Branch(Cond::Set, ..) if number == 0 => {
                Diagnostic::warning(span, "no bit is set in 0: this never jumps")
            }
            Kind::StoreImm(size @ (Size::B | Size::H)) => {
                let bits = size.bytes() * 8;
                if (-(1_i128 << (bits - 1))..1 << bits).contains(&number) {
                    return Some(());
                }
                Diagnostic::warning(
                    span,
                    format!("only the low {bits} bits of {number} are stored"),
                )
            }
            _ => return Some(()),
        };
        let is_error = diagnostic.severity == Severity::Error;
        self.report(diagnostic);
        (!is_error).then_some(())
    }

    // Jumps and calls.

    /// The distance of a jump.
    fn jump(&mut self, expr: ExprId) -> Option<i16> {
        let value = match self.session.exprs.get(expr).kind {
            // Whatever a weak name stands for elsewhere, a jump stays in its function.
            ExprKind::Symbol(name) => match self.session.symbols.get(name).def {
                Def::Label(Some((section, offset))) => {
                    Value { base: Some(Base::Section(section)), number: offset.into() }
                }
                _ => self.session.eval(expr)?,
            },
            _ => self.session.eval(expr)?,
        };
        let target = self.target(expr, value, "jump")?;
        let distance = target - i128::from(self.cursor.pc()) - 1;
        if let Ok(offset) = i16::try_from(distance) {
            return Some(offset);
        }
        let message = format!("the target is {distance} instructions away");
        let mut diagnostic = Diagnostic::error(self.span_of(expr), message)
            .note("a jump reaches -32768 to 32767 slots")
            .help("jump in two steps, through a `ja` in between, or make it a function and `call`");
        if let Some(label) = self.label_span(expr) {
            diagnostic = diagnostic.secondary(label, "the target");
        }
        self.report(diagnostic);
        None
    }

    fn label_span(&self, expr: ExprId) -> Option<Span> {
        let ExprKind::Symbol(name) = self.session.exprs.get(expr).kind else { return None };
        Some(self.session.symbols.get(name).span).filter(|span| *span != Span::default())
    }

    /// The slot of this section that a jump or call goes to: a label, or a distance from the next
    /// slot.
    fn target(&mut self, expr: ExprId, value: Value, what: &str) -> Option<i128> {
        let span = self.span_of(expr);
        let Value { base, number } = value;
        let target = match base {
            None => i128::from(self.cursor.pc()) + 1 + number,
            Some(Base::Section(section)) if section == self.cursor.section && number % 8 == 0 => {
                number / 8
            }
            Some(Base::Section(section)) if section == self.cursor.section => {
                self.session.error(span, format!("the {what} goes between two instructions"));
                return None;
            }
            Some(Base::Symbol(name)) if self.session.is_undefined(name) => {
                let diagnostic = self.session.undefined(name, span);
                self.report(diagnostic);
                return None;
            }
            Some(Base::Section(section)) if !self.is_text[section.0 as usize] => {
                self.session.error(span, format!("the {what} goes to data"));
                return None;
            }
            Some(_) => {
                let diagnostic = Diagnostic::error(span, format!("the {what} leaves its section"))
                    .note("the linker places each section, and each function in it, by itself")
                    .help("`call` it, or move both into one section");
                self.report(diagnostic);
                return None;
            }
        };
        match u32::try_from(target).ok().filter(|target| *target < self.slots) {
            Some(slot) => {
                if !matches!(self.session.exprs.get(expr).kind, ExprKind::Symbol(_)) {
                    self.computed_targets.push((self.cursor.section, slot, span));
                }
                Some(target)
            }
            None => {
                let slots = self.slots;
                let diagnostic = Diagnostic::error(span, format!("the {what} leaves the program"))
                    .label(format!("to slot {target}"))
                    .note(format!("the program has slots 0 to {}", slots.saturating_sub(1)));
                self.report(diagnostic);
                None
            }
        }
    }

    fn check_computed_targets(&mut self) {
        for (section, slot, span) in core::mem::take(&mut self.computed_targets) {
            if self.out.sections[section.0 as usize][slot as usize * SLOT_BYTES] == 0 {
                let diagnostic =
                    Diagnostic::error(span, "the target is the second half of an `lddw`")
                        .note("`lddw` takes two slots; the verifier refuses jumps between them");
                self.report(diagnostic);
            }
        }
    }

    /// Source nibble and immediate of a call.
    fn call(&mut self, target: ExprId, syscall: bool) -> Option<(u8, i64)> {
        let expr = self.session.exprs.get(target);
        if let ExprKind::Symbol(name) = expr.kind {
            let symbol = self.session.symbols.get(name);
            let is_label = matches!(symbol.def, Def::Label(_));
            let is_left_open = self.addresses.is_none() && self.session.is_linkable(name);
            if syscall || matches!(symbol.def, Def::None) && !is_left_open {
                return self.named_syscall(name, expr.span, syscall);
            }
            if is_label {
                self.session.symbols.entry(name).function = true;
            }
        }
        let number = match self.session.value(target) {
            Ok(Value { base: None, number }) => Some(number),
            _ => None,
        };
        if let Some(key) = number.and_then(|number| u32::try_from(number & 0xffff_ffff).ok())
            && (syscall || syscalls::find_hash(key).is_some())
        {
            return self.numbered_syscall(key, expr.span);
        }
        let value = self.session.eval(target)?;
        if let (None, Some(base)) = (self.addresses, value.base) {
            let call = self.linked_call(target, base, value.number);
            if call.is_some() {
                return call;
            }
        }
        let (slot, pc) = (self.target(target, value, "call")?, self.cursor.pc());
        let marks = !self.session.options.version.static_calls() || self.addresses.is_none();
        if slot == i128::from(pc) && marks {
            let span = self.session.exprs.get(target).span;
            let diagnostic = Diagnostic::error(span, "the call calls itself")
                .note("its distance, -1, is how files mark the calls that are filled in later")
                .help("put an instruction between the label and the call");
            self.report(diagnostic);
            return None;
        }
        i64::try_from(slot - i128::from(pc) - 1).ok().map(|distance| (1, distance))
    }

    /// A call that the linker completes; `None` if the distance is known, or there can be none.
    fn linked_call(&mut self, expr: ExprId, base: Base, number: i128) -> Option<(u8, i64)> {
        let (target, addend) = self.symbol_of(expr, base, number);
        let goes_to_data = match base {
            Base::Section(section) => !self.is_text[section.0 as usize],
            Base::Symbol(_) => false,
        };
        if goes_to_data || target == Base::Section(self.cursor.section) || addend % 8 != 0 {
            return None;
        }
        let slots = i32::try_from(addend / 8).ok()?.checked_sub(1)?;
        self.relocate(target, RelocationKind::Call, self.cursor.at);
        Some((1, slots.into()))
    }

    fn named_syscall(&mut self, name: Name, span: Span, by_keyword: bool) -> Option<(u8, i64)> {
        if !self.session.is_source_name(name) {
            let diagnostic = self.session.undefined(name, span);
            self.report(diagnostic);
            return None;
        }
        let text = self.session.names.shared(name);
        if !self.session.symbols.get(name).external && syscalls::find(&text).is_none() {
            let near = self.session.suggest_callable(&text);
            if by_keyword {
                let diagnostic =
                    Diagnostic::warning(span, format!("`{text}` is no syscall of the runtime"))
                        .did_you_mean(near)
                        .help(format!("if it is one of yours, say so: `.syscall {text}`"));
                self.report(diagnostic);
            } else {
                let diagnostic =
                    Diagnostic::error(span, format!("undefined function or syscall `{text}`"))
                        .label("not a label, and no syscall has this name");
                let diagnostic = match near {
                    Some(near) => diagnostic.did_you_mean(Some(near)),
                    None => diagnostic
                        .help(format!("if it is a syscall, declare it: `.syscall {text}`")),
                };
                self.report(diagnostic);
                return None;
            }
        }
        self.session.symbols.entry(name).external = true;
        if self.session.options.version.static_calls() || self.addresses.is_none() {
            return Some((0, murmur3(text.as_bytes()).cast_signed().into()));
        }
        if text.len() >= RELOCATED_NAME_BYTES {
            self.session.error(span, "the loader reads names of at most 63 bytes");
            return None;
        }
        self.out.syscalls.push((self.cursor.pc(), name));
        Some((1, -1))
    }

    fn numbered_syscall(&mut self, key: u32, span: Span) -> Option<(u8, i64)> {
        if self.session.options.version.static_calls() || self.addresses.is_none() {
            return Some((0, key.cast_signed().into()));
        }
        let Some(syscall) = syscalls::find_hash(key) else {
            let message = format!("no syscall of the runtime has the key {key:#x}");
            let diagnostic = Diagnostic::error(span, message)
                .note("until v2, files name the syscalls that they call");
            self.report(diagnostic);
            return None;
        };
        let name = self.session.names.intern(syscall.name);
        self.out.syscalls.push((self.cursor.pc(), name));
        Some((1, -1))
    }
}

/// Bytes of a syscall's name in a relocation, the NUL included (anza sbpf: `elf_parser`).
const RELOCATED_NAME_BYTES: usize = 64;

fn stores(op: Op) -> bool {
    matches!(op.kind(), Kind::StoreImm(_) | Kind::StoreReg(_))
}

fn sign_extended(op: Op, span: Span, number: i128) -> Diagnostic {
    let hex = hex(number);
    let diagnostic = Diagnostic::error(span, format!("immediate {hex} would be sign-extended"))
        .note("a 64-bit operation takes -0x80000000 to 0x7fffffff");
    match op.kind() {
        Kind::Alu(Alu::Mov, ..) => diagnostic
            .help("use `lddw` for all 64 bits, or `mov32`, which does not extend the sign"),
        _ => diagnostic.help("load it into a register with `lddw` first"),
    }
}

/// A number as people write addresses: small ones in decimal.
fn hex(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:#x}", number.unsigned_abs())
}
