//! Well-known addresses.

use crate::case::Key;

macro_rules! ids {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) const $name: Key = decode($text);)*
    };
}

ids! {
    SYSTEM = "11111111111111111111111111111111";
    NATIVE_LOADER = "NativeLoader1111111111111111111111111111111";
    LOADER_V1 = "BPFLoader1111111111111111111111111111111111";
    LOADER_V2 = "BPFLoader2111111111111111111111111111111111";
    LOADER_V3 = "BPFLoaderUpgradeab1e11111111111111111111111";
    LOADER_V4 = "LoaderV411111111111111111111111111111111111";
    COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111";
    VOTE = "Vote111111111111111111111111111111111111111";
    STAKE = "Stake11111111111111111111111111111111111111";
    CONFIG = "Config1111111111111111111111111111111111111";
    ZK_ELGAMAL = "ZkE1Gama1Proof11111111111111111111111111111";
    ED25519 = "Ed25519SigVerify111111111111111111111111111";
    SECP256K1 = "KeccakSecp256k11111111111111111111111111111";
    SECP256R1 = "Secp256r1SigVerify1111111111111111111111111";
    TABLES = "AddressLookupTab1e1111111111111111111111111";
    TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
    ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
    MEMO_V1 = "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo";
    MEMO_V4 = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
    INCINERATOR = "1nc1nerator11111111111111111111111111111111";
    SYSVAR = "Sysvar1111111111111111111111111111111111111";
    CLOCK = "SysvarC1ock11111111111111111111111111111111";
    RENT = "SysvarRent111111111111111111111111111111111";
    EPOCH_SCHEDULE = "SysvarEpochSchedu1e111111111111111111111111";
    EPOCH_REWARDS = "SysvarEpochRewards1111111111111111111111111";
    LAST_RESTART_SLOT = "SysvarLastRestartS1ot1111111111111111111111";
    RECENT_BLOCKHASHES = "SysvarRecentB1ockHashes11111111111111111111";
    SLOT_HASHES = "SysvarS1otHashes111111111111111111111111111";
    STAKE_HISTORY = "SysvarStakeHistory1111111111111111111111111";
    INSTRUCTIONS = "Sysvar1nstructions1111111111111111111111111";
}

const fn decode(text: &str) -> Key {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let (text, mut key, mut at) = (text.as_bytes(), [0u8; 32], 0);
    while at < text.len() {
        let mut carry = 0;
        while ALPHABET[carry] != text[at] {
            carry += 1;
        }
        let mut index = 32;
        while index > 0 {
            index -= 1;
            carry += key[index] as usize * 58;
            key[index] = (carry % 256) as u8;
            carry /= 256;
        }
        at += 1;
    }
    key
}
