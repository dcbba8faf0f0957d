//! Features.

use napi::{
    Result,
    bindgen_prelude::{BigInt, Uint8Array},
};
use napi_derive::napi;
use selkie_litesvm::features::FeatureSet;

use crate::convert::{address, u64_of};

/// Which features are active, and since which slot.
#[napi]
#[derive(Default)]
pub struct NativeFeatures {
    pub(crate) set: FeatureSet,
}

#[napi]
impl NativeFeatures {
    /// Creates a set in which all features, or none, are active.
    #[napi(factory, catch_unwind)]
    pub fn create(is_all: bool) -> Self {
        Self { set: if is_all { FeatureSet::all_enabled() } else { FeatureSet::default() } }
    }

    /// Returns since which slot a feature is active.
    #[napi(catch_unwind)]
    pub fn activated_slot(&self, feature: &[u8]) -> Result<Option<BigInt>> {
        Ok(self.set.activated_slot(&address(feature)?).map(BigInt::from))
    }

    /// Activates a feature.
    #[napi(catch_unwind)]
    pub fn activate(&mut self, feature: &[u8], slot: BigInt) -> Result<()> {
        self.set.activate(&address(feature)?, u64_of(&slot, "slot")?);
        Ok(())
    }

    /// Deactivates a feature.
    #[napi(catch_unwind)]
    pub fn deactivate(&mut self, feature: &[u8]) -> Result<()> {
        self.set.deactivate(&address(feature)?);
        Ok(())
    }

    /// Returns the active features.
    #[napi(catch_unwind)]
    pub fn active(&self) -> Vec<Uint8Array> {
        self.set.active().keys().map(|id| id.as_ref().to_vec().into()).collect()
    }

    /// Returns the known features that are not active.
    #[napi(catch_unwind)]
    pub fn inactive(&self) -> Vec<Uint8Array> {
        self.set.inactive().iter().map(|id| id.as_ref().to_vec().into()).collect()
    }

    /// Describes the set.
    #[napi(catch_unwind)]
    pub fn text(&self) -> String {
        format!("{:?}", self.set)
    }
}
