//! A chain whose methods take and return bytes.

use std::sync::{Mutex, PoisonError};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use selkie::{Account, AccountFilter, Loader, Pubkey, Signature, Signer as _, Svm};

use crate::{
    engine::engine,
    errors::{detached, exception},
    receipt::{AccountTuple, Receipt, account_tuple},
};

/// An address.
type Key = [u8; 32];

/// The clock: slot, start of the epoch, epoch, epoch of the leader schedule, time in seconds.
type ClockTuple = (u64, i64, u64, u64, i64);

/// A chain.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct Chain(Mutex<Svm>);

impl Chain {
    /// Runs `work` on the chain without the interpreter's lock. Threads wait for each other here, and
    /// none of them holds the interpreter's lock meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Svm) -> T + Send,
    ) -> PyResult<T> {
        detached(py, || work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the settings of the chain.
    fn set(&self, py: Python<'_>, set: impl FnOnce(Svm) -> Svm + Send) -> PyResult<()> {
        self.with(py, |svm| *svm = set(svm.clone()))
    }
}

#[pymethods]
impl Chain {
    #[new]
    fn new(py: Python<'_>, engine: &str) -> PyResult<Self> {
        let engine = self::engine(engine)?;
        let svm = detached(py, || Svm::new().with_engine(engine))?;
        Ok(Self(Mutex::new(svm)))
    }

    /// Returns a chain with the same state, which then changes independently.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self(Mutex::new(self.with(py, |svm| svm.clone())?)))
    }

    fn send(&self, py: Python<'_>, transaction: &[u8]) -> PyResult<Receipt> {
        Ok(Receipt::of(self.with(py, |svm| svm.send(transaction))?))
    }

    fn simulate(&self, py: Python<'_>, transaction: &[u8]) -> PyResult<Receipt> {
        Ok(Receipt::of(self.with(py, |svm| svm.simulate(transaction))?))
    }

    fn transaction(&self, py: Python<'_>, signature: [u8; 64]) -> PyResult<Option<Receipt>> {
        let found = self.with(py, |svm| svm.transaction(&Signature::from(signature)).cloned())?;
        Ok(found.map(Receipt::new))
    }

    fn airdrop(&self, py: Python<'_>, key: Key, lamports: u64) -> PyResult<()> {
        self.with(py, |svm| svm.airdrop(&key.into(), lamports))?.map_err(exception)
    }

    fn balance(&self, py: Python<'_>, key: Key) -> PyResult<Option<u64>> {
        self.with(py, |svm| svm.shared_account(&key.into()).map(|_| svm.balance(&key.into())))
    }

    fn account<'py>(&self, py: Python<'py>, key: Key) -> PyResult<Option<AccountTuple<'py>>> {
        let account = self.with(py, |svm| svm.account(&key.into()))?;
        Ok(account.map(|it| account_tuple(py, it)))
    }

    #[expect(clippy::too_many_arguments, reason = "these are the fields of an account")]
    fn set_account(
        &self,
        py: Python<'_>,
        key: Key,
        lamports: u64,
        data: &[u8],
        owner: Key,
        executable: bool,
        rent_epoch: u64,
    ) -> PyResult<()> {
        let (data, owner) = (data.to_vec(), owner.into());
        let account = Account { lamports, data, owner, executable, rent_epoch };
        self.with(py, |svm| svm.set_account(key.into(), account))?.map_err(exception)
    }

    fn program_accounts<'py>(
        &self,
        py: Python<'py>,
        program: Key,
        size: Option<usize>,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, AccountTuple<'py>)>> {
        let filters: Vec<_> = size.map(AccountFilter::DataSize).into_iter().collect();
        let found = self.with(py, |svm| svm.program_accounts(&program.into(), &filters))?;
        let pair = |(key, account): (Pubkey, Account)| {
            (PyBytes::new(py, key.as_ref()), account_tuple(py, account))
        };
        Ok(found.into_iter().map(pair).collect())
    }

    /// Adds a program of an ELF file, owned by the loader with this address, or by loader v3.
    fn add_program(
        &self,
        py: Python<'_>,
        id: Key,
        elf: &[u8],
        loader: Option<Key>,
    ) -> PyResult<()> {
        let loader = loader.map_or(Some(Loader::V3), |it| Loader::of(&it.into()));
        let loader = loader.ok_or_else(|| PyValueError::new_err("this is no loader's address"))?;
        let added = self.with(py, |svm| svm.add_program_with_loader(id.into(), elf, loader))?;
        added.map_err(exception)
    }

    /// Adds a program from a path, so that failures of it can show its sources.
    fn add_program_from_file(&self, py: Python<'_>, id: Key, path: &str) -> PyResult<()> {
        self.with(py, |svm| svm.add_program(id.into(), path))?.map_err(exception)
    }

    fn latest_blockhash<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |svm| svm.latest_blockhash())?.to_bytes()))
    }

    fn expire_blockhash(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |svm| _ = svm.expire_blockhash())
    }

    fn slot(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |svm| svm.slot())
    }

    fn warp_to_slot(&self, py: Python<'_>, slot: u64) -> PyResult<()> {
        self.with(py, |svm| svm.warp_to_slot(slot))?.map_err(exception)
    }

    fn clock(&self, py: Python<'_>) -> PyResult<ClockTuple> {
        let it = self.with(py, |svm| svm.clock())?;
        let leaders = it.leader_schedule_epoch;
        Ok((it.slot, it.epoch_start_timestamp, it.epoch, leaders, it.unix_timestamp))
    }

    fn set_clock(&self, py: Python<'_>, clock: ClockTuple) -> PyResult<()> {
        let (slot, epoch_start_timestamp, epoch, leader_schedule_epoch, unix_timestamp) = clock;
        let clock = selkie::Clock {
            slot,
            epoch_start_timestamp,
            epoch,
            leader_schedule_epoch,
            unix_timestamp,
        };
        self.with(py, |svm| svm.set_clock(&clock))
    }

    fn minimum_balance_for_rent_exemption(&self, py: Python<'_>, size: usize) -> PyResult<u64> {
        self.with(py, |svm| svm.minimum_balance_for_rent_exemption(size))
    }

    fn set_signature_checks(&self, py: Python<'_>, checks: bool) -> PyResult<()> {
        self.set(py, |svm| svm.with_signature_checks(checks))
    }

    fn set_blockhash_checks(&self, py: Python<'_>, checks: bool) -> PyResult<()> {
        self.set(py, |svm| svm.with_blockhash_checks(checks))
    }

    fn set_history(&self, py: Python<'_>, capacity: usize) -> PyResult<()> {
        self.set(py, |svm| svm.with_history(capacity))
    }

    fn set_log_bytes_limit(&self, py: Python<'_>, limit: Option<usize>) -> PyResult<()> {
        self.set(py, |svm| svm.with_log_bytes_limit(limit))
    }
}

/// Returns the keypair that a name stands for: the private key, followed by the public one.
#[pyfunction]
pub(crate) fn keypair_bytes<'py>(py: Python<'py>, name: &str) -> Bound<'py, PyBytes> {
    let keypair = selkie::keypair(name);
    PyBytes::new(py, &[keypair.secret_bytes().as_slice(), keypair.pubkey().as_ref()].concat())
}
