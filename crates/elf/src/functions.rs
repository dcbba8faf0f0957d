//! The functions of a program, by call key.

use crate::error::ElfError;

/// A function of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name; empty if it has none, or if [`Environment::labels`](crate::Environment::labels) is
    /// not set.
    pub name: String,
    /// The slot of its first instruction.
    pub pc: u32,
}

/// A map of functions by call key: until V2 the immediate of a call, from V3 the slot.
///
/// Iteration is in the order of keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Functions {
    /// Ascending. Separate from the functions, so that a binary search touches little memory.
    keys: Vec<u32>,
    /// The function of each key, in the order of `keys`.
    functions: Vec<Function>,
}

impl Functions {
    /// Makes a map of functions in any order. Of two entries with the same key and slot, the first
    /// is kept.
    ///
    /// # Errors
    /// If a key has two slots ([`ElfError::SymbolHashCollision`]).
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

    /// Makes a map of distinct keys and their slots. `name` returns the name for a key and slot.
    pub(crate) fn of_distinct(
        mut entries: Vec<(u32, u32)>,
        mut name: impl FnMut(u32, u32) -> String,
    ) -> Self {
        entries.sort_unstable_by_key(|&(key, _)| key);
        let keys = entries.iter().map(|&(key, _)| key).collect();
        let functions = entries.into_iter().map(|(key, pc)| Function { name: name(key, pc), pc });
        Self { keys, functions: functions.collect() }
    }

    /// Registers a function. A key that has the same slot already keeps its name.
    ///
    /// Takes time linear in the number of functions, unless keys are registered in ascending order.
    /// Use [`Functions::new`] to register many.
    ///
    /// # Errors
    /// If the key has another slot already ([`ElfError::SymbolHashCollision`]).
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

    /// Removes the function of a key and returns it.
    pub fn remove(&mut self, key: u32) -> Option<Function> {
        self.get(key)?;
        let position = self.position(key);
        self.keys.remove(position);
        Some(self.functions.remove(position))
    }

    /// Returns the function of a key.
    #[must_use]
    pub fn get(&self, key: u32) -> Option<&Function> {
        let position = self.position(key);
        if *self.keys.get(position)? == key { self.functions.get(position) } else { None }
    }

    /// Returns every function with its key, in the order of keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Function)> {
        self.keys.iter().copied().zip(&self.functions)
    }

    /// Returns the index of `key`, or the index at which it would be inserted.
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
    fn registering_one_by_one_equals_registering_all_at_once() {
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
    fn one_key_for_two_slots_is_a_collision() {
        let mut functions = Functions::default();
        functions.register(1, 4, "").unwrap();
        assert_eq!(functions.register(1, 5, ""), Err(ElfError::SymbolHashCollision(1)));
        let entries = vec![(1, function(4, "")), (1, function(5, ""))];
        assert_eq!(Functions::new(entries), Err(ElfError::SymbolHashCollision(1)));
    }
}
