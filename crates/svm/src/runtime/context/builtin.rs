//! Programs that are part of the runtime, and instructions that are verified instead of run.
//!
//! Which there are, and what they do, others decide: here is how they are called.

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

/// What a builtin program does with the current instruction. It charges for itself: one that
/// succeeds without having used compute units fails with
/// [`InstructionError::BuiltinProgramsMustConsumeComputeUnits`].
pub type Process = dyn Fn(&mut InvokeContext<'_>) -> Result<(), InstructionError> + Send + Sync;

/// A program that is part of the runtime.
#[derive(Clone)]
pub struct Builtin {
    /// A name for people.
    pub name: &'static str,
    process: Arc<Process>,
}

impl Builtin {
    /// A program that does this.
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

/// What is at a few addresses, in their order. Every instruction looks into it, so comparing with
/// all must be quick, as it is with first bytes.
#[derive(Clone, Debug)]
struct Table<T>(Vec<(Pubkey, T)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    fn get(&self, id: &Pubkey) -> Option<&T> {
        self.0.iter().find(|(known, _)| is_same(known, id)).map(|(_, found)| found)
    }

    fn insert(&mut self, id: Pubkey, value: T) {
        match self.0.binary_search_by_key(&id, |(known, _)| *known) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (id, value)),
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
    /// Puts a program at an address, in place of what was there.
    pub fn insert(&mut self, id: Pubkey, builtin: Builtin) {
        Arc::make_mut(&mut self.0).insert(id, builtin);
    }

    /// Takes a program away.
    pub fn remove(&mut self, id: &Pubkey) {
        Arc::make_mut(&mut self.0).remove(id);
    }

    /// The program at an address.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&Builtin> {
        self.0.get(id)
    }

    /// Every program, by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &Builtin)> {
        self.0.iter()
    }
}

/// Verifies an instruction: its data, and the data of all instructions of the transaction, which
/// it may refer to. The error is the number of an [`InstructionError::Custom`].
pub type Verify = fn(data: &[u8], all: &[&[u8]]) -> Result<(), u32>;

/// An instruction that is verified, and not run.
#[derive(Clone, Copy, Debug)]
pub struct Precompile {
    /// A name for people.
    pub name: &'static str,
    /// What switches it on, if it is not always there.
    pub feature: Option<Feature>,
    /// How it is verified.
    pub verify: Verify,
}

/// The precompiles, by address.
#[derive(Clone, Default, Debug)]
pub struct Precompiles(Arc<Table<Precompile>>);

impl Precompiles {
    /// Puts a precompile at an address, in place of what was there.
    pub fn insert(&mut self, id: Pubkey, precompile: Precompile) {
        Arc::make_mut(&mut self.0).insert(id, precompile);
    }

    /// The precompile at an address, if it is there with these features.
    #[must_use]
    pub fn get(&self, id: &Pubkey, features: FeatureSet) -> Option<&Precompile> {
        let found = self.0.get(id)?;
        found.feature.is_none_or(|feature| features.has(feature)).then_some(found)
    }

    /// Every precompile, by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &Precompile)> {
        self.0.iter()
    }
}
