//! The features of this host's processor that machine code depends on.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// Returns the name of the processor features that machine code depends on.
#[must_use]
pub fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return match features() {
        (false, _) => "x86-64",
        (true, false) => "x86-64+bmi2",
        (true, true) => "x86-64+bmi2+pext",
    };
    #[cfg(not(target_arch = "x86_64"))]
    "none"
}

/// Returns whether the processor has BMI2, and whether its `pext` is not microcoded.
#[cfg(target_arch = "x86_64")]
pub(crate) fn features() -> (bool, bool) {
    // `cpuid` is slow in virtual machines.
    static FEATURES: OnceLock<(bool, bool)> = OnceLock::new();
    *FEATURES.get_or_init(|| {
        let bmi2 = std::arch::is_x86_feature_detected!("bmi2");
        (bmi2, bmi2 && !amd_before_zen3())
    })
}

/// Returns whether this is an AMD processor before family 19h: those have `pext` in microcode.
#[cfg(target_arch = "x86_64")]
fn amd_before_zen3() -> bool {
    use core::arch::x86_64::__cpuid;
    let vendor = __cpuid(0);
    let amd = (vendor.ebx, vendor.edx, vendor.ecx) == (0x6874_7541, 0x6974_6e65, 0x444d_4163);
    let version = __cpuid(1).eax;
    let family = (version >> 8 & 15) + (version >> 20 & 0xff);
    amd && family < 0x19
}
