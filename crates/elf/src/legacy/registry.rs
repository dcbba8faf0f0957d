//! The functions that relocation finds, by call key. Source: anza sbpf `program.rs`,
//! `register_function_hashed_legacy`.

use std::collections::BTreeMap;

use selkie_isa::{
    layout::SLOT_BYTES,
    symbol::{ENTRYPOINT, ENTRYPOINT_KEY, pc_key},
};

use crate::{Environment, Functions, error::ElfError, header::SectionHeader};

/// The functions registered so far.
///
/// Keys of slots cannot collide with each other, since [`pc_key`] is one-to-one. They can collide
/// with the key of `entrypoint`, which is the hash of the name, and with those of syscalls.
pub(super) struct Registry<'a> {
    environment: &'a Environment,
    /// One bit per slot of `.text`, set if a function is registered there.
    registered: Vec<u64>,
    /// Key and slot of each function except `entrypoint`.
    functions: Vec<(u32, u32)>,
    /// Names by slot, kept only if [`Environment::labels`] is set.
    names: BTreeMap<u32, String>,
    entrypoint: Option<u32>,
}

impl<'a> Registry<'a> {
    pub(super) fn new(
        environment: &'a Environment,
        text: &SectionHeader,
    ) -> Result<Self, ElfError> {
        // Functions lie in `.text`, whose size the size of the file bounds.
        let slots = u32::try_from(text.sh_size / SLOT_BYTES as u64 + 1);
        let words = slots.map(|slots| slots.div_ceil(u64::BITS)).ok();
        let words = words.and_then(|words| usize::try_from(words).ok());
        let registered = vec![0; words.ok_or(ElfError::ValueOutOfBounds)?];
        Ok(Self {
            environment,
            registered,
            functions: Vec::new(),
            names: BTreeMap::new(),
            entrypoint: None,
        })
    }

    /// Registers a function under the name of its symbol and returns its key.
    pub(super) fn register_symbol(&mut self, pc: u64, name: &[u8]) -> Result<u32, ElfError> {
        let pc = u32::try_from(pc).map_err(|_| ElfError::ValueOutOfBounds)?;
        match name == ENTRYPOINT.as_bytes() {
            true => self.register_entrypoint(pc),
            false => self.register(pc, || String::from_utf8_lossy(name).into_owned()),
        }
    }

    /// Registers the function at a slot and returns its key. The first name of a slot is kept.
    #[inline]
    pub(super) fn register(
        &mut self,
        pc: u32,
        name: impl FnOnce() -> String,
    ) -> Result<u32, ElfError> {
        let key = pc_key(pc);
        let index = usize::try_from(pc / u64::BITS).ok();
        let word = index.and_then(|it| self.registered.get_mut(it));
        let word = word.ok_or(ElfError::ValueOutOfBounds)?;
        let bit = 1 << (pc % u64::BITS);
        if *word & bit == 0 {
            *word |= bit;
            self.register_new(key, pc, name)?;
        }
        Ok(key)
    }

    fn register_new(
        &mut self,
        key: u32,
        pc: u32,
        name: impl FnOnce() -> String,
    ) -> Result<(), ElfError> {
        if key == ENTRYPOINT_KEY {
            return self.register_entrypoint(pc).map(|_| ());
        }
        self.check_syscalls(key)?;
        if self.environment.labels {
            self.names.insert(pc, name());
        }
        self.functions.push((key, pc));
        Ok(())
    }

    fn register_entrypoint(&mut self, pc: u32) -> Result<u32, ElfError> {
        self.check_syscalls(ENTRYPOINT_KEY)?;
        match *self.entrypoint.get_or_insert(pc) == pc {
            true => Ok(ENTRYPOINT_KEY),
            false => Err(ElfError::SymbolHashCollision(ENTRYPOINT_KEY)),
        }
    }

    fn check_syscalls(&self, key: u32) -> Result<(), ElfError> {
        match self.environment.syscalls.find(key) {
            Some(_) => Err(ElfError::SymbolHashCollision(key)),
            None => Ok(()),
        }
    }

    /// Makes `pc` the entrypoint, in place of a symbol of that name, and returns it.
    pub(super) fn set_entry(&mut self, pc: u64) -> Result<u32, ElfError> {
        let pc = u32::try_from(pc).map_err(|_| ElfError::ValueOutOfBounds)?;
        self.entrypoint = None;
        self.register_entrypoint(pc)?;
        Ok(pc)
    }

    pub(super) fn finish(mut self) -> Functions {
        self.functions.extend(self.entrypoint.map(|pc| (ENTRYPOINT_KEY, pc)));
        Functions::of_distinct(self.functions, |key, pc| match key {
            ENTRYPOINT_KEY => ENTRYPOINT.to_owned(),
            _ => self.names.remove(&pc).unwrap_or_default(),
        })
    }
}
