//! A check of the tables of folders and files at the start of line programs.
//!
//! Readers make a value of some 100 bytes for each file, and join the paths of folders and files, so a
//! table of empty names, or one long folder of many files, takes much more memory than the file.

use gimli::{
    DebugLineStrOffset, DebugStrOffset, DwForm, DwLnct, Dwarf, Format, Reader, Section as _,
    constants as dw,
};

use super::Refusal;

/// The folders and files of all line programs together, besides one for each 16 bytes of the section.
const ITEMS_MAX: usize = 65_536;

/// The bytes of the paths of all files together, besides those of the section.
const PATHS_BYTES_MAX: usize = 16 << 20;

/// What the line programs of a file have taken.
pub(super) struct Budget<'a, R: Reader<Offset = usize>> {
    dwarf: &'a Dwarf<R>,
    items: usize,
    path_bytes: usize,
}

impl<'a, R: Reader<Offset = usize>> Budget<'a, R> {
    pub(super) fn new(dwarf: &'a Dwarf<R>) -> Self {
        Self { dwarf, items: 0, path_bytes: 0 }
    }

    /// Takes the tables of the line program at an offset. A program that readers refuse at its first
    /// bytes takes nothing.
    ///
    /// # Errors
    /// If that is too much.
    pub(super) fn take(&mut self, start: usize) -> Result<(), Refusal> {
        let mut rest = self.dwarf.debug_line.reader().clone();
        let Ok((version, format, mut header)) = rest.skip(start).and_then(|()| open(&mut rest))
        else {
            return Ok(());
        };
        let tables = match version {
            2..=4 => self.old_tables(&mut header),
            5 => self.new_tables(&mut header, format),
            _ => return Ok(()),
        };
        tables.ok().filter(|()| self.is_within()).ok_or(Refusal::Files)
    }

    fn is_within(&self) -> bool {
        let len = self.dwarf.debug_line.reader().len();
        self.items <= ITEMS_MAX + len / 16 && self.path_bytes <= PATHS_BYTES_MAX + len
    }

    /// Counts a folder or a file whose path has so many bytes.
    fn count(&mut self, path_bytes: usize) {
        self.items += 1;
        self.path_bytes = self.path_bytes.saturating_add(path_bytes);
    }

    /// Reads the tables until version 4: lists that end with an empty name.
    fn old_tables(&mut self, header: &mut R) -> gimli::Result<()> {
        // The first one is the folder of the unit.
        let mut folders = vec![0];
        while self.is_within() {
            match header.read_null_terminated_slice()?.len() {
                0 => break,
                len => folders.push(len),
            }
            self.count(0);
        }
        while self.is_within() {
            let len = header.read_null_terminated_slice()?.len();
            if len == 0 {
                break;
            }
            let folder = folder_len(&folders, header.read_uleb128()?);
            header.read_uleb128()?;
            header.read_uleb128()?;
            self.count(len + folder);
        }
        Ok(())
    }

    /// Reads the tables of version 5: each states its columns and the number of its rows.
    fn new_tables(&mut self, header: &mut R, format: Format) -> gimli::Result<()> {
        let mut folders = Vec::new();
        self.table(header, format, |budget, len, _| {
            budget.count(0);
            folders.push(len);
        })?;
        self.table(header, format, |budget, len, folder| {
            budget.count(len + folder_len(&folders, folder));
        })
    }

    /// Calls `add` with the length of the path and the folder of each row of a table.
    fn table(
        &mut self,
        header: &mut R,
        format: Format,
        mut add: impl FnMut(&mut Self, usize, u64),
    ) -> gimli::Result<()> {
        let columns = columns(header)?;
        let count = header.read_uleb128()?;
        for _ in 0..count {
            let (mut path, mut folder) = (0, 0);
            for (meaning, form) in &columns {
                let (number, len) = self.value(header, *form, format)?;
                match *meaning {
                    dw::DW_LNCT_path => path = len,
                    dw::DW_LNCT_directory_index => folder = number,
                    _ => {}
                }
            }
            add(self, path, folder);
            if !self.is_within() {
                break;
            }
        }
        Ok(())
    }

    /// Reads a value: the number or the length of the text that it is.
    fn value(&self, header: &mut R, form: DwForm, format: Format) -> gimli::Result<(u64, usize)> {
        let number = match form {
            dw::DW_FORM_string => return Ok((0, header.read_null_terminated_slice()?.len())),
            dw::DW_FORM_line_strp => {
                let at = DebugLineStrOffset(header.read_offset(format)?);
                return Ok((0, self.dwarf.debug_line_str.get_str(at).map_or(0, |it| it.len())));
            }
            dw::DW_FORM_strp => {
                let at = DebugStrOffset(header.read_offset(format)?);
                return Ok((0, self.dwarf.debug_str.get_str(at).map_or(0, |it| it.len())));
            }
            dw::DW_FORM_udata => header.read_uleb128()?,
            dw::DW_FORM_data1 => header.read_u8()?.into(),
            dw::DW_FORM_data2 => header.read_u16()?.into(),
            dw::DW_FORM_data4 => header.read_u32()?.into(),
            dw::DW_FORM_data8 => header.read_u64()?,
            dw::DW_FORM_data16 => {
                header.skip(16)?;
                0
            }
            dw::DW_FORM_block => {
                let len = header.read_uleb128()?;
                header.skip(usize::try_from(len).unwrap_or(usize::MAX))?;
                0
            }
            // No compiler writes others here.
            form => return Err(gimli::Error::UnknownForm(form)),
        };
        Ok((number, 0))
    }
}

/// Reads what the columns of a table mean, and their forms.
fn columns<R: Reader>(header: &mut R) -> gimli::Result<Vec<(DwLnct, DwForm)>> {
    let number = |value: u64| u16::try_from(value).unwrap_or(0);
    let column = |header: &mut R| {
        let meaning = DwLnct(number(header.read_uleb128()?));
        Ok((meaning, DwForm(number(header.read_uleb128()?))))
    };
    (0..header.read_u8()?).map(|_| column(header)).collect()
}

fn folder_len(folders: &[usize], index: u64) -> usize {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    folders.get(index).copied().unwrap_or(0)
}

/// Returns version, format, and the tables with what follows them, of a line program.
fn open<R: Reader<Offset = usize>>(rest: &mut R) -> gimli::Result<(u16, Format, R)> {
    let (length, format) = rest.read_initial_length()?;
    let mut program = rest.split(length)?;
    let version = program.read_u16()?;
    if version >= 5 {
        // Sizes of addresses and of segment selectors.
        program.skip(2)?;
    }
    let length = program.read_length(format)?;
    let mut header = program.split(length)?;
    // Instruction length, statements, line base and line range: one byte each, and from version 4 on
    // the operations of an instruction.
    header.skip(if version >= 4 { 5 } else { 4 })?;
    let opcodes = header.read_u8()?;
    header.skip(usize::from(opcodes.saturating_sub(1)))?;
    Ok((version, format, header))
}
