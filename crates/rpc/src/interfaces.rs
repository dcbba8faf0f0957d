//! [`Interfaces`]: descriptions of programs' interfaces (IDLs), by which instructions, accounts and errors have
//! names.
//!
//! | where a description is from | when it is used |
//! |---|---|
//! | a client: `selkie_setIdl` | first |
//! | a file, which the server's [`Explainer`](crate::Explainer) finds | else |
//! | the account of Program Metadata, or Anchor's older one | else, on chain |
//!
//! `selkie_layout::interface` has what the two accounts begin with.

use core::fmt;
use std::{
    collections::BTreeMap,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
};

use flate2::read::{GzDecoder, ZlibDecoder};
use selkie_idl::{ErrorRow, Idl};
use selkie_layout::{
    account::Layout,
    instruction::Instruction,
    interface::{
        ANCHOR_IDL_HEADER, ANCHOR_SEED, METADATA, METADATA_HEADER, METADATA_SEED, MetadataHeader,
    },
    program,
};
use serde_json::Value;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::error::RpcError;

/// The longest description, in bytes.
pub(crate) const TEXT_BYTES_MAX: u64 = 4 << 20;
/// The most programs whose descriptions clients may give, and of which those on chain are kept.
const PROGRAMS_MAX: usize = 256;

/// The description of a program's interface.
pub struct Interface {
    /// Where it is from, for people.
    pub(crate) origin: String,
    pub(crate) idl: Idl,
}

impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interface({})", self.origin)
    }
}

impl Interface {
    /// Reads a description of Anchor's or Codama's; `origin` tells people where it is from.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(origin: impl Into<String>, text: &str) -> Result<Self, selkie_idl::IdlError> {
        Ok(Self { origin: origin.into(), idl: Idl::read(text)? })
    }
}

/// Where descriptions are looked for.
pub(crate) trait Source {
    /// Returns an account.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData>;
    /// Returns the description of a program that a file on this machine has.
    fn file(&self, program: &Pubkey) -> Option<Arc<Interface>>;
    /// Fetches accounts from the cluster that the node is a fork of. If that does not answer, they are missing.
    fn fetch(&self, keys: &[Pubkey]);
}

/// The descriptions that the server knows.
#[derive(Default, Debug)]
pub(crate) struct Interfaces {
    given: Mutex<BTreeMap<Pubkey, Arc<Interface>>>,
    on_chain: Mutex<BTreeMap<Pubkey, OnChain>>,
}

/// The accounts that may describe a program, and what was read from them.
#[derive(Debug)]
struct OnChain {
    accounts: [Pubkey; 2],
    read: Option<(AccountSharedData, Option<Arc<Interface>>)>,
}

impl Interfaces {
    /// Keeps the description that a client gives, or forgets it.
    ///
    /// # Errors
    /// If it is none, or too many are kept.
    pub(crate) fn set(&self, program: Pubkey, json: Option<&Value>) -> Result<(), RpcError> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(json) = json else {
            given.remove(&program);
            return Ok(());
        };
        if given.len() >= PROGRAMS_MAX && !given.contains_key(&program) {
            let text = format!("descriptions of {PROGRAMS_MAX} programs are kept already");
            return Err(RpcError::invalid_params(text));
        }
        let idl = Idl::of_json(json);
        let idl = idl.map_err(|error| RpcError::invalid_params(error.to_string()))?;
        if idl.instructions.is_empty() && idl.accounts.is_empty() && idl.errors.is_empty() {
            let text = "not an interface description: it has no instructions";
            return Err(RpcError::invalid_params(text));
        }
        given.insert(program, Arc::new(Interface { origin: "uploaded".to_owned(), idl }));
        Ok(())
    }

    /// Returns the description of a program.
    pub(crate) fn find(&self, source: &dyn Source, program: &Pubkey) -> Option<Arc<Interface>> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner).get(program).cloned();
        given.or_else(|| source.file(program)).or_else(|| self.on_chain(source, program))
    }

    /// Returns the layout of an account's data, and where it is from.
    pub(crate) fn account(
        &self,
        source: &dyn Source,
        owner: &Pubkey,
        data: &[u8],
    ) -> Option<(Layout, String)> {
        if let Some(known) = program::account(owner, data) {
            return Some((known.clone(), BUILT_IN.to_owned()));
        }
        if program::find(owner).is_some() {
            return None;
        }
        let interface = self.find(source, owner)?;
        Some((interface.idl.account(data)?.clone(), interface.origin.clone()))
    }

    /// Returns the row of an instruction.
    pub(crate) fn instruction(
        &self,
        source: &dyn Source,
        program: &Pubkey,
        data: &[u8],
    ) -> Option<Instruction> {
        if let Some(known) = program::find(program) {
            return known.instruction(data).cloned();
        }
        self.find(source, program)?.idl.instruction(data).cloned()
    }

    /// Returns the error of a program with a code.
    pub(crate) fn error(
        &self,
        source: &dyn Source,
        program: &Pubkey,
        code: u32,
    ) -> Option<ErrorRow> {
        use selkie_layout::errors;
        let known = |it: errors::ErrorName| ErrorRow {
            code,
            name: it.name.into_owned(),
            message: it.message,
        };
        if let Some(found) = errors::find(program, code) {
            return Some(known(found));
        }
        let interface = self.find(source, program)?;
        let described = interface.idl.error(code).cloned();
        described.or_else(|| errors::anchor(code).map(known))
    }

    fn on_chain(&self, source: &dyn Source, program: &Pubkey) -> Option<Arc<Interface>> {
        let all = || self.on_chain.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !all().contains_key(program);
        if is_new {
            let accounts = describing(program)?;
            source.fetch(&accounts);
            let mut all = all();
            if all.len() >= PROGRAMS_MAX {
                all.clear();
            }
            all.insert(*program, OnChain { accounts, read: None });
        }
        let mut all = all();
        let known = all.get_mut(program)?;
        let mut accounts = known.accounts.iter();
        let (key, account) = accounts.find_map(|key| Some((key, source.account(key)?)))?;
        if let Some((old, interface)) = &known.read
            && *old == account
        {
            return interface.clone();
        }
        let text = text_of(&account);
        let interface =
            text.and_then(|text| Interface::read(format!("on chain, in {key}"), &text).ok());
        let interface = interface.map(Arc::new);
        known.read = Some((account, interface.clone()));
        interface
    }
}

/// Where rows are from that are a part of Selkie.
pub(crate) const BUILT_IN: &str = "built in";

/// Returns the addresses of the accounts that may describe a program.
fn describing(program: &Pubkey) -> Option<[Pubkey; 2]> {
    let seeds = [program.as_ref(), &METADATA_SEED];
    let metadata = Pubkey::find_program_address(&seeds, &METADATA).0;
    let base = Pubkey::find_program_address(&[], program).0;
    let anchor = Pubkey::create_with_seed(&base, ANCHOR_SEED, program).ok()?;
    Some([metadata, anchor])
}

/// Returns the description that an account has.
fn text_of(account: &AccountSharedData) -> Option<String> {
    let data = account.data();
    if *account.owner() == METADATA {
        let header = MetadataHeader::at_start_of(data)?;
        let bytes = behind(data, METADATA_HEADER.bytes, header.data_length)?;
        let is_plain_json = header.encoding <= 1 && header.format == 1 && header.data_source == 0;
        return match header.compression {
            _ if !is_plain_json => None,
            0 => read(bytes),
            1 => read(GzDecoder::new(bytes)),
            2 => read(ZlibDecoder::new(bytes)),
            _ => None,
        };
    }
    let length = ANCHOR_IDL_HEADER.data_length.get(data)?;
    read(ZlibDecoder::new(behind(data, ANCHOR_IDL_HEADER.bytes, length)?))
}

/// Returns the bytes behind a header.
fn behind(data: &[u8], header_bytes: usize, length: u32) -> Option<&[u8]> {
    data.get(header_bytes..)?.get(..usize::try_from(length).ok()?)
}

/// Reads text, which may be much longer than its compressed form.
fn read(bytes: impl Read) -> Option<String> {
    let mut text = String::new();
    bytes.take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{
        Compression,
        write::{GzEncoder, ZlibEncoder},
    };

    use solana_account::WritableAccount as _;

    use super::*;

    const IDL: &str = r#"{"instructions":[],"errors":[{"code":6000,"name":"Overflow"}]}"#;

    fn account(owner: Pubkey, data: Vec<u8>) -> AccountSharedData {
        let mut account = AccountSharedData::default();
        account.set_owner(owner);
        account.set_data_from_slice(&data);
        account
    }

    fn metadata(header: [u8; 4], bytes: &[u8]) -> AccountSharedData {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let start = [&[2][..], &[0; 66], b"idl", &[0; 13], &header, &length, &[0; 5]].concat();
        assert_eq!(start.len(), 96);
        account(METADATA, [&start, bytes].concat())
    }

    #[test]
    fn descriptions_on_chain_are_unpacked() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(IDL.as_bytes()).unwrap();
        let zlib = zlib.finish().unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(IDL.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        for (header, bytes) in
            [([1, 2, 1, 0], &zlib[..]), ([1, 1, 1, 0], &gzip), ([0, 0, 1, 0], IDL.as_bytes())]
        {
            assert_eq!(text_of(&metadata(header, bytes)).as_deref(), Some(IDL), "{header:?}");
        }
        // Another encoding, another format, a URL.
        for header in [[3, 0, 1, 0], [1, 0, 2, 0], [1, 0, 1, 1]] {
            assert_eq!(text_of(&metadata(header, IDL.as_bytes())), None, "{header:?}");
        }
        let length = u32::try_from(zlib.len()).unwrap().to_le_bytes();
        let anchor = [&[0; 40][..], &length, &zlib, &[0; 9]].concat();
        let owner = Pubkey::new_unique();
        assert_eq!(text_of(&account(owner, anchor.clone())).as_deref(), Some(IDL));
        for cut in [0, 39, 43, 50] {
            assert_eq!(text_of(&account(owner, anchor[..cut].to_vec())), None, "{cut}");
        }
    }
}
