//! Directives: sections, symbols, data.

use super::{Failed, Parsed, Parser};
use crate::{
    ast::{ExprKind, SectionKind, StmtKind},
    diagnostic::Diagnostic,
    directives::{self, Directive},
    layout::IMAGE_BYTES_MAX,
    lex::{Tok, Token},
    session::Common,
    source::{Span, position},
};

impl Parser<'_, '_> {
    /// Parses a line that starts with the directive `word`. In sections that are dropped, only
    /// control directives have an effect.
    pub(super) fn directive(&mut self, word: &str, first: Token, dropped: bool) -> Parsed {
        if let Some(result) = self.control(word, first) {
            return result;
        }
        if dropped {
            self.skip_line();
            return Ok(());
        }
        // Directives without a row are refused, so that editors know all directives.
        let Some(directive) = Directive::find(word) else {
            return Err(self.unknown_directive(word, first));
        };
        if directive.is_ignored() || directive.is_for_linkers() && !self.session.is_object() {
            self.skip_line();
            return Ok(());
        }
        self.symbol_directive(word)
            .or_else(|| self.data_directive(word, first))
            .or_else(|| self.generator(word, first))
            .unwrap_or_else(|| Err(self.unknown_directive(word, first)))
    }

    /// Parses a directive that declares or defines symbols.
    fn symbol_directive(&mut self, word: &str) -> Option<Parsed> {
        Some(match word {
            ".weak" => self.symbols(|parser, name, _| {
                parser.session.symbols.entry(name).weak = true;
            }),
            ".local" => self.symbols(|_, _, _| {}),
            ".internal" => self.visibility(1),
            ".hidden" => self.visibility(2),
            ".protected" => self.visibility(3),
            ".size" => self.symbol_size(),
            ".globl" | ".global" => self.symbols(|parser, name, span| {
                parser.session.globals.push(name);
                parser.session.symbols.entry(name).global.get_or_insert(span);
            }),
            ".extern" | ".syscall" => self.symbols(|parser, name, _| {
                parser.session.symbols.entry(name).external = true;
            }),
            ".type" => self.symbol_type(),
            ".equ" | ".equiv" => self.constant(false),
            ".set" => self.constant(true),
            _ => return None,
        })
    }

    /// Parses a directive that emits data.
    fn data_directive(&mut self, word: &str, first: Token) -> Option<Parsed> {
        Some(match word {
            ".ascii" => self.strings(false),
            ".asciz" | ".string" => self.strings(true),
            ".byte" => self.values(1, first),
            ".short" | ".half" | ".word" | ".2byte" | ".hword" => self.values(2, first),
            ".int" | ".long" | ".4byte" => self.values(4, first),
            ".quad" | ".8byte" => self.values(8, first),
            ".uleb128" | ".sleb128" => self.leb128(word == ".sleb128"),
            ".zero" | ".space" | ".skip" => self.space(first),
            ".fill" => self.fill(first),
            ".align" | ".balign" => self.align(false, first),
            ".p2align" => self.align(true, first),
            ".incbin" => self.include_bytes(first),
            ".comm" if self.session.is_object() => self.common(),
            ".lcomm" if self.session.is_object() => self.local_common(first),
            ".comm" | ".lcomm" => {
                self.skip_line();
                Err(self.refuse_writable(self.span_of(first), word))
            }
            _ => return None,
        })
    }

    /// Parses a directive of [`super::generate`], or `.text_offset`.
    fn generator(&mut self, word: &str, first: Token) -> Option<Parsed> {
        Some(match word {
            ".text_offset" => self.expr().map(|offset| self.session.text_offset = Some(offset)),
            ".accounts" => self.accounts(first),
            ".pubkey" => self.pubkey(),
            ".struct" => self.begin_struct(first),
            ".field" => self.field(first),
            ".ends" | ".endstruct" => self.end_struct(first),
            _ => return None,
        })
    }

    /// Parses a directive that has an effect even in sections that are dropped.
    fn control(&mut self, word: &str, first: Token) -> Option<Parsed> {
        Some(match word {
            ".text" => self.named_section(first, ".text", SectionKind::Text),
            ".rodata" => self.named_section(first, ".rodata", SectionKind::ReadOnly),
            ".data" => self.named_section(first, word, SectionKind::Writable),
            ".bss" => self.named_section(first, word, SectionKind::Zeroed),
            ".section" => self.section(first, false),
            ".pushsection" => self.section(first, true),
            ".popsection" => self.pop_section(first),
            ".previous" => {
                self.enter_section(self.section_previous, self.span_of(first));
                Ok(())
            }
            ".include" => self.include(first),
            ".macro" => self.define_macro(first),
            ".endm" | ".endmacro" | ".endr" => Err(self.syntax_error(
                self.span_of(first),
                format!("`{word}` without a matching opening directive"),
            )),
            ".exitm" => self.exit_macro(first),
            ".purgem" => self.purge_macro(),
            ".rept" | ".rep" => self.repeat(first),
            ".irp" => self.irp(first, false),
            ".irpc" => self.irp(first, true),
            ".else" | ".elseif" | ".endif" => self.condition_ends(word, first),
            ".if" | ".ifdef" | ".ifndef" | ".ifnotdef" | ".ifb" | ".ifnb" | ".ifc" | ".ifnc"
            | ".ifeq" | ".ifne" | ".ifgt" | ".ifge" | ".iflt" | ".ifle" => {
                self.condition(word, first)
            }
            ".err" | ".error" | ".warning" => self.message(word, first),
            _ => return None,
        })
    }

    fn unknown_directive(&mut self, word: &str, first: Token) -> Failed {
        let suggestion = match self.session.may_suggest() {
            true => selkie_isa::suggest::nearest(word, directives::names()),
            false => None,
        };
        let diagnostic =
            Diagnostic::error(self.span_of(first), format!("unknown directive `{word}`"))
                .did_you_mean(suggestion);
        self.report(diagnostic)
    }

    fn message(&mut self, word: &str, first: Token) -> Parsed {
        let mut text = format!("`{word}` was reached");
        if self.token.kind == Tok::Str {
            let bytes = self.unescape(self.token)?;
            text = String::from_utf8_lossy(&bytes).into_owned();
            self.bump();
        }
        let span = self.span_from(first);
        self.report(match word {
            ".warning" => Diagnostic::warning(span, text),
            _ => Diagnostic::error(span, text),
        });
        Ok(())
    }

    // Symbols.

    fn symbols(&mut self, mut each: impl FnMut(&mut Self, crate::names::Name, Span)) -> Parsed {
        loop {
            let span = self.span();
            let name = self.name()?;
            each(self, name, span);
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    /// Sets the ELF visibility of symbols.
    fn visibility(&mut self, visibility: u8) -> Parsed {
        self.symbols(|parser, name, _| {
            parser.session.symbols.entry(name).visibility = visibility;
        })
    }

    fn symbol_type(&mut self) -> Parsed {
        let name = self.name()?;
        let (start, end) =
            (self.token.start, self.lexer.text[self.token.start..self.lexer.end].find('\n'));
        let end = end.map_or(self.lexer.end, |length| start + length);
        if self.lexer.text[start..end].contains("function") {
            self.session.symbols.entry(name).function = true;
        }
        self.skip_line();
        Ok(())
    }

    fn symbol_size(&mut self) -> Parsed {
        let name = self.name()?;
        self.expect(Tok::Comma, "`,`")?;
        let size = self.expr()?;
        self.session.symbols.entry(name).size = Some(size);
        Ok(())
    }

    /// Parses `.comm name, size, alignment`.
    fn common(&mut self) -> Parsed {
        let span = self.span();
        let name = self.name()?;
        self.expect(Tok::Comma, "`,`")?;
        let size = self.expr()?;
        let align = if self.eat(Tok::Comma) { Some(self.expr()?) } else { None };
        let symbol = self.session.symbols.entry(name);
        if symbol.common {
            let text = self.session.names.text(name);
            let message = format!("`{text}` is defined twice");
            return Err(self.fail(span, message));
        }
        symbol.common = true;
        self.session.commons.push(Common { name, size, align });
        Ok(())
    }

    /// Parses `.lcomm name, size, alignment`, which defines a label in `.bss`.
    fn local_common(&mut self, first: Token) -> Parsed {
        let token = self.token;
        self.name()?;
        self.expect(Tok::Comma, "`,`")?;
        let count = self.expr()?;
        let to = match self.eat(Tok::Comma) {
            true => self.expr()?,
            false => self.session.exprs.add(self.span_of(token), ExprKind::Int(8)),
        };
        let (span, section) = (self.span_from(first), self.section);
        let zeroed = self.add_section(".bss", SectionKind::Zeroed);
        self.push(span, StmtKind::Section(zeroed));
        self.push(span, StmtKind::Align { to, power: false, fill: 0 });
        self.label(token)?;
        self.push(span, StmtKind::Fill { count, size: 1, value: None });
        self.push(span, StmtKind::Section(section));
        Ok(())
    }

    fn constant(&mut self, variable: bool) -> Parsed {
        let (token, span) = (self.token, self.span());
        if self.is_register(token) {
            return Err(self.expected("a name that is not a register"));
        }
        let name = self.name()?;
        self.expect(Tok::Comma, "`,`")?;
        let value = self.expr()?;
        self.define_constant(name, span, value, variable);
        Ok(())
    }

    // Sections.

    fn named_section(&mut self, first: Token, text: &str, kind: SectionKind) -> Parsed {
        // `.text 0` is obsolete syntax for a subsection.
        if let Tok::Int(_) = self.token.kind {
            self.bump();
        }
        let known = self.ast.sections.len();
        let id = self.add_section(text, kind);
        let is_writable = matches!(kind, SectionKind::Writable | SectionKind::Zeroed);
        if is_writable && !self.session.is_object() && self.ast.sections.len() > known {
            self.refuse_writable(self.span_of(first), text);
        }
        self.enter_section(id, self.span_of(first));
        Ok(())
    }

    fn refuse_writable(&mut self, span: Span, section: &str) -> Failed {
        let diagnostic = Diagnostic::error(
            span,
            format!("`{section}`: programs have no writable data"),
        )
        .note("the loader rejects files with writable sections")
        .help("constants go to `.rodata`; variables to the stack (r10), the heap or an account");
        self.report(diagnostic)
    }

    fn section(&mut self, first: Token, push: bool) -> Parsed {
        let name = match self.token.kind {
            Tok::Ident | Tok::Str => self.name()?,
            _ => return Err(self.expected("the name of a section")),
        };
        let text = self.session.names.shared(name);
        let flags = if self.eat(Tok::Comma) && self.token.kind == Tok::Str {
            let bytes = self.unescape(self.token)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            None
        };
        self.skip_line();
        let span = self.span_of(first);
        let Some(kind) = section_kind(&text, flags.as_deref()) else {
            let diagnostic = Diagnostic::error(span, format!("unknown section `{text}`"))
                .help("use `.text` or `.rodata`, or give flags: `\"a\"` for read-only data");
            return Err(self.report(diagnostic));
        };
        if push {
            self.section_stack.push(self.section);
        }
        self.named_section(first, &text, kind)
    }

    fn pop_section(&mut self, first: Token) -> Parsed {
        match self.section_stack.pop() {
            Some(id) => {
                self.enter_section(id, self.span_of(first));
                Ok(())
            }
            None => Err(self.fail(self.span_of(first), "`.popsection` without `.pushsection`")),
        }
    }

    // Data.

    /// Refuses data between instructions, which the verifier rejects or the program executes. Whole
    /// slots are accepted, since they can be instructions.
    fn check_data_section(&mut self, first: Token, whole_slots: bool) -> Parsed {
        if self.section_kind() != SectionKind::Text || whole_slots {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(self.span_of(first), "data in `.text`")
            .note("the verifier would decode it as instructions")
            .help("put `.rodata` before the data, and `.text` before further instructions");
        Err(self.report(diagnostic))
    }

    pub(super) fn push_bytes(&mut self, first: Token, bytes: &[u8]) -> Parsed {
        self.check_data_section(first, false)?;
        if (self.ast.bytes.len() + bytes.len()) as u64 > IMAGE_BYTES_MAX {
            self.stopped = true;
            let message = format!("the data grows beyond {} MiB here", IMAGE_BYTES_MAX >> 20);
            return Err(self.fail(self.span_of(first), message));
        }
        let start = position(self.ast.bytes.len());
        self.ast.bytes.extend_from_slice(bytes);
        let end = position(self.ast.bytes.len());
        self.push(self.span_of(first), StmtKind::Bytes { start, end });
        Ok(())
    }

    fn strings(&mut self, terminated: bool) -> Parsed {
        loop {
            let token = self.token;
            if token.kind != Tok::Str {
                return Err(self.expected("a string in quotes"));
            }
            let mut bytes = self.unescape(token)?;
            self.bump();
            if terminated {
                bytes.push(0);
            }
            self.push_bytes(token, &bytes)?;
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    fn values(&mut self, size: u8, first: Token) -> Parsed {
        self.check_data_section(first, size == 8)?;
        let mut pending = Vec::new();
        loop {
            if self.token.kind == Tok::Str && size == 1 {
                return Err(self.string_as_byte());
            }
            pending.push(self.expr()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        let start = position(self.ast.lists.len());
        self.ast.lists.append(&mut pending);
        let end = position(self.ast.lists.len());
        self.push(self.span_from(first), StmtKind::Values { size, start, end });
        Ok(())
    }

    fn string_as_byte(&mut self) -> Failed {
        let diagnostic = Diagnostic::syntax(self.span(), "`.byte` takes numbers, not strings")
            .help("use `.ascii`, or `.asciz` for a zero at the end");
        self.report(diagnostic)
    }

    fn leb128(&mut self, signed: bool) -> Parsed {
        let first = self.token;
        let mut bytes = Vec::new();
        loop {
            let (number, span) = self.number()?;
            if !signed && number < 0 {
                return Err(self.fail(span, "`.uleb128` takes no negative numbers"));
            }
            push_leb128(&mut bytes, number, signed);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.push_bytes(first, &bytes)
    }

    fn space(&mut self, first: Token) -> Parsed {
        let count = self.expr()?;
        let value = if self.eat(Tok::Comma) { Some(self.expr()?) } else { None };
        self.check_data_section(first, false)?;
        self.push(self.span_from(first), StmtKind::Fill { count, size: 1, value });
        Ok(())
    }

    /// Parses `.fill count, size, value`, or in `.text` `.fill count, word`, which emits slots.
    fn fill(&mut self, first: Token) -> Parsed {
        let count = self.expr()?;
        let second = if self.eat(Tok::Comma) { Some(self.expr()?) } else { None };
        let third = if self.eat(Tok::Comma) { Some(self.expr()?) } else { None };
        let in_text = self.section_kind() == SectionKind::Text;
        let (size, value) = match (second, third) {
            (word, None) if in_text => (8, word),
            (None, _) => (1, None),
            (Some(size), value) => {
                let span = self.session.exprs.get(size).span;
                let size = self.session.eval_number(size).ok_or(Failed)?;
                match u8::try_from(size).ok().filter(|size| matches!(size, 1 | 2 | 4 | 8)) {
                    Some(size) => (size, value),
                    None => return Err(self.fail(span, "the size must be 1, 2, 4 or 8")),
                }
            }
        };
        self.check_data_section(first, size == 8)?;
        self.push(self.span_from(first), StmtKind::Fill { count, size, value });
        Ok(())
    }

    fn align(&mut self, power: bool, first: Token) -> Parsed {
        let to = self.expr()?;
        let mut fill = 0;
        if self.eat(Tok::Comma) && self.token.kind != Tok::Comma && !self.at_end() {
            let (number, span) = self.number()?;
            match u8::try_from(number) {
                Ok(byte) => fill = byte,
                Err(_) => return Err(self.fail(span, "the fill must be a byte")),
            }
        }
        // Compilers give the maximum of bytes to skip. It is ignored: alignment is not optional.
        if self.eat(Tok::Comma) {
            self.expr()?;
        }
        self.push(self.span_from(first), StmtKind::Align { to, power, fill });
        Ok(())
    }

    /// Parses `.incbin "file", skip, count`.
    fn include_bytes(&mut self, first: Token) -> Parsed {
        let (bytes, path) = self.read_file()?;
        let mut range = [0, bytes.len()];
        for bound in &mut range {
            if !self.eat(Tok::Comma) {
                break;
            }
            let (number, span) = self.number()?;
            match usize::try_from(number).ok().filter(|number| *number <= bytes.len()) {
                Some(number) => *bound = number,
                None => {
                    let message = format!("`{path}` has only {} bytes", bytes.len());
                    return Err(self.fail(span, message));
                }
            }
        }
        let end = range[0].saturating_add(range[1]).min(bytes.len());
        self.push_bytes(first, &bytes[range[0]..end])
    }
}

/// Appends a number in LEB128, which stores 7 bits per byte.
fn push_leb128(bytes: &mut Vec<u8>, mut number: i128, signed: bool) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        let sign = low & 0x40 != 0;
        if number == 0 && !(signed && sign) || signed && number == -1 && sign {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Sections for other tools, which are dropped, as are those that begin with `.debug_`.
const DROPPED: [&str; 9] = [
    ".eh_frame",
    ".BTF",
    ".comment",
    ".note",
    ".llvm_addrsig",
    ".symtab",
    ".strtab",
    ".llvm_stackmaps",
    ".discard",
];

/// Returns the kind of a section by its name, or else by its flags.
fn section_kind(name: &str, flags: Option<&str>) -> Option<SectionKind> {
    let is =
        |stem: &str| name.strip_prefix(stem).is_some_and(|it| it.is_empty() || it.starts_with('.'));
    if is(".text") {
        Some(SectionKind::Text)
    } else if is(".rodata") || is(".data.rel.ro") {
        Some(SectionKind::ReadOnly)
    } else if name.starts_with(".debug_") || DROPPED.iter().any(|stem| is(stem)) {
        Some(SectionKind::Dropped)
    } else if is(".data") {
        Some(SectionKind::Writable)
    } else if is(".bss") {
        Some(SectionKind::Zeroed)
    } else {
        let flags = flags?;
        Some(match (flags.contains('x'), flags.contains('w'), flags.contains('a')) {
            (_, true, _) => SectionKind::Writable,
            (true, ..) => SectionKind::Text,
            (false, false, true) => SectionKind::ReadOnly,
            _ => SectionKind::Dropped,
        })
    }
}
