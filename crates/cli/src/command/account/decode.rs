//! Decodes the data of well-known accounts.

use selkie::{Account, Pubkey, ids, loader::State, programs, runtime::nonce::Nonce, system, token};
use selkie_client::{amount, lookup_addresses};
use serde_json::{Map, Value};

use crate::session::Session;

/// The type of an account and its fields.
pub(super) struct Decoded {
    pub(super) type_name: &'static str,
    pub(super) fields: Vec<(&'static str, String)>,
}

/// Returns the decoded fields as a JSON object, or null.
pub(super) fn json(decoded: &Option<Decoded>) -> Value {
    let Some(Decoded { type_name, fields }) = decoded else { return Value::Null };
    let mut object = Map::from_iter([("type".to_owned(), (*type_name).into())]);
    object.extend(fields.iter().map(|(name, value)| ((*name).replace(' ', "_"), value[..].into())));
    Value::Object(object)
}

/// Decodes the data of an account; `None` if its type is unknown.
pub(super) fn fields(session: &Session, key: &Pubkey, account: &Account) -> Option<Decoded> {
    let reader = Reader { session, data: &account.data };
    match account.owner {
        owner if [programs::TOKEN.id, programs::TOKEN_2022.id].contains(&owner) => reader.token(),
        system::ID => reader.nonce(),
        ids::bpf_loader_upgradeable::ID => reader.program(),
        ids::address_lookup_table::ID => reader.lookup_table(),
        ids::sysvar::ID => reader.sysvar(key),
        _ => None,
    }
}

/// Returns the mint of a token account, whose decimals are needed to show amounts.
pub(super) fn mint_of(account: &Account) -> Option<Pubkey> {
    let is_token = programs::is_token_program(&account.owner);
    let is_account = is_token && account.data.len() >= token::ACCOUNT_BYTES;
    let mint = account.data.first_chunk().filter(|_| is_account)?;
    Some(Pubkey::new_from_array(*mint))
}

/// Account data, and the session whose names are shown for addresses.
#[derive(Clone, Copy)]
struct Reader<'a> {
    session: &'a Session,
    data: &'a [u8],
}

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..)?.first_chunk().copied()
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    fn key(&self, at: usize) -> Option<Pubkey> {
        self.bytes(at).map(Pubkey::new_from_array)
    }

    fn shown(&self, at: usize) -> Option<String> {
        self.key(at).map(|key| self.session.names.show(&key))
    }

    /// Reads an optional address (`COption`): a tag of four bytes, then 32 bytes.
    fn optional(&self, at: usize) -> Option<String> {
        match u32::from_le_bytes(self.bytes(at)?) {
            0 => Some("none".to_owned()),
            _ => self.shown(at + 4),
        }
    }

    /// Decodes a mint or token account (`spl-token-interface`); with extensions, a byte gives the type.
    fn token(self) -> Option<Decoded> {
        let kind = self.data.get(token::ACCOUNT_BYTES).copied();
        match (self.data.len(), kind) {
            (token::MINT_BYTES, _) | (_, Some(1)) => self.mint(),
            (token::ACCOUNT_BYTES, _) | (_, Some(2)) => self.token_account(),
            _ => None,
        }
    }

    fn mint(self) -> Option<Decoded> {
        let [decimals, is_initialized] = self.bytes(44)?;
        if is_initialized != 1 {
            return None;
        }
        let fields = vec![
            ("supply", amount::show(self.u64(36)?, decimals)),
            ("decimals", decimals.to_string()),
            ("mint authority", self.optional(0)?),
            ("freeze authority", self.optional(46)?),
        ];
        Some(Decoded { type_name: "mint", fields })
    }

    fn token_account(self) -> Option<Decoded> {
        let mint = self.session.svm().account(&self.key(0)?);
        let decimals = mint.and_then(|mint| mint.data.get(44).copied()).unwrap_or(0);
        let state = match self.bytes(108)? {
            [1] => "initialized",
            [2] => "frozen",
            _ => return None,
        };
        let mut fields = vec![
            ("mint", self.shown(0)?),
            ("owner", self.shown(32)?),
            ("amount", amount::show(self.u64(64)?, decimals)),
            ("state", state.to_owned()),
        ];
        let delegate = self.optional(72)?;
        if delegate != "none" {
            fields.push(("delegate", delegate));
            fields.push(("delegated amount", amount::show(self.u64(121)?, decimals)));
        }
        if self.bytes(109)? != [0; 4] {
            fields.push(("native, rent reserve", amount::sol(self.u64(113)?)));
        }
        let close = self.optional(129)?;
        if close != "none" {
            fields.push(("close authority", close));
        }
        Some(Decoded { type_name: "token account", fields })
    }

    fn nonce(self) -> Option<Decoded> {
        let nonce = Nonce::read(self.data)?;
        let fields = vec![
            ("authority", self.session.names.show(&nonce.authority)),
            ("blockhash", nonce.durable_nonce.to_string()),
            ("lamports per signature", nonce.lamports_per_signature.to_string()),
        ];
        Some(Decoded { type_name: "nonce account", fields })
    }

    fn program(self) -> Option<Decoded> {
        let show = |key: Option<Pubkey>| match key {
            Some(key) => self.session.names.show(&key),
            None => "none".to_owned(),
        };
        Some(match State::of_data(self.data)? {
            State::Program { program_data } => {
                let file = self.session.names.show(&program_data);
                Decoded { type_name: "program", fields: vec![("program data", file)] }
            }
            State::ProgramData { slot, authority } => {
                let fields =
                    vec![("authority", show(authority)), ("deployed in slot", slot.to_string())];
                Decoded { type_name: "program data", fields }
            }
            State::Buffer { authority } => {
                Decoded { type_name: "buffer", fields: vec![("authority", show(authority))] }
            }
            _ => return None,
        })
    }

    /// Decodes a lookup table (`solana-address-lookup-table-interface`).
    fn lookup_table(self) -> Option<Decoded> {
        if self.bytes(0)? != 1_u32.to_le_bytes() {
            return None;
        }
        let deactivated = match self.u64(4)? {
            u64::MAX => "never".to_owned(),
            slot => format!("in slot {slot}"),
        };
        let authority = match self.bytes(21)? {
            [0] => "none".to_owned(),
            _ => self.shown(22)?,
        };
        let addresses = lookup_addresses(self.data);
        let addresses: Vec<String> =
            addresses.iter().map(|key| self.session.names.show(key)).collect();
        let fields = vec![
            ("authority", authority),
            ("deactivated", deactivated),
            ("addresses", addresses.join(", ")),
        ];
        Some(Decoded { type_name: "address lookup table", fields })
    }

    fn sysvar(self, key: &Pubkey) -> Option<Decoded> {
        let names: (&'static str, &[(&'static str, usize)]) = match *key {
            ids::sysvar::clock::ID => (
                "clock",
                &[
                    ("slot", 0),
                    ("epoch start timestamp", 8),
                    ("epoch", 16),
                    ("leader schedule epoch", 24),
                    ("unix timestamp", 32),
                ],
            ),
            ids::sysvar::rent::ID => ("rent", &[("lamports per byte", 0)]),
            ids::sysvar::epoch_schedule::ID => {
                ("epoch schedule", &[("slots per epoch", 0), ("leader schedule offset", 8)])
            }
            ids::sysvar::last_restart_slot::ID => ("last restart slot", &[("slot", 0)]),
            _ => return None,
        };
        let (type_name, numbers) = names;
        let fields = numbers.iter().map(|(name, at)| Some((*name, self.u64(*at)?.to_string())));
        Some(Decoded { type_name, fields: fields.collect::<Option<_>>()? })
    }
}
