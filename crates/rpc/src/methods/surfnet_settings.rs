//! [`Settings`]: what clients have set by surfpool's cheatcodes, or sent by Jito's methods, and no account holds.
//! They last as long as the server.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::RpcError,
    methods::surfnet_kept::{Bundles, Idls, Profiles},
    params::parse_key,
};

/// The methods that switch others on and off.
const SWITCHES: [&str; 2] = ["surfnet_enableCheatcode", "surfnet_disableCheatcode"];

/// What clients have set by surfpool's cheatcodes, or sent by Jito's methods.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The cheatcodes of surfpool that are served.
    names: Vec<&'static str>,
    disabled: Mutex<BTreeSet<String>>,
    supply: Mutex<Supply>,
    pub(super) profiles: Mutex<Profiles>,
    pub(super) idls: Mutex<Idls>,
    pub(super) bundles: Mutex<Bundles>,
}

/// What `getSupply` says instead of the truth.
#[derive(Default, Clone, Deserialize, Debug)]
#[serde(default)]
pub(super) struct Supply {
    total: Option<u64>,
    circulating: Option<u64>,
    non_circulating: Option<u64>,
    non_circulating_accounts: Option<Vec<String>>,
}

/// All cheatcodes, or some.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Chosen {
    All(String),
    Some(Vec<String>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Settings {
    /// Creates the settings of a server that serves cheatcodes of these names.
    pub(crate) fn new(names: Vec<&'static str>) -> Self {
        let (disabled, supply) = Default::default();
        let (profiles, idls, bundles) = Default::default();
        Self { names, disabled, supply, profiles, idls, bundles }
    }

    /// Returns whether a method was disabled by this name.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        name.starts_with("surfnet_") && lock(&self.disabled).contains(name)
    }

    /// Returns the supply, whose accounts have `total` lamports.
    pub(crate) fn supply(&self, total: u64) -> Value {
        let Supply { total: set, circulating, non_circulating, non_circulating_accounts } =
            lock(&self.supply).clone();
        json!({
            "circulating": circulating.unwrap_or(total),
            "nonCirculating": non_circulating.unwrap_or(0),
            "nonCirculatingAccounts": non_circulating_accounts.unwrap_or_default(),
            "total": set.unwrap_or(total),
        })
    }

    /// Returns the names that were chosen; `None` for all.
    fn names(&self, chosen: Chosen) -> Result<Option<Vec<String>>, RpcError> {
        match chosen {
            Chosen::All(word) if word == "all" => Ok(None),
            Chosen::All(word) => {
                let text = format!("unknown choice {word}, use \"all\" or a list of names");
                Err(RpcError::invalid_params(text))
            }
            Chosen::Some(chosen) if chosen.iter().all(|it| self.names.contains(&it.as_str())) => {
                Ok(Some(chosen))
            }
            Chosen::Some(_) => Err(RpcError::invalid_params("Invalid cheatcode rpc method")),
        }
    }

    /// Refuses methods from now on. `lockout` lets those that switch others on and off be disabled, too:
    /// with "all" they are.
    pub(super) fn disable(&self, chosen: Chosen, lockout: bool) -> Result<(), RpcError> {
        let is_switch = |name: &str| SWITCHES.contains(&name);
        let chosen = match self.names(chosen)? {
            None => {
                let names = self.names.iter().filter(|it| lockout || !is_switch(it));
                names.map(|it| (*it).to_owned()).collect()
            }
            Some(chosen) if !lockout && chosen.iter().any(|it| is_switch(it)) => {
                let text = "Cannot disable surfnet_enableCheatcode or surfnet_disableCheatcode rpc method when lockout is not enabled";
                return Err(RpcError::invalid_params(text));
            }
            Some(chosen) => chosen,
        };
        lock(&self.disabled).extend(chosen);
        Ok(())
    }

    /// Serves methods again.
    pub(super) fn enable(&self, chosen: Chosen) -> Result<(), RpcError> {
        let chosen = self.names(chosen)?;
        lock(&self.disabled)
            .retain(|name| chosen.as_ref().is_some_and(|chosen| !chosen.contains(name)));
        Ok(())
    }

    /// Changes what [`Settings::supply`] says; what is absent stays.
    pub(super) fn set_supply(&self, update: Supply) -> Result<(), RpcError> {
        for key in update.non_circulating_accounts.iter().flatten() {
            parse_key(key)?;
        }
        let mut supply = lock(&self.supply);
        let before = core::mem::take(&mut *supply);
        *supply = Supply {
            total: update.total.or(before.total),
            circulating: update.circulating.or(before.circulating),
            non_circulating: update.non_circulating.or(before.non_circulating),
            non_circulating_accounts: update
                .non_circulating_accounts
                .or(before.non_circulating_accounts),
        };
        Ok(())
    }
}
