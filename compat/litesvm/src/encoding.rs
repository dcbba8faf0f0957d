//! How sysvars are encoded: by wincode, and for version 3 of the types by bincode, since most of these
//! have no schema for wincode. The bytes are the same.

use solana_sysvar_id::SysvarId;

/// A sysvar that can be set: it is encoded as in its account.
pub trait EncodeSysvar: SysvarId {
    /// Returns the data of the account.
    ///
    /// # Panics
    /// If it cannot be encoded.
    fn encode(&self) -> Vec<u8>;
}

/// A sysvar that can be read.
pub trait DecodeSysvar: SysvarId + Sized {
    /// Reads the data of the account. Bytes that follow are ignored.
    ///
    /// # Panics
    /// If they are not valid.
    fn decode(data: &[u8]) -> Self;
}

#[cfg(not(feature = "sdk-3"))]
impl<T: SysvarId + wincode::Serialize<Src = T>> EncodeSysvar for T {
    fn encode(&self) -> Vec<u8> {
        wincode::serialize(self).expect("a sysvar can be serialized")
    }
}

#[cfg(not(feature = "sdk-3"))]
impl<T: SysvarId + wincode::DeserializeOwned<Dst = T>> DecodeSysvar for T {
    fn decode(data: &[u8]) -> Self {
        wincode::deserialize(data).expect("its data are valid")
    }
}

#[cfg(feature = "sdk-3")]
impl<T: SysvarId + serde::Serialize> EncodeSysvar for T {
    fn encode(&self) -> Vec<u8> {
        bincode::serialize(self).expect("a sysvar can be serialized")
    }
}

#[cfg(feature = "sdk-3")]
impl<T: SysvarId + serde::de::DeserializeOwned> DecodeSysvar for T {
    fn decode(data: &[u8]) -> Self {
        bincode::deserialize(data).expect("its data are valid")
    }
}
