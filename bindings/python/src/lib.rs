//! The native part of the Python package `selkie`: chains over bytes, and batches over Arrow.
//!
//! `selkie/_native.pyi` has the types. Everything that computes runs without the interpreter's lock.
//! No thread outlives a call and none is started by the import, so a process may fork at any time
//! between calls.

mod arrow;
mod batch;
mod chain;
mod engine;
mod errors;
mod folder;
mod receipt;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SelkieError", module.py().get_type::<errors::SelkieError>())?;
    module.add("EngineCrash", module.py().get_type::<errors::EngineCrash>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::Batch>()?;
    module.add_class::<arrow::BatchSchema>()?;
    module.add_class::<arrow::BatchStream>()?;
    module.add_class::<batch::Base>()?;
    module.add_class::<batch::Digest>()?;
    module.add_class::<chain::Chain>()?;
    module.add_class::<folder::Run>()?;
    module.add_class::<receipt::Receipt>()?;
    module.add_function(wrap_pyfunction!(folder::read_base, module)?)?;
    module.add_function(wrap_pyfunction!(folder::remove_results, module)?)?;
    module.add_function(wrap_pyfunction!(folder::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(folder::verify, module)?)?;
    module.add_function(wrap_pyfunction!(folder::diff, module)?)?;
    module.add_function(wrap_pyfunction!(batch::run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(batch::items_schema, module)?)?;
    module.add_function(wrap_pyfunction!(batch::results_schema, module)?)?;
    module.add_function(wrap_pyfunction!(batch::contents_schema, module)?)?;
    module.add_function(wrap_pyfunction!(chain::keypair_bytes, module)?)
}
