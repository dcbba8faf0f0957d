//! Instructions of programs, as rows.

use crate::{
    kind::{Entry, Field, Name, Ref, read_fields},
    role::{Role, Take},
    wire::{Malformed, Reader},
};

/// An instruction of a program.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The bytes that its data begin with.
    pub tag: Ref<[u8]>,
    /// Its name.
    pub name: Name,
    /// The accounts that it takes.
    pub roles: Ref<[Role]>,
    /// How many accounts there must be, if they are not told by their roles.
    pub accounts_min: usize,
    /// What follows the first bytes of its data.
    pub fields: Ref<[Field]>,
}

impl Instruction {
    /// Reads the fields of its data; bytes after the last field are ignored.
    ///
    /// # Errors
    /// If the data do not begin with its bytes, or have other fields.
    pub fn read<'a>(&'a self, data: &'a [u8]) -> Result<Vec<Entry<'a>>, Malformed> {
        let data = data.strip_prefix(&*self.tag).ok_or(Malformed)?;
        read_fields(&self.fields, &mut Reader::new(data))
    }

    /// Returns the role of an account by its index: of lists, that of all their accounts.
    #[must_use]
    pub fn role(&self, index: usize) -> Option<&Role> {
        self.roles.get(index).or_else(|| {
            let last = self.roles.last()?;
            matches!(last.take, Take::Rest | Take::Some | Take::Last).then_some(last)
        })
    }
}
