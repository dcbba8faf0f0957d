//! The directives, one row each: what the assembler knows, what it suggests for a misspelt one,
//! what the formatter does with its line, what editors complete and explain.

use std::sync::LazyLock;

use crate::names::FastMap;

/// How the line of a directive is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// At the margin; operands are expressions and names.
    Line,
    /// Indented, since it puts something where it stands; operands are expressions and names.
    Data,
    /// At the margin; operands are text, whose spaces may count.
    Text,
    /// As [`Form::Line`], for linkers: read in objects, passed over in programs.
    Linker,
    /// As [`Form::Text`], and read by other tools alone.
    Ignored,
}

/// A directive: its row.
#[derive(Debug)]
pub struct Directive {
    /// Its name, then others for the same.
    pub names: &'static [&'static str],
    /// Its operands, as they are written; may be empty.
    pub operands: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    pub(crate) form: Form,
}

impl Directive {
    /// The directive of a name.
    ///
    /// ```
    /// let found = selkie_asm::directives::Directive::find(".hword").unwrap();
    /// assert_eq!(found.names[0], ".short");
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

    /// Whether only linkers need it, so that it is passed over in programs.
    pub(crate) fn is_for_linkers(&self) -> bool {
        self.form == Form::Linker
    }

    /// Whether the assembler reads it and passes it over.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.form == Form::Ignored
    }
}

/// What the names of all directives for unwinders begin with.
const CFI: &str = ".cfi_";

const fn row(
    names: &'static [&'static str],
    operands: &'static str,
    form: Form,
    what: &'static str,
) -> Directive {
    Directive { names, operands, what, form }
}

use Form::{Data, Ignored, Line, Linker, Text};

/// Every directive.
#[rustfmt::skip]
pub static DIRECTIVES: &[Directive] = &[
    row(&[".globl", ".global"], "name", Line, "Makes a name visible to other tools; it may be the entry."),
    row(&[".extern", ".syscall"], "name", Line, "Declares that a name is a syscall."),
    row(&[".type"], "name, @function", Text, "Says that a label is a function."),
    row(&[".equ", ".equiv"], "NAME, value", Line, "Defines a constant, once."),
    row(&[".set"], "NAME, value", Line, "Defines a constant that may change further down."),
    row(&[".text"], "", Line, "What follows are instructions."),
    row(&[".rodata"], "", Line, "What follows is read-only data."),
    row(&[".section"], "name, \"flags\", @type", Text, "What follows goes to a section."),
    row(&[".pushsection"], "name, \"flags\", @type", Text, "What follows goes to a section, up to `.popsection`."),
    row(&[".popsection"], "", Line, "Goes back to the section before `.pushsection`."),
    row(&[".previous"], "", Line, "Goes back to the section before this one."),
    row(&[".text_offset"], "offset", Line, "Says where in the file the instructions start, until V2."),
    row(&[".weak"], "name", Linker, "Of an object: makes a name visible, unless another object defines it."),
    row(&[".hidden"], "name", Linker, "Of an object: says that a name is for this program alone."),
    row(&[".protected", ".internal"], "name", Linker, "Of an object: as `.hidden`, in ELF's other ways."),
    row(&[".local"], "name", Linker, "Of an object: says that a name is for this source alone, as all are at first."),
    row(&[".size"], "name, value", Linker, "Of an object: says how many bytes a name stands for."),
    row(&[".data"], "", Line, "Writable data, which only objects can have, all zeros."),
    row(&[".bss"], "", Line, "Room for writable data, which only objects can have."),
    row(&[".comm"], "name, size, alignment", Text, "Of an object: a writable variable, one with those of that name in other objects."),
    row(&[".lcomm"], "name, size, alignment", Text, "Of an object: a writable variable."),
    row(&[".byte"], "value, …", Data, "Emits integers of 1 byte."),
    row(&[".short", ".half", ".word", ".2byte", ".hword"], "value, …", Data, "Emits integers of 2 bytes."),
    row(&[".int", ".long", ".4byte"], "value, …", Data, "Emits integers of 4 bytes."),
    row(&[".quad", ".8byte"], "value, …", Data, "Emits integers or addresses of 8 bytes."),
    row(&[".uleb128"], "value, …", Data, "Emits unsigned integers of variable length."),
    row(&[".sleb128"], "value, …", Data, "Emits signed integers of variable length."),
    row(&[".ascii"], "\"text\", …", Data, "Emits text."),
    row(&[".asciz", ".string"], "\"text\", …", Data, "Emits text and a zero byte."),
    row(&[".zero", ".space", ".skip"], "count, byte", Data, "Emits as many bytes, 0 unless another is given."),
    row(&[".fill"], "count, size, value", Data, "Emits as many integers of a size; in `.text`, `.fill count, word` emits slots."),
    row(&[".align", ".balign"], "bytes, byte", Data, "Goes on at a multiple of as many bytes."),
    row(&[".p2align"], "power, byte", Data, "Goes on at a multiple of 2 to the power."),
    row(&[".include"], "\"file\"", Line, "Reads another source here."),
    row(&[".incbin"], "\"file\", skip, count", Data, "Emits the bytes of a file."),
    row(&[".pubkey"], "\"base58\"", Data, "Emits the 32 bytes of a key."),
    row(&[".accounts"], "count, data length, …", Line, "Defines the offsets of the fields of the serialized input, by the accounts that an instruction has."),
    row(&[".struct"], "NAME, base", Line, "Begins a structure, whose `.field`s become offsets `NAME.field`."),
    row(&[".field"], "name, size, alignment", Data, "Defines the offset of a field of a `.struct`."),
    row(&[".ends", ".endstruct"], "", Line, "Ends a `.struct` and defines `NAME.SIZE`."),
    row(&[".macro"], "name parameter, …", Text, "Begins a macro."),
    row(&[".endm", ".endmacro"], "", Line, "Ends a macro."),
    row(&[".exitm"], "", Line, "Leaves a macro."),
    row(&[".purgem"], "name", Line, "Forgets a macro."),
    row(&[".rept", ".rep"], "count", Line, "Repeats the lines up to `.endr`."),
    row(&[".irp"], "parameter, value, …", Text, "Repeats the lines up to `.endr`, once for each value."),
    row(&[".irpc"], "parameter, characters", Text, "Repeats the lines up to `.endr`, once for each character."),
    row(&[".endr"], "", Line, "Ends a loop."),
    row(&[".if", ".ifne"], "value", Line, "Reads what follows if the value is not 0."),
    row(&[".ifeq"], "value", Line, "Reads what follows if the value is 0."),
    row(&[".iflt"], "value", Line, "Reads what follows if the value is less than 0."),
    row(&[".ifle"], "value", Line, "Reads what follows if the value is 0 or less."),
    row(&[".ifgt"], "value", Line, "Reads what follows if the value is greater than 0."),
    row(&[".ifge"], "value", Line, "Reads what follows if the value is 0 or greater."),
    row(&[".ifdef"], "name", Line, "Reads what follows if the name is defined."),
    row(&[".ifndef", ".ifnotdef"], "name", Line, "Reads what follows if the name is not defined."),
    row(&[".ifb"], "text", Text, "Reads what follows if there is no text."),
    row(&[".ifnb"], "text", Text, "Reads what follows if there is text."),
    row(&[".ifc"], "text, text", Text, "Reads what follows if both texts are the same."),
    row(&[".ifnc"], "text, text", Text, "Reads what follows if both texts differ."),
    row(&[".elseif"], "value", Line, "Reads what follows if nothing was read so far and the value is not 0."),
    row(&[".else"], "", Line, "Reads what follows if nothing was read so far."),
    row(&[".endif"], "", Line, "Ends a condition."),
    row(&[".error"], "\"text\"", Line, "Is an error, with a text."),
    row(&[".err"], "", Line, "Is an error."),
    row(&[".warning"], "\"text\"", Line, "Is a warning, with a text."),
    row(&[".file", ".loc", ".ident", ".symver"], "…", Ignored, "Is for debuggers and linkers; passed over here."),
    row(&[".addrsig", ".addrsig_sym"], "…", Ignored, "Is for linkers; passed over here."),
    row(&[".end", ".version", ".bundle_align_mode", ".lcomm_align"], "…", Ignored, "Is for other assemblers; passed over here."),
    row(&[CFI], "…", Ignored, "Is for unwinders; passed over here."),
];

/// Every name of a directive.
pub fn names() -> impl Iterator<Item = &'static str> {
    DIRECTIVES.iter().flat_map(|it| it.names).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, assemble};

    #[test]
    fn every_row_is_a_directive_of_the_assembler() {
        for name in names() {
            let output = assemble(&format!("{name}\n"), &Options::default());
            let message = format!("unknown directive `{name}`");
            assert!(output.diagnostics.iter().all(|it| it.message != message), "{name}");
        }
    }

    #[test]
    fn no_name_has_two_rows() {
        let mut names: Vec<&str> = names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
