//! A chain's state in bytes.
//!
//! ```text
//! "selkie js state 1\n"
//! whether signatures are verified, whether blockhashes are checked
//! how many features are active; for each, its address and slot
//! the length and the data of the clock
//! the state of the chain beneath
//! ```
//! Numbers are little-endian and have 64 bits.

use napi::Result;
use selkie::{Svm, ids::sysvar};
use selkie_litesvm::{LiteSVM, features::FeatureSet};

use crate::convert::{address, error};

const MAGIC: &[u8] = b"selkie js state 1\n";

pub(crate) fn encode(chain: &LiteSVM, checks_blockhashes: bool) -> Vec<u8> {
    let features = chain.features().active();
    let clock = chain.svm().sysvar(&sysvar::clock::ID).unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    bytes.extend([chain.get_sigverify(), checks_blockhashes].map(u8::from));
    bytes.extend((features.len() as u64).to_le_bytes());
    for (id, slot) in features {
        bytes.extend(id.as_ref());
        bytes.extend(slot.to_le_bytes());
    }
    bytes.extend((clock.len() as u64).to_le_bytes());
    bytes.extend(clock);
    bytes.extend(chain.svm().to_bytes());
    bytes
}

/// Returns the chain, and whether it checks blockhashes.
pub(crate) fn decode(bytes: &[u8]) -> Result<(LiteSVM, bool)> {
    let mut rest = bytes;
    if take(&mut rest, MAGIC.len() as u64)? != MAGIC {
        return Err(error("not a saved chain: its magic number is wrong"));
    }
    let flags = take(&mut rest, 2)?;
    let (sigverify, checks_blockhashes) = (flags[0] != 0, flags[1] != 0);
    let mut features = FeatureSet::default();
    for _ in 0..number(&mut rest)? {
        let id = address(take(&mut rest, 32)?)?;
        features.activate(&id, number(&mut rest)?);
    }
    let clock_bytes = number(&mut rest)?;
    let clock = take(&mut rest, clock_bytes)?;
    let mut svm = Svm::from_bytes(rest).map_err(error)?.with_history(0);
    svm.set_sysvar(sysvar::clock::ID, clock).map_err(error)?;
    let mut chain = LiteSVM::default();
    *chain.svm_mut() = svm;
    let chain = chain.with_feature_set(features).with_sigverify(sigverify);
    Ok((chain.with_blockhash_check(checks_blockhashes), checks_blockhashes))
}

fn number(rest: &mut &[u8]) -> Result<u64> {
    let bytes = take(rest, 8)?.try_into().expect("it has 8 bytes");
    Ok(u64::from_le_bytes(bytes))
}

fn take<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8]> {
    let split = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
    let (head, tail) = split.ok_or_else(|| error("not a saved chain: it is truncated"))?;
    *rest = tail;
    Ok(head)
}
