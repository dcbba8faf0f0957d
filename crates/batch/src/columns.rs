//! The columns of a table, each with the type that its schema says.

use arrow_array::{
    Array, BinaryArray, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Fields, Schema};

use crate::{error::BatchError, schema};

/// Checks that a batch has the columns of a schema, with their types. Other columns may be there, too, and
/// whether a column may be null is judged row by row.
///
/// # Errors
/// If a column is missing or has another type.
pub fn check_columns(batch: &RecordBatch, schema: &Schema) -> Result<(), BatchError> {
    check_fields("", schema.fields(), batch.schema_ref().fields())
}

/// Checks that a batch has these columns of results, with their types.
///
/// # Errors
/// If a column is missing or has another type.
pub fn check_results(batch: &RecordBatch, columns: &[&str]) -> Result<(), BatchError> {
    let all = schema::results();
    let fields = all.fields().iter().filter(|it| columns.contains(&it.name().as_str()));
    check_fields("", &fields.cloned().collect(), batch.schema_ref().fields())
}

/// `path` is empty, or the path of the struct with a dot behind it.
fn check_fields(path: &str, expected: &Fields, found: &Fields) -> Result<(), BatchError> {
    for field in expected {
        let column = format!("{path}{}", field.name());
        let Some((_, found)) = found.find(field.name()) else {
            return Err(BatchError::MissingColumn(column));
        };
        check_type(column, field.data_type(), found.data_type())?;
    }
    Ok(())
}

fn check_type(column: String, expected: &DataType, found: &DataType) -> Result<(), BatchError> {
    match (expected, found) {
        (DataType::List(expected), DataType::List(found)) => {
            check_type(column, expected.data_type(), found.data_type())
        }
        (DataType::Struct(expected), DataType::Struct(found)) => {
            check_fields(&format!("{column}."), expected, found)
        }
        _ if expected == found => Ok(()),
        _ => {
            let (expected, found) = (expected.clone(), found.clone());
            Err(BatchError::ColumnType { column, expected, found })
        }
    }
}

/// A table's columns, or the fields of a struct, whose types have been checked.
#[derive(Clone, Copy)]
pub(crate) enum Columns<'a> {
    Table(&'a RecordBatch),
    Struct(&'a StructArray),
}

impl<'a> Columns<'a> {
    fn get<A: Array + 'static>(self, name: &str) -> &'a A {
        let column = match self {
            Self::Table(batch) => batch.column_by_name(name),
            Self::Struct(array) => array.column_by_name(name),
        };
        column.and_then(|it| it.as_any().downcast_ref()).expect("the schema was checked")
    }

    pub(crate) fn binary(self, name: &str) -> &'a BinaryArray {
        self.get(name)
    }

    pub(crate) fn int64(self, name: &str) -> &'a Int64Array {
        self.get(name)
    }

    pub(crate) fn string(self, name: &str) -> &'a StringArray {
        self.get(name)
    }

    pub(crate) fn boolean(self, name: &str) -> &'a BooleanArray {
        self.get(name)
    }

    pub(crate) fn structure(self, name: &str) -> &'a StructArray {
        self.get(name)
    }

    /// Returns a list of structs: the list, and the fields of all its entries.
    pub(crate) fn list(self, name: &str) -> (&'a ListArray, Columns<'a>) {
        let list: &ListArray = self.get(name);
        let entries = list.values().as_any().downcast_ref().expect("the schema was checked");
        (list, Columns::Struct(entries))
    }
}
