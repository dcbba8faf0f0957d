//! Names of the command line.

use std::path::Path;

use anyhow::{Result, anyhow};
use selkie::Pubkey;
pub(crate) use selkie_client::{Names, PAYER, Payer};

use crate::{
    args::program::{STATE_FILE, StateArgs},
    ui::Advise as _,
};

/// Resolves an address by the names of a cluster.
pub(crate) fn find(state: &StateArgs, text: &str) -> Result<Pubkey> {
    Ok(Names::load(&state.state)?.address(text)?)
}

/// Refuses a program that is given by its address or name to a command that takes a file.
pub(crate) fn refuse_address(path: &Path) -> Result<()> {
    let names = Names::load(Path::new(STATE_FILE)).unwrap_or_else(|_| Names::well_known());
    let text = path.to_str().filter(|it| !it.contains(['/', '.']) && !path.exists());
    let Some((text, id)) = text.and_then(|it| Some((it, names.address(it).ok()?))) else {
        return Ok(());
    };
    let what = match text == id.to_string() {
        true => anyhow!("{text} is an address, not a file"),
        false => anyhow!("there is no file {text}; it is the name of {id}"),
    };
    Err(what).advise(format!(
        "this command takes a file; `selkie program dump {text} FILE.so` writes that of a deployed \
         program, and `selkie send --program {text}` calls it"
    ))
}
