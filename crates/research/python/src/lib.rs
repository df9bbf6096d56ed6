//! The native part of the Python package `overheard_lab`.
//!
//! Python describes scenarios as data; the crates `lab` and `sim` check and run them. Everything crosses this
//! border as JSON text in the form of [`lab::Scenario`] and [`lab::Outcome`].

mod face;
mod simulated;

use pyo3::prelude::*;

/// The native part of `overheard_lab`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LabError", module.py().get_type::<face::LabError>())?;
    module.add_function(wrap_pyfunction!(face::check, module)?)?;
    module.add_function(wrap_pyfunction!(face::run, module)?)?;
    module.add_function(wrap_pyfunction!(face::written, module)?)?;
    module.add_function(wrap_pyfunction!(face::tunnel, module)?)?;
    module.add_function(wrap_pyfunction!(face::content, module)?)?;
    module.add_function(wrap_pyfunction!(face::random_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(face::preset, module)?)?;
    module.add_function(wrap_pyfunction!(face::estimate, module)?)?;
    module.add_function(wrap_pyfunction!(face::find_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(simulated::simulate, module)?)
}
