//! The interface of builtin programs and precompiles. Other crates implement and register them.

use core::fmt;
use std::sync::Arc;

use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        account::is_same,
        features::{Feature, FeatureSet},
    },
    runtime::context::InvokeContext,
};

/// The entrypoint of a builtin program, which processes the current instruction. It consumes its own
/// compute units: success without consuming any is the error
/// [`InstructionError::BuiltinProgramsMustConsumeComputeUnits`].
pub type Process = dyn Fn(&mut InvokeContext<'_>) -> Result<(), InstructionError> + Send + Sync;

/// A builtin program.
#[derive(Clone)]
pub struct Builtin {
    /// The name for display.
    pub name: &'static str,
    process: Arc<Process>,
}

impl Builtin {
    /// Creates a builtin program from its entrypoint.
    pub fn new(
        name: &'static str,
        process: impl Fn(&mut InvokeContext<'_>) -> Result<(), InstructionError> + Send + Sync + 'static,
    ) -> Self {
        Self { name, process: Arc::new(process) }
    }

    pub(crate) fn process(&self, context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
        (self.process)(context)
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A small map, sorted by address. Every instruction searches it linearly, which is fast since most
/// comparisons end with the first bytes.
#[derive(Clone, Debug)]
struct Table<T>(Vec<(Pubkey, T)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    fn get(&self, id: &Pubkey) -> Option<&T> {
        self.0.iter().find(|(known, _)| is_same(known, id)).map(|(_, value)| value)
    }

    fn insert(&mut self, id: Pubkey, value: T) {
        match self.0.binary_search_by_key(&id, |(known, _)| *known) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.0.insert(index, (id, value)),
        }
    }

    fn remove(&mut self, id: &Pubkey) {
        self.0.retain(|(known, _)| known != id);
    }

    fn iter(&self) -> impl Iterator<Item = (&Pubkey, &T)> {
        self.0.iter().map(|(id, value)| (id, value))
    }
}

/// The builtin programs, by address.
#[derive(Clone, Default, Debug)]
pub struct Builtins(Arc<Table<Builtin>>);

impl Builtins {
    /// Inserts a program at an address, and replaces the one before.
    pub fn insert(&mut self, id: Pubkey, builtin: Builtin) {
        Arc::make_mut(&mut self.0).insert(id, builtin);
    }

    /// Removes a program.
    pub fn remove(&mut self, id: &Pubkey) {
        Arc::make_mut(&mut self.0).remove(id);
    }

    /// Returns the program at an address.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&Builtin> {
        self.0.get(id)
    }

    /// Returns every program, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &Builtin)> {
        self.0.iter()
    }
}

/// The entrypoint of a precompile: verifies the instruction's data, which may refer to the data of all
/// instructions of the transaction. The error is the number of an [`InstructionError::Custom`].
pub type Verify = fn(data: &[u8], all: &[&[u8]]) -> Result<(), u32>;

/// A precompile: a program whose instructions are verified without running code in the VM.
#[derive(Clone, Copy, Debug)]
pub struct Precompile {
    /// The name for display.
    pub name: &'static str,
    /// The feature that enables it, if any.
    pub feature: Option<Feature>,
    /// The entrypoint.
    pub verify: Verify,
}

/// The precompiles, by address.
#[derive(Clone, Default, Debug)]
pub struct Precompiles(Arc<Table<Precompile>>);

impl Precompiles {
    /// Inserts a precompile at an address, and replaces the one before.
    pub fn insert(&mut self, id: Pubkey, precompile: Precompile) {
        Arc::make_mut(&mut self.0).insert(id, precompile);
    }

    /// Returns the precompile at an address, if these features enable it.
    #[must_use]
    pub fn get(&self, id: &Pubkey, features: FeatureSet) -> Option<&Precompile> {
        let precompile = self.0.get(id)?;
        precompile.feature.is_none_or(|feature| features.has(feature)).then_some(precompile)
    }

    /// Returns every precompile, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &Precompile)> {
        self.0.iter()
    }
}
