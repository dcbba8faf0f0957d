//! Decodes the data of well-known accounts.

use selkie::{Account, Pubkey, ids, loader::State, programs, runtime::nonce::Nonce, system};
use selkie_layout::{
    token::{ACCOUNT, AccountState, AccountType, MINT, Mint, TokenAccount},
    wire::COption,
};
use serde_json::{Map, Value};

use crate::{amount, cluster::lookup_addresses, session::Session};

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
    let is_account = is_token && account.data.len() >= ACCOUNT.bytes;
    ACCOUNT.mint.get(&account.data).filter(|_| is_account)
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

    fn optional(self, key: COption<Pubkey>) -> String {
        key.0.map_or_else(|| "none".to_owned(), |key| self.session.names.show(&key))
    }

    /// Decodes a mint or token account, with or without extensions.
    fn token(self) -> Option<Decoded> {
        match AccountType::of(self.data)? {
            AccountType::Mint => self.mint(),
            AccountType::Account => self.token_account(),
        }
    }

    fn mint(self) -> Option<Decoded> {
        let mint = Mint::of(self.data)?;
        let fields = vec![
            ("supply", amount::show(mint.supply, mint.decimals)),
            ("decimals", mint.decimals.to_string()),
            ("mint authority", self.optional(mint.mint_authority)),
            ("freeze authority", self.optional(mint.freeze_authority)),
        ];
        Some(Decoded { type_name: "mint", fields })
    }

    fn token_account(self) -> Option<Decoded> {
        let account = TokenAccount::of(self.data)?;
        let mint = self.session.svm().account(&account.mint);
        let decimals = mint.and_then(|mint| MINT.decimals.get(&mint.data)).unwrap_or(0);
        let is_frozen = account.state == AccountState::Frozen;
        let mut fields = vec![
            ("mint", self.session.names.show(&account.mint)),
            ("owner", self.session.names.show(&account.owner)),
            ("amount", amount::show(account.amount, decimals)),
            ("state", if is_frozen { "frozen" } else { "initialized" }.to_owned()),
        ];
        if account.delegate.0.is_some() {
            fields.push(("delegate", self.optional(account.delegate)));
            fields.push(("delegated amount", amount::show(account.delegated_amount, decimals)));
        }
        if let Some(reserve) = account.is_native.0 {
            fields.push(("native, rent reserve", amount::sol(reserve)));
        }
        if account.close_authority.0.is_some() {
            fields.push(("close authority", self.optional(account.close_authority)));
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
