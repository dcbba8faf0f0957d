//! What the accounts of an instruction are for.

use solana_instruction::AccountMeta;
use solana_pubkey::Pubkey;

use crate::kind::{Name, Ref};

/// An account that an instruction takes.
#[derive(Clone, Debug)]
pub struct Role {
    /// Its name.
    pub name: Name,
    /// Whether it signs.
    pub is_signer: bool,
    /// Whether it may be written.
    pub is_writable: bool,
    /// Its address, if it is always the same.
    pub address: Option<Pubkey>,
    /// Which accounts have the role.
    pub take: Take,
}

/// Which accounts have a role: as a rule, the next one.
#[derive(Clone, Debug)]
pub enum Take {
    /// The next one, which must be there.
    One,
    /// The next one, if there are so many accounts in all; with 0, if it is there.
    Optional(usize),
    /// The next one. `jsonParsed` shows null if it is not there.
    OrNull,
    /// The next one, if it is there. `jsonParsed` shows it in the object of this field.
    Inside(&'static str),
    /// An authority. If accounts follow it, it is a multisignature account, under this name, and they are
    /// its signers.
    Authority(Option<&'static str>),
    /// All that remain.
    Rest,
    /// All that remain, at least one.
    Some,
    /// The last ones, as many as the field says that is shown as [`Count`](crate::kind::Show::Count).
    Last,
    /// That of one proof: its context state, or the instructions sysvar and perhaps a record.
    Proof,
    /// That of one proof: its context state, or the instructions sysvar.
    ContextOrSysvar,
    /// Those of several proofs, whose names these are.
    Proofs(Ref<[&'static str]>),
}

impl Role {
    const fn new(name: &'static str, is_signer: bool, is_writable: bool, take: Take) -> Self {
        Self { name: Name::Borrowed(name), is_signer, is_writable, address: None, take }
    }

    const fn with(self, take: Take) -> Self {
        let Self { name: Name::Borrowed(name), is_signer, is_writable, address, .. } = &self else {
            panic!("names of rows are borrowed");
        };
        let role = Self {
            name: Name::Borrowed(name),
            is_signer: *is_signer,
            is_writable: *is_writable,
            address: *address,
            take,
        };
        core::mem::forget(self);
        role
    }

    /// Makes the account one that may be absent.
    pub(crate) const fn optional(self) -> Self {
        self.with(Take::Optional(0))
    }

    /// Makes the account one that is there if there are so many accounts.
    pub(crate) const fn if_of(self, accounts: usize) -> Self {
        self.with(Take::Optional(accounts))
    }

    /// Makes the account one that may be absent, and is shown as null then.
    pub(crate) const fn or_null(self) -> Self {
        self.with(Take::OrNull)
    }

    /// Makes the account one that may be absent, and is shown in the object of a field.
    pub(crate) const fn inside(self, field: &'static str) -> Self {
        self.with(Take::Inside(field))
    }

    /// Makes the role that of all remaining accounts.
    pub(crate) const fn rest(self) -> Self {
        self.with(Take::Rest)
    }

    /// Makes the role that of all remaining accounts, of which there is at least one.
    pub(crate) const fn some(self) -> Self {
        self.with(Take::Some)
    }

    /// Makes the role that of the last accounts, whose number a field says.
    pub(crate) const fn last(self) -> Self {
        self.with(Take::Last)
    }
}

/// An account that is read.
pub(crate) const fn r(name: &'static str) -> Role {
    Role::new(name, false, false, Take::One)
}

/// An account that is written.
pub(crate) const fn w(name: &'static str) -> Role {
    Role::new(name, false, true, Take::One)
}

/// A signer.
pub(crate) const fn s(name: &'static str) -> Role {
    Role::new(name, true, false, Take::One)
}

/// A signer whose account is written.
pub(crate) const fn ws(name: &'static str) -> Role {
    Role::new(name, true, true, Take::One)
}

/// An account with this address, which is read.
pub(crate) const fn at(name: &'static str, address: Pubkey) -> Role {
    let mut role = r(name);
    role.address = Some(address);
    role
}

/// An authority, or a multisignature account with its signers.
pub(crate) const fn auth(name: &'static str) -> Role {
    Role::new(name, true, false, Take::Authority(None))
}

/// An authority, or a multisignature account of another name with its signers.
pub(crate) const fn auth_or(name: &'static str, multisig: &'static str) -> Role {
    Role::new(name, true, false, Take::Authority(Some(multisig)))
}

/// The accounts of one proof, with the name of its record.
pub(crate) const fn proof(record: &'static str) -> Role {
    Role::new(record, false, false, Take::Proof)
}

/// The account of one proof.
pub(crate) const fn context(name: &'static str) -> Role {
    Role::new(name, false, false, Take::ContextOrSysvar)
}

/// The accounts of several proofs.
pub(crate) const fn proofs(names: &'static [&'static str]) -> Role {
    Role::new("proofs", false, false, Take::Proofs(Ref::Static(names)))
}

/// Returns the accounts of an instruction by their roles. Roles with an address take no key; what is left
/// of the keys has the last role.
#[must_use]
pub fn metas(roles: &[Role], keys: &[Pubkey]) -> Vec<AccountMeta> {
    let meta = |role: &Role, pubkey| {
        let Role { is_signer, is_writable, .. } = *role;
        AccountMeta { pubkey, is_signer, is_writable }
    };
    let mut keys = keys.iter();
    let mut metas = Vec::with_capacity(roles.len());
    for role in roles {
        match role.address.or_else(|| keys.next().copied()) {
            Some(key) => metas.push(meta(role, key)),
            None => break,
        }
    }
    if let Some(last) = roles.last() {
        metas.extend(keys.map(|key| meta(last, *key)));
    }
    metas
}
