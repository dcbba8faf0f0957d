//! Vote accounts of version 4 (SIMD-0185), the version that the program writes.

use selkie_layout::{
    vote::{AuthorizedVoter, EpochCredits, LandedVote, VERSION_4, VoteHead, VoteTail},
    wire::Reader,
};
use serde_json::{Map, Value, json};

use crate::parsed::{
    accounts::account::{Account, typed},
    layout::{read_into, read_list},
};

pub(super) fn vote(account: &Account<'_>) -> Option<Value> {
    info(account.data).map(|info| typed("vote", &Value::Object(info)))
}

/// Returns the fields of a vote account's data.
pub(crate) fn info(data: &[u8]) -> Option<Map<String, Value>> {
    let mut reader = Reader::new(data);
    if reader.u32().ok()? != VERSION_4 {
        return None;
    }
    let mut info = Map::new();
    read_into(&mut reader, VoteHead::FIELDS, &mut info)?;
    let basis_points = info.get("inflationRewardsCommissionBps")?.as_u64()?;
    info.insert("commission".to_owned(), json!(basis_points.div_ceil(100).min(255)));
    let bls = reader.option(Reader::array::<48>).ok()?;
    let bls = bls.map(|key| bs58::encode(key).into_string());
    info.insert("blsPubkeyCompressed".to_owned(), json!(bls));
    let votes = read_list(&mut reader, LandedVote::FIELDS)?;
    info.insert("votes".to_owned(), votes);
    let root = reader.option(Reader::u64).ok()?;
    info.insert("rootSlot".to_owned(), json!(root));
    let voters = read_list(&mut reader, AuthorizedVoter::FIELDS)?;
    info.insert("authorizedVoters".to_owned(), voters);
    info.insert("priorVoters".to_owned(), json!([]));
    let credits = read_list(&mut reader, EpochCredits::FIELDS)?;
    info.insert("epochCredits".to_owned(), credits);
    read_into(&mut reader, VoteTail::FIELDS, &mut info)?;
    Some(info)
}
