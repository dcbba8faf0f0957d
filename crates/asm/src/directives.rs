//! The directive table, one row each. The assembler, its suggestions for misspelt names, the
//! formatter and the completions and hovers of editors use it.

use std::sync::LazyLock;

use crate::names::FastMap;

/// How the formatter lays out the line of a directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// At the margin; operands are expressions and names.
    Line,
    /// Indented, because it emits data; operands are expressions and names.
    Data,
    /// At the margin; operands are text, in which white space may be significant.
    Text,
    /// Like [`Form::Line`]; for the linker, so it is ignored in programs.
    Linker,
    /// Like [`Form::Text`]; for other tools only, so it is always ignored.
    Ignored,
}

/// A directive: a row of [`DIRECTIVES`].
#[derive(Debug)]
pub struct Directive {
    /// Its name, then its aliases.
    pub names: &'static [&'static str],
    /// Its operands as they are written; may be empty.
    pub operands: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    pub(crate) form: Form,
}

impl Directive {
    /// Returns the directive with this name or alias.
    ///
    /// ```
    /// let directive = selkie_asm::directives::Directive::find(".hword").unwrap();
    /// assert_eq!(directive.names[0], ".short");
    /// ```
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        static BY_NAME: LazyLock<FastMap<&'static str, &'static Directive>> = LazyLock::new(|| {
            let names = |it: &'static Directive| it.names.iter().map(move |name| (*name, it));
            DIRECTIVES.iter().flat_map(names).collect()
        });
        let name = if name.starts_with(CFI) { CFI } else { name };
        BY_NAME.get(name).copied()
    }

    /// Whether it is for the linker only, and therefore ignored in programs.
    pub(crate) fn is_for_linkers(&self) -> bool {
        self.form == Form::Linker
    }

    /// Whether the assembler accepts it without effect.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.form == Form::Ignored
    }
}

/// The prefix of all directives for unwinders, which share a row.
const CFI: &str = ".cfi_";

const fn row(
    names: &'static [&'static str],
    operands: &'static str,
    form: Form,
    summary: &'static str,
) -> Directive {
    Directive { names, operands, summary, form }
}

use Form::{Data, Ignored, Line, Linker, Text};

/// Every directive.
#[rustfmt::skip]
pub static DIRECTIVES: &[Directive] = &[
    row(&[".globl", ".global"], "name", Line, "Makes a symbol global; it can be the program's entry."),
    row(&[".extern", ".syscall"], "name", Line, "Declares a syscall."),
    row(&[".type"], "name, @function", Text, "Declares a label as a function."),
    row(&[".equ", ".equiv"], "NAME, value", Line, "Defines a constant that cannot be redefined."),
    row(&[".set"], "NAME, value", Line, "Defines a constant that can be redefined."),
    row(&[".text"], "", Line, "Switches to the section of instructions."),
    row(&[".rodata"], "", Line, "Switches to the section of read-only data."),
    row(&[".section"], "name, \"flags\", @type", Text, "Switches to a section."),
    row(&[".pushsection"], "name, \"flags\", @type", Text, "Switches to a section until `.popsection`."),
    row(&[".popsection"], "", Line, "Switches back to the section before `.pushsection`."),
    row(&[".previous"], "", Line, "Switches back to the previous section."),
    row(&[".text_offset"], "offset", Line, "Sets the file offset of the instructions, until V2."),
    row(&[".weak"], "name", Linker, "In objects: makes a symbol weak, so that a definition in another object overrides it."),
    row(&[".hidden"], "name", Linker, "In objects: hides a symbol from other programs."),
    row(&[".protected", ".internal"], "name", Linker, "In objects: sets another ELF visibility."),
    row(&[".local"], "name", Linker, "In objects: makes a symbol local to this source, which is the default."),
    row(&[".size"], "name, value", Linker, "In objects: sets the size of a symbol in bytes."),
    row(&[".data"], "", Line, "Switches to writable data, which must be zeros; only in objects."),
    row(&[".bss"], "", Line, "Switches to zero-initialized writable data; only in objects."),
    row(&[".comm"], "name, size, alignment", Text, "In objects: declares a zeroed variable, shared with other objects by its name."),
    row(&[".lcomm"], "name, size, alignment", Text, "In objects: declares a zeroed variable of this source."),
    row(&[".byte"], "value, …", Data, "Emits integers of 1 byte."),
    row(&[".short", ".half", ".word", ".2byte", ".hword"], "value, …", Data, "Emits integers of 2 bytes."),
    row(&[".int", ".long", ".4byte"], "value, …", Data, "Emits integers of 4 bytes."),
    row(&[".quad", ".8byte"], "value, …", Data, "Emits integers or addresses of 8 bytes."),
    row(&[".uleb128"], "value, …", Data, "Emits unsigned integers of variable length."),
    row(&[".sleb128"], "value, …", Data, "Emits signed integers of variable length."),
    row(&[".ascii"], "\"text\", …", Data, "Emits text."),
    row(&[".asciz", ".string"], "\"text\", …", Data, "Emits text and a zero byte."),
    row(&[".zero", ".space", ".skip"], "count, byte", Data, "Emits `count` bytes, zeros by default."),
    row(&[".fill"], "count, size, value", Data, "Emits `count` integers of `size` bytes; in `.text`, `.fill count, word` emits slots."),
    row(&[".align", ".balign"], "bytes, byte", Data, "Aligns to a multiple of `bytes`."),
    row(&[".p2align"], "power, byte", Data, "Aligns to a multiple of 2 to the power `power`."),
    row(&[".include"], "\"file\"", Line, "Includes another source file."),
    row(&[".incbin"], "\"file\", skip, count", Data, "Emits the bytes of a file."),
    row(&[".pubkey"], "\"base58\"", Data, "Emits the 32 bytes of a public key."),
    row(&[".accounts"], "count, data length, …", Line, "Defines the offsets of the fields of the serialized input for a number of accounts."),
    row(&[".struct"], "NAME, base", Line, "Begins a structure, whose `.field`s define the offsets `NAME.field`."),
    row(&[".field"], "name, size, alignment", Data, "Defines the offset of a field of a `.struct`."),
    row(&[".ends", ".endstruct"], "", Line, "Ends a `.struct` and defines `NAME.SIZE`."),
    row(&[".macro"], "name parameter, …", Text, "Begins the definition of a macro."),
    row(&[".endm", ".endmacro"], "", Line, "Ends the definition of a macro."),
    row(&[".exitm"], "", Line, "Ends the expansion of the current macro."),
    row(&[".purgem"], "name", Line, "Removes the definition of a macro."),
    row(&[".rept", ".rep"], "count", Line, "Repeats the lines up to `.endr` `count` times."),
    row(&[".irp"], "parameter, value, …", Text, "Repeats the lines up to `.endr`, once for each value."),
    row(&[".irpc"], "parameter, characters", Text, "Repeats the lines up to `.endr`, once for each character."),
    row(&[".endr"], "", Line, "Ends a loop."),
    row(&[".if", ".ifne"], "value", Line, "Assembles the following lines if the value is not 0."),
    row(&[".ifeq"], "value", Line, "Assembles the following lines if the value is 0."),
    row(&[".iflt"], "value", Line, "Assembles the following lines if the value is less than 0."),
    row(&[".ifle"], "value", Line, "Assembles the following lines if the value is 0 or less."),
    row(&[".ifgt"], "value", Line, "Assembles the following lines if the value is greater than 0."),
    row(&[".ifge"], "value", Line, "Assembles the following lines if the value is 0 or greater."),
    row(&[".ifdef"], "name", Line, "Assembles the following lines if the name is defined."),
    row(&[".ifndef", ".ifnotdef"], "name", Line, "Assembles the following lines if the name is not defined."),
    row(&[".ifb"], "text", Text, "Assembles the following lines if the text is empty."),
    row(&[".ifnb"], "text", Text, "Assembles the following lines if the text is not empty."),
    row(&[".ifc"], "text, text", Text, "Assembles the following lines if the texts are equal."),
    row(&[".ifnc"], "text, text", Text, "Assembles the following lines if the texts differ."),
    row(&[".elseif"], "value", Line, "Assembles the following lines if no branch before was taken and the value is not 0."),
    row(&[".else"], "", Line, "Assembles the following lines if no branch before was taken."),
    row(&[".endif"], "", Line, "Ends a condition."),
    row(&[".error"], "\"text\"", Line, "Reports an error with this text."),
    row(&[".err"], "", Line, "Reports an error."),
    row(&[".warning"], "\"text\"", Line, "Reports a warning with this text."),
    row(&[".file", ".loc", ".ident", ".symver"], "…", Ignored, "For debuggers and linkers; ignored."),
    row(&[".addrsig", ".addrsig_sym"], "…", Ignored, "For linkers; ignored."),
    row(&[".end", ".version", ".bundle_align_mode", ".lcomm_align"], "…", Ignored, "For other assemblers; ignored."),
    row(&[CFI], "…", Ignored, "For unwinders; ignored."),
];

/// Iterates over the names of all directives, aliases included.
pub fn names() -> impl Iterator<Item = &'static str> {
    DIRECTIVES.iter().flat_map(|it| it.names).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, assemble};

    #[test]
    fn the_assembler_knows_every_directive_of_the_table() {
        for name in names() {
            let output = assemble(&format!("{name}\n"), &Options::default());
            let message = format!("unknown directive `{name}`");
            assert!(output.diagnostics.iter().all(|it| it.message != message), "{name}");
        }
    }

    #[test]
    fn names_of_directives_are_unique() {
        let mut names: Vec<&str> = names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
