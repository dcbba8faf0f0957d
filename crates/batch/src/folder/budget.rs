//! How much memory the rows of a Parquet file take, found before any is decoded to a batch.
//!
//! A dictionary has each value once, and rows refer to it with a few bits: a file of half a megabyte can
//! stand for gigabytes. So the pages are looked at first, which are about as large as the file, and a
//! batch gets as many rows as fit its budget.

use std::fs::File;

use parquet::{
    basic::Encoding,
    column::{
        page::{Page, PageReader},
        reader::ColumnReader,
    },
    file::{
        reader::{FileReader as _, RowGroupReader},
        serialized_reader::SerializedFileReader,
    },
};
use selkie_isa::failure::Failure;

use super::Tried as Result;

/// The bytes of the values of a batch.
const BATCH_BYTES_MAX: u64 = 128 << 20;
/// The values of a column in a group of rows, nulls and those of lists included.
const VALUES_MAX: u64 = 1 << 26;
/// What a value takes besides its bytes: its place, and whether it is there.
const VALUE_BYTES: u64 = 16;

/// What the rows of a file need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// The bytes of all rows, at most.
    total: u64,
    /// The bytes of the largest row, at most.
    row: u64,
}

impl Need {
    /// Looks at the pages of a file: of the columns with these names, or all.
    pub(super) fn of(file: File, columns: Option<&[String]>) -> Result<Self> {
        let reader = SerializedFileReader::new(file)?;
        let is_read = |column: &str| {
            let is_it = |name: &String| {
                let rest = column.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            columns.is_none_or(|columns| columns.iter().any(is_it))
        };
        let mut need = Self { total: 0, row: 0 };
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            for column in 0..group.num_columns() {
                if !is_read(&group.metadata().column(column).column_path().string()) {
                    continue;
                }
                let bytes = column_bytes(&mut *group.get_column_page_reader(column)?)?;
                need.total = need.total.saturating_add(bytes);
            }
        }
        need.row = need.total;
        if need.total > BATCH_BYTES_MAX {
            need.row = largest_row(&reader, is_read)?;
        }
        Ok(need)
    }

    /// Returns how many rows a batch may have, of those that are asked for.
    pub(super) fn rows(self, asked: usize) -> Result<usize> {
        if self.total <= BATCH_BYTES_MAX {
            return Ok(asked);
        }
        match usize::try_from(BATCH_BYTES_MAX / self.row.max(1)) {
            Ok(0) => {
                let failure = Failure::new(format!("a row may take {} bytes of memory", self.row));
                let help =
                    format!("rows have up to {BATCH_BYTES_MAX} bytes; write others in parts");
                Err(failure.with_help(help).into())
            }
            rows => Ok(rows.unwrap_or(asked).min(asked)),
        }
    }
}

/// Returns the bytes of the values of a column, at most.
fn column_bytes(pages: &mut dyn PageReader) -> Result<u64> {
    let (mut total, mut values, mut longest) = (0_u64, 0_u64, 0_u64);
    while let Some(page) = pages.get_next_page()? {
        if let Page::DictionaryPage { buf, .. } = &page {
            longest = longest_of(buf);
            total = total.saturating_add(buf.len() as u64);
            continue;
        }
        let count = u64::from(page.num_values());
        values = values.saturating_add(count);
        let len = page.buffer().len() as u64;
        let bytes = match page.encoding() {
            // A value may repeat the beginning of the one before, so all of the page.
            Encoding::DELTA_BYTE_ARRAY => count.saturating_mul(len),
            Encoding::RLE_DICTIONARY => count.saturating_mul(longest),
            #[allow(deprecated, reason = "old writers give the same encoding another name")]
            Encoding::PLAIN_DICTIONARY => count.saturating_mul(longest),
            _ => len,
        };
        total = total.saturating_add(bytes).saturating_add(count.saturating_mul(VALUE_BYTES));
    }
    if values > VALUES_MAX {
        let what =
            format!("a column has {values} values in one group of rows, of at most {VALUES_MAX}");
        return Err(Failure::new(what).into());
    }
    Ok(total)
}

/// Returns the length of the longest value of a dictionary: each has its length before it. Those of
/// numbers are not, and give a smaller one than all of it.
fn longest_of(dictionary: &[u8]) -> u64 {
    let (mut rest, mut longest) = (dictionary, 0);
    while let Some((len, values)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes(*len) as usize;
        longest = longest.max(len);
        // Otherwise it is a dictionary of something else, or damaged.
        let Some(next) = values.get(len..) else { return dictionary.len() as u64 };
        rest = next;
    }
    longest as u64
}

/// Returns the bytes of the largest row: the sum of the largest of each column.
fn largest_row(reader: &SerializedFileReader<File>, is_read: impl Fn(&str) -> bool) -> Result<u64> {
    let mut largest: Vec<u64> = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        largest.resize(group.num_columns(), 0);
        for (column, largest) in largest.iter_mut().enumerate() {
            if is_read(&group.metadata().column(column).column_path().string()) {
                *largest = largest_value(&*group, column)?.max(*largest);
            }
        }
    }
    Ok(largest.iter().fold(0, |sum, it| sum.saturating_add(*it)))
}

/// Returns the bytes of the largest row in a column. Values are not copied, since they are parts of
/// pages and dictionaries.
fn largest_value(group: &dyn RowGroupReader, column: usize) -> Result<u64> {
    let mut largest = 0;
    let (mut definitions, mut repetitions) = (Vec::new(), Vec::new());
    macro_rules! read {
        ($reader:expr, $len:expr) => {{
            let mut values = Vec::new();
            loop {
                (values.clear(), definitions.clear(), repetitions.clear());
                let levels = (Some(&mut definitions), Some(&mut repetitions));
                let (rows, _, count) = $reader.read_records(1, levels.0, levels.1, &mut values)?;
                if rows == 0 {
                    break;
                }
                let bytes: u64 = values.iter().map($len).sum();
                largest = bytes.saturating_add(count as u64 * VALUE_BYTES).max(largest);
            }
        }};
    }
    match group.get_column_reader(column)? {
        ColumnReader::ByteArrayColumnReader(mut reader) => read!(reader, |it| it.len() as u64),
        ColumnReader::FixedLenByteArrayColumnReader(mut reader) => {
            read!(reader, |it| it.len() as u64);
        }
        ColumnReader::BoolColumnReader(mut reader) => read!(reader, |_| 1),
        ColumnReader::Int32ColumnReader(mut reader) => read!(reader, |_| 4),
        ColumnReader::Int64ColumnReader(mut reader) => read!(reader, |_| 8),
        ColumnReader::Int96ColumnReader(mut reader) => read!(reader, |_| 12),
        ColumnReader::FloatColumnReader(mut reader) => read!(reader, |_| 4),
        ColumnReader::DoubleColumnReader(mut reader) => read!(reader, |_| 8),
    }
    Ok(largest)
}
