//! Accounts of another cluster, as the node fetches them.

use selkie::{AccountSharedData, Pubkey};
use selkie_client::Client;
use selkie_node::{Fetch, FetchError};

/// Another cluster's RPC server.
#[derive(Debug)]
pub(super) struct Remote(pub(super) Client);

impl Fetch for Remote {
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, FetchError> {
        self.0.accounts(keys).map_err(|error| FetchError(format!("{error:#}")))
    }
}
