//! Errors on their way through DataFusion.

use core::{error::Error, fmt, iter};

use anyhow::anyhow;
use datafusion::error::DataFusionError;

use crate::ui::{Advise as _, help_of};

/// An error of ours, with its help.
#[derive(Debug)]
struct Ours {
    error: String,
    help: Option<String>,
}

impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl Error for Ours {}

/// Makes an error of ours one that DataFusion passes on.
pub(super) fn passed(error: anyhow::Error) -> DataFusionError {
    let help = help_of(&error).map(str::to_owned);
    DataFusionError::External(Box::new(Ours { error: format!("{error:#}"), help }))
}

/// Returns our error from one of DataFusion; one of its own with help.
pub(super) fn explained(error: DataFusionError) -> anyhow::Error {
    let first: &(dyn Error + 'static) = &error;
    let mut causes = iter::successors(Some(first), |it: &&(dyn Error + 'static)| (*it).source());
    let ours = causes.find_map(|it| it.downcast_ref());
    let (text, help) = match ours {
        Some(Ours { error, help }) => (error.clone(), help.clone()),
        None => {
            let help = "`selkie batch sql --help` lists tables and functions, and has examples";
            (error.strip_backtrace(), Some(help.to_owned()))
        }
    };
    match help {
        Some(help) => Err::<(), _>(anyhow!(text)).advise(help).expect_err("it is one"),
        None => anyhow!(text),
    }
}
