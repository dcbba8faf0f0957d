//! Decodes the data of well-known accounts.

use selkie::{Account, Pubkey, Svm, ids, loader::State, programs, runtime::nonce::Nonce, system};
use selkie_layout::{
    kind::read_fields,
    lookup_table::LookupTable,
    sysvar,
    token::{ACCOUNT, AccountState, AccountType, MINT, Mint, TokenAccount},
    wire::{self, COption},
};
use serde_json::{Map, Value};

use crate::{amount, names::Names};

/// The type of an account and its fields.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// What it is called.
    pub type_name: &'static str,
    /// The names and the texts of its fields.
    pub fields: Vec<(&'static str, String)>,
}

/// Returns the decoded fields as a JSON object, or null.
#[must_use]
pub fn json(decoded: &Option<Decoded>) -> Value {
    let Some(Decoded { type_name, fields }) = decoded else { return Value::Null };
    let mut object = Map::from_iter([("type".to_owned(), (*type_name).into())]);
    object.extend(fields.iter().map(|(name, value)| ((*name).replace(' ', "_"), value[..].into())));
    Value::Object(object)
}

/// Decodes the data of an account of a cluster; `None` if its type is unknown.
#[must_use]
pub fn fields(svm: &Svm, names: &Names, key: &Pubkey, account: &Account) -> Option<Decoded> {
    let reader = Reader { svm, names, data: &account.data };
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
#[must_use]
pub fn mint_of(account: &Account) -> Option<Pubkey> {
    let is_token = programs::is_token_program(&account.owner);
    let is_account = is_token && account.data.len() >= ACCOUNT.bytes;
    ACCOUNT.mint.get(&account.data).filter(|_| is_account)
}

/// Account data, the cluster that has it, and the names that are shown for addresses.
#[derive(Clone, Copy)]
struct Reader<'a> {
    svm: &'a Svm,
    names: &'a Names,
    data: &'a [u8],
}

impl Reader<'_> {
    fn optional(self, key: COption<Pubkey>) -> String {
        key.0.map_or_else(|| "none".to_owned(), |key| self.names.show(&key))
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
        let mint = self.svm.account(&account.mint);
        let decimals = mint.and_then(|mint| MINT.decimals.get(&mint.data)).unwrap_or(0);
        let is_frozen = account.state == AccountState::Frozen;
        let mut fields = vec![
            ("mint", self.names.show(&account.mint)),
            ("owner", self.names.show(&account.owner)),
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
            ("authority", self.names.show(&nonce.authority)),
            ("blockhash", nonce.durable_nonce.to_string()),
            ("lamports per signature", nonce.lamports_per_signature.to_string()),
        ];
        Some(Decoded { type_name: "nonce account", fields })
    }

    fn program(self) -> Option<Decoded> {
        let show = |key: Option<Pubkey>| match key {
            Some(key) => self.names.show(&key),
            None => "none".to_owned(),
        };
        Some(match State::of_data(self.data)? {
            State::Program { program_data } => {
                let file = self.names.show(&program_data);
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

    fn lookup_table(self) -> Option<Decoded> {
        let (table, addresses) = LookupTable::of(self.data)?;
        let deactivated = match table.deactivation_slot {
            u64::MAX => "never".to_owned(),
            slot => format!("in slot {slot}"),
        };
        let addresses = addresses.iter().copied().map(Pubkey::new_from_array);
        let addresses: Vec<String> = addresses.map(|it| self.names.show(&it)).collect();
        let fields = vec![
            ("authority", self.optional(COption(table.authority))),
            ("deactivated", deactivated),
            ("addresses", addresses.join(", ")),
        ];
        Some(Decoded { type_name: "address lookup table", fields })
    }

    /// Decodes numbers of a sysvar.
    fn sysvar(self, key: &Pubkey) -> Option<Decoded> {
        type Names = &'static [(&'static str, &'static str)];
        let (type_name, layout, names): (_, _, Names) = match *key {
            ids::sysvar::clock::ID => (
                "clock",
                sysvar::Clock::FIELDS,
                &[
                    ("slot", "slot"),
                    ("epoch start timestamp", "epoch_start_timestamp"),
                    ("epoch", "epoch"),
                    ("leader schedule epoch", "leader_schedule_epoch"),
                    ("unix timestamp", "unix_timestamp"),
                ],
            ),
            ids::sysvar::rent::ID => {
                ("rent", sysvar::Rent::FIELDS, &[("lamports per byte", "lamports_per_byte")])
            }
            ids::sysvar::epoch_schedule::ID => (
                "epoch schedule",
                sysvar::EpochSchedule::FIELDS,
                &[
                    ("slots per epoch", "slots_per_epoch"),
                    ("leader schedule offset", "leader_schedule_slot_offset"),
                ],
            ),
            ids::sysvar::last_restart_slot::ID => (
                "last restart slot",
                sysvar::LastRestartSlot::FIELDS,
                &[("slot", "last_restart_slot")],
            ),
            _ => return None,
        };
        let read = read_fields(layout, &mut wire::Reader::new(self.data)).ok()?;
        let value = |name: &str| read.iter().find(|it| it.field.name == name).map(|it| &it.value);
        let fields = names.iter().map(|(shown, name)| Some((*shown, value(name)?.to_string())));
        Some(Decoded { type_name, fields: fields.collect::<Option<_>>()? })
    }
}
