//! The line table: from instructions to lines and back.

use std::collections::BTreeMap;

use gimli::{AttributeValue, ColumnType, Dwarf, LineRow, Unit};
use selkie_inspect::{Location, dwarf::Reader};
use selkie_isa::plain;

/// The rows that are read. A row describes at least one instruction.
const ROWS_MAX: usize = 8_000_000;

/// The length of a path, or of a part of one, that is read.
const PATH_BYTES_MAX: usize = 4096;

/// The length of all paths together. Many files may name the same long folder.
const PATHS_BYTES_MAX: usize = 64 << 20;

/// A source file of the line table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FileId(u32);

/// From this address up to the next row, instructions belong to the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) address: u64,
    file: FileId,
    /// 0 if the instructions belong to no line.
    pub(crate) line: u32,
    column: u32,
    /// Whether a statement starts here, for breakpoints.
    pub(crate) is_stmt: bool,
    /// Whether this is the address after the last instruction of a sequence.
    is_end: bool,
}

/// The rows of all units, in the order of addresses.
#[derive(Default, Debug)]
pub(crate) struct Lines {
    rows: Vec<Row>,
    files: Vec<String>,
    ids: BTreeMap<String, FileId>,
    /// The length of all paths.
    path_bytes: usize,
}

impl Lines {
    /// Reads the line programs of all units. A malformed one ends at its first error.
    pub(crate) fn read(dwarf: &Dwarf<Reader>, units: &[Unit<Reader>]) -> Self {
        let mut lines = Self::default();
        for unit in units {
            // What was read before an error is kept.
            let _ = lines.read_unit(dwarf, unit);
        }
        // An end is the start of another sequence: that one counts.
        lines.rows.sort_by_key(|row| (row.address, !row.is_end));
        lines
    }

    fn read_unit(&mut self, dwarf: &Dwarf<Reader>, unit: &Unit<Reader>) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut known: BTreeMap<u64, FileId> = BTreeMap::new();
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            if self.rows.len() >= ROWS_MAX {
                break;
            }
            let index = row.file_index();
            let file = match known.get(&index) {
                Some(&file) => file,
                None => {
                    let file = self.intern(path(dwarf, unit, index).unwrap_or_default());
                    known.insert(index, file);
                    file
                }
            };
            self.rows.push(Row::new(row, file));
        }
        Ok(())
    }

    fn intern(&mut self, path: String) -> FileId {
        let total = self.path_bytes.saturating_add(path.len());
        let path = if total > PATHS_BYTES_MAX { String::new() } else { path };
        self.path_bytes += path.len();
        let next = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        *self.ids.entry(path).or_insert_with_key(|path| {
            self.files.push(path.clone());
            next
        })
    }

    /// Returns the path of each source file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &str)> {
        (0..).map(FileId).zip(self.files.iter().map(String::as_str))
    }

    /// Returns the path of a file, unless it could not be read.
    pub(crate) fn path(&self, file: FileId) -> Option<&str> {
        self.files.get(file.0 as usize).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// Returns the row that an instruction belongs to.
    fn row_at(&self, address: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|row| row.address <= address);
        self.rows[..after].last().filter(|row| !row.is_end && row.line != 0)
    }

    /// Returns the position of an instruction.
    pub(crate) fn location(&self, address: u64) -> Option<Location> {
        let row = self.row_at(address)?;
        let file = self.path(row.file)?.to_owned();
        Some(Location { file, line: row.line, column: Some(row.column).filter(|&it| it != 0) })
    }

    /// Returns the rows of a file at which its lines begin: those whose line differs from the row
    /// before.
    pub(crate) fn line_starts(&self, file: FileId) -> impl Iterator<Item = &Row> {
        let before = core::iter::once(None).chain(self.rows.iter().map(Some));
        let is_start = move |(before, row): &(Option<&Row>, &Row)| {
            let same = |it: &Row| it.file == row.file && it.line == row.line && !it.is_end;
            row.file == file
                && row.line != 0
                && row.is_stmt
                && !row.is_end
                && !before.is_some_and(same)
        };
        before.zip(&self.rows).filter(is_start).map(|(_, row)| row)
    }
}

impl Row {
    fn new(row: &LineRow, file: FileId) -> Self {
        let line = row.line().map_or(0, |it| u32::try_from(it.get()).unwrap_or(0));
        let column = match row.column() {
            ColumnType::LeftEdge => 0,
            ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
        };
        let (is_stmt, is_end) = (row.is_stmt(), row.end_sequence());
        Self { address: row.address(), file, line, column, is_stmt, is_end }
    }
}

/// Returns the path of a file of a unit's line table.
pub(crate) fn path(dwarf: &Dwarf<Reader>, unit: &Unit<Reader>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let text = |value: AttributeValue<Reader>| short(&dwarf.attr_string(unit, value).ok()?);
    let mut path = unit.comp_dir.as_ref().and_then(short);
    // Directory 0 of DWARF 4 is the unit's, and that of DWARF 5 is listed.
    if (header.version() >= 5 || file.directory_index() != 0)
        && let Some(folder) = file.directory(header).and_then(text)
    {
        path = Some(join(path, &folder));
    }
    Some(join(path, &text(file.path_name())?))
}

/// Returns a part of a path, unless it is too long.
fn short(text: &Reader) -> Option<String> {
    let bytes = Some(text.bytes()).filter(|it| it.len() <= PATH_BYTES_MAX)?;
    Some(plain::line(&String::from_utf8_lossy(bytes)).into_owned())
}

/// Joins paths as the compiler's machine would, which may not be of this machine's kind.
fn join(folder: Option<String>, path: &str) -> String {
    let is_absolute = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
    match folder.filter(|it| !it.is_empty() && !is_absolute) {
        Some(folder) => format!("{}/{path}", folder.trim_end_matches('/')),
        None => path.to_owned(),
    }
}
