//! The encoding `jsonParsed`: accounts and instructions with names.

pub(crate) mod accounts;
pub(crate) mod extensions;
pub(crate) mod instructions;
pub(crate) mod layout;
