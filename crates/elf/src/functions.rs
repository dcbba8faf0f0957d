//! The functions of a program, by the key that calls know them by.

use crate::error::ElfError;

/// A function of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name; empty if it has none or names were not asked for.
    pub name: String,
    /// The slot of its first instruction.
    pub pc: u32,
}

/// The functions of a program by key: until V2 the immediate of a call, from V3 the slot.
///
/// Sorted by key, so that iteration is the same in every run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Functions {
    /// Ascending. By themselves, so that a search touches little memory.
    keys: Vec<u32>,
    /// The function of each key.
    functions: Vec<Function>,
}

impl Functions {
    /// Registers many functions at once, whatever their order. Of two under one key the first
    /// stays.
    ///
    /// # Errors
    /// If a key stands for two slots ([`ElfError::SymbolHashCollision`]).
    pub fn new(mut entries: Vec<(u32, Function)>) -> Result<Self, ElfError> {
        entries.sort_by_key(|&(key, _)| key);
        let mut collision = None;
        entries.dedup_by(|(key, later), (earlier_key, earlier)| {
            let same_key = key == earlier_key;
            if same_key && later.pc != earlier.pc {
                collision = collision.or(Some(*key));
            }
            same_key
        });
        let (keys, functions) = entries.into_iter().unzip();
        collision
            .map_or(Ok(Self { keys, functions }), |key| Err(ElfError::SymbolHashCollision(key)))
    }

    /// Makes functions of keys, each of which comes once, and slots; names are asked for by both.
    pub(crate) fn of_distinct(
        mut entries: Vec<(u32, u32)>,
        mut name: impl FnMut(u32, u32) -> String,
    ) -> Self {
        entries.sort_unstable_by_key(|&(key, _)| key);
        let keys = entries.iter().map(|&(key, _)| key).collect();
        let functions = entries.into_iter().map(|(key, pc)| Function { name: name(key, pc), pc });
        Self { keys, functions: functions.collect() }
    }

    /// Registers a function. The same key for the same slot again changes nothing.
    ///
    /// Costs as much as there are functions unless keys come in ascending order: for many at once
    /// there is [`Functions::new`].
    ///
    /// # Errors
    /// If the key stands for another slot already ([`ElfError::SymbolHashCollision`]).
    pub fn register(&mut self, key: u32, pc: u32, name: impl Into<String>) -> Result<(), ElfError> {
        match self.get(key) {
            Some(function) if function.pc == pc => Ok(()),
            Some(_) => Err(ElfError::SymbolHashCollision(key)),
            None => {
                let position = self.position(key);
                self.keys.insert(position, key);
                self.functions.insert(position, Function { name: name.into(), pc });
                Ok(())
            }
        }
    }

    /// Forgets the function of a key.
    pub fn remove(&mut self, key: u32) -> Option<Function> {
        self.get(key)?;
        let position = self.position(key);
        self.keys.remove(position);
        Some(self.functions.remove(position))
    }

    /// The function of a key.
    #[must_use]
    pub fn get(&self, key: u32) -> Option<&Function> {
        let position = self.position(key);
        let found = self.keys.get(position)?;
        if *found == key { self.functions.get(position) } else { None }
    }

    /// Every function with its key, in the order of keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Function)> {
        self.keys.iter().copied().zip(&self.functions)
    }

    /// Where `key` is, or would be.
    fn position(&self, key: u32) -> usize {
        self.keys.partition_point(|&other| other < key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(pc: u32, name: &str) -> Function {
        Function { name: name.to_owned(), pc }
    }

    #[test]
    fn one_by_one_is_the_same_as_all_at_once() {
        let entries = [(9, 1, "c"), (2, 7, "a"), (5, 3, "b"), (2, 7, "late")];
        let mut one_by_one = Functions::default();
        for (key, pc, name) in entries {
            one_by_one.register(key, pc, name).unwrap();
        }
        let at_once = entries.map(|(key, pc, name)| (key, function(pc, name)));
        assert_eq!(Functions::new(at_once.to_vec()), Ok(one_by_one.clone()));
        assert_eq!(one_by_one.get(2), Some(&function(7, "a")));
        assert_eq!(one_by_one.get(3), None);
        assert_eq!(one_by_one.iter().map(|(key, _)| key).collect::<Vec<_>>(), [2, 5, 9]);
        assert_eq!(one_by_one.remove(5), Some(function(3, "b")));
        assert_eq!((one_by_one.remove(5), one_by_one.iter().len()), (None, 2));
    }

    #[test]
    fn one_key_stands_for_one_slot() {
        let mut functions = Functions::default();
        functions.register(1, 4, "").unwrap();
        assert_eq!(functions.register(1, 5, ""), Err(ElfError::SymbolHashCollision(1)));
        let entries = vec![(1, function(4, "")), (1, function(5, ""))];
        assert_eq!(Functions::new(entries), Err(ElfError::SymbolHashCollision(1)));
    }
}
