//! The result of a transaction.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyBytes};
use selkie::{Account, FailedTransaction, Stage};

use crate::errors::exception;

/// An account: lamports, data, owner, whether it is executable, rent epoch.
pub(crate) type AccountTuple<'py> = (u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>, bool, u64);

/// Converts an account.
pub(crate) fn account_tuple(py: Python<'_>, account: Account) -> AccountTuple<'_> {
    let Account { lamports, data, owner, executable, rent_epoch } = account;
    let owner = PyBytes::new(py, owner.as_ref());
    (lamports, PyBytes::new(py, &data), owner, executable, rent_epoch)
}

/// An inner instruction: program index, account indexes, data, stack height.
type Inner<'py> = (u8, Bound<'py, PyBytes>, Bound<'py, PyBytes>, u8);

/// The result of a transaction.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct Receipt(Arc<selkie::Receipt>);

impl Receipt {
    /// Returns the receipt of a transaction that was sent, however it ended.
    pub(crate) fn of(sent: Result<Arc<selkie::Receipt>, FailedTransaction>) -> Self {
        Self(sent.unwrap_or_else(|failed| failed.receipt))
    }

    pub(crate) fn new(receipt: Arc<selkie::Receipt>) -> Self {
        Self(receipt)
    }
}

#[pymethods]
impl Receipt {
    /// The transaction error as in RPC's `err`, in JSON; `None` for success.
    #[getter]
    fn error_json(&self) -> PyResult<Option<String>> {
        let error = self.0.result.as_ref().err();
        error.map(|it| serde_json::to_string(it).map_err(exception)).transpose()
    }

    /// `executed`, `fees only` or `dropped`.
    #[getter]
    fn stage(&self) -> &'static str {
        match self.0.stage {
            Stage::Dropped => "dropped",
            Stage::FeesOnly => "fees only",
            Stage::Executed => "executed",
        }
    }

    #[getter]
    fn signature<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.signature().as_ref())
    }

    #[getter]
    fn slot(&self) -> u64 {
        self.0.slot
    }

    #[getter]
    fn logs(&self) -> Vec<String> {
        self.0.logs.clone()
    }

    #[getter]
    fn compute_units(&self) -> u64 {
        self.0.compute_units
    }

    #[getter]
    fn fee(&self) -> u64 {
        self.0.fee.total()
    }

    /// The program that returned data, and the data.
    #[getter]
    fn return_data<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let returned = self.0.return_data.as_ref()?;
        let program = PyBytes::new(py, returned.program_id.as_ref());
        Some((program, PyBytes::new(py, &returned.data)))
    }

    /// The inner instructions of each top-level instruction.
    #[getter]
    fn inner_instructions<'py>(&self, py: Python<'py>) -> Vec<Vec<Inner<'py>>> {
        let inner = |it: &selkie::InnerInstruction| {
            let (accounts, data) = (PyBytes::new(py, &it.accounts), PyBytes::new(py, &it.data));
            (it.program_index, accounts, data, it.stack_height)
        };
        let of_one = |list: &Vec<_>| list.iter().map(inner).collect();
        self.0.inner_instructions.iter().map(of_one).collect()
    }

    /// The accounts of the transaction after it, with their addresses.
    #[getter]
    fn post_accounts<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(Bound<'py, PyBytes>, Option<AccountTuple<'py>>)> {
        let after = |change: &selkie::AccountChange| {
            let account = change.after().map(|it| account_tuple(py, it.clone().into()));
            (PyBytes::new(py, change.key.as_ref()), account)
        };
        self.0.accounts.iter().map(after).collect()
    }

    /// The result for people: what ran, and why it failed.
    fn __str__(&self) -> String {
        self.0.to_string()
    }
}
