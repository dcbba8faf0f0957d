//! Record batches and schemas from and to other libraries, by Arrow's PyCapsule interface.

use std::{
    ffi::CStr,
    sync::{Mutex, PoisonError},
};

use arrow_array::{
    Array as _, RecordBatch, RecordBatchReader as _, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi},
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use arrow_schema::SchemaRef;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyCapsule,
};

use crate::errors::{detached, exception};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A record batch, which other libraries take by `__arrow_c_array__`.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface permits to ignore the wish for another schema.
        drop(requested_schema);
        let data = StructArray::from(self.0.clone()).into_data();
        let (array, schema) = to_ffi(&data).map_err(exception)?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        Ok((schema, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

/// A schema, which other libraries take by `__arrow_c_schema__`.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct BatchSchema(pub(crate) SchemaRef);

#[pymethods]
impl BatchSchema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.0)
    }
}

fn export_schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(exception)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Takes a batch from another library.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    if let Ok(batch) = object.cast::<Batch>() {
        return Ok(batch.get().0.clone());
    }
    let Ok(method) = object.getattr("__arrow_c_array__") else {
        let name = object.get_type();
        return Err(PyTypeError::new_err(format!("{name} is no Arrow record batch")));
    };
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        method.call0()?.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules with these names hold such structs, which stay until the capsules are dropped
    // at the end of this function. The array is moved out and its release callback cleared, as the
    // interface asks of consumers.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        from_ffi(array, schema.as_ref())
    };
    let data = data.map_err(invalid)?;
    data.validate_full().map_err(invalid)?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        let found = format!("an array of {} is no record batch", data.data_type());
        return Err(PyTypeError::new_err(found));
    }
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(PyValueError::new_err("a record batch has rows that are null"));
    }
    Ok(RecordBatch::from(rows))
}

fn invalid(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(format!("the record batch is invalid: {error}"))
}

/// The batches of a stream of another library.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct BatchStream(Mutex<RecordBatchStreamReader>);

#[pymethods]
impl BatchStream {
    #[new]
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: capsules with this name hold such a struct, which is moved out and its release
        // callback cleared, as the interface asks of consumers.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        Ok(Self(Mutex::new(reader.map_err(invalid)?)))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = detached(py, || self.reader().next().transpose())?.map_err(invalid)?;
        let Some(batch) = next else { return Ok(None) };
        let data = StructArray::from(batch.clone()).into_data();
        data.validate_full().map_err(invalid)?;
        Ok(Some(Batch(batch)))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.reader().schema())
    }
}

impl BatchStream {
    fn reader(&self) -> std::sync::MutexGuard<'_, RecordBatchStreamReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
