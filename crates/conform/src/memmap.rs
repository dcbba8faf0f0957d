//! Kind `memmap`: memory regions and an access, with the region and offset that it hits, or the error.
//!
//! Regions are numbered in the order of the vector; offsets count the bytes of a region's buffer,
//! without gaps. The expectation is under `expect` or beside the access: `region` (or `index`) and
//! `offset`, or `err`, `debug` and `display`. A vector with `accesses` has several, each with its
//! own expectation.

use selkie_isa::Version;
use selkie_vm::{Access, MemoryMap, Trap};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Verdict,
    check::Check,
    config::SuiteConfig,
    exec::{RegionCase, anza_debug},
    vector::number,
};

/// Performs the accesses and compares the results.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value) -> Result<Verdict, BadVector> {
    let case = Case::deserialize(line)?;
    let version = Version::from_e_flags(case.sbpf_version)
        .ok_or_else(|| format!("unknown sBPF version {}", case.sbpf_version))?;
    let mut buffers = Vec::new();
    for region in &case.regions {
        buffers.push(buffer(region)?);
    }
    let mut regions = Vec::new();
    for (index, (region, buffer)) in case.regions.iter().zip(&mut buffers).enumerate() {
        let number = u16::try_from(index).map_err(|_| "more than 65,536 regions".to_owned())?;
        regions.push(region.region(buffer)?.with_payload(number));
    }
    let map = MemoryMap::new(regions, &case.config.vm(), version);
    let mut check = Check::default();
    if case.accesses.is_empty() {
        compare(&mut check, line, &map)?;
    }
    for access in &case.accesses {
        compare(&mut check, access, &map)?;
    }
    check.finish()
}

#[derive(Deserialize, Debug)]
struct Case {
    #[serde(default)]
    sbpf_version: u32,
    #[serde(default)]
    config: SuiteConfig,
    #[serde(default)]
    regions: Vec<RegionCase>,
    #[serde(default)]
    accesses: Vec<Value>,
}

#[derive(Deserialize, Debug)]
struct AccessCase {
    access: String,
    vaddr: Value,
    #[serde(default)]
    len: u64,
    expect: Option<Value>,
}

/// Returns a zeroed buffer for a region. Its pages stay untouched, so large regions cost no memory.
fn buffer(region: &RegionCase) -> Result<Vec<u8>, BadVector> {
    const BYTES_MAX: usize = 16 << 30;
    if region.len > BYTES_MAX {
        return Err(BadVector(format!("a region of {} bytes is too large to map", region.len)));
    }
    Ok(vec![0; region.len])
}

fn compare(
    check: &mut Check,
    line: &Value,
    map: &Result<MemoryMap<'_>, Trap>,
) -> Result<(), BadVector> {
    let case = AccessCase::deserialize(line)?;
    let access = match case.access.to_lowercase().as_str() {
        "load" | "read" => Access::Load,
        "store" | "write" => Access::Store,
        other => return Err(BadVector(format!("unknown access `{other}`"))),
    };
    let vaddr =
        number(&case.vaddr).ok_or_else(|| BadVector("`vaddr` is not a number".to_owned()))?;
    let expect = case.expect.as_ref().unwrap_or(line);
    let expect = expect.get("ok").filter(|it| it.is_object()).unwrap_or(expect);
    let located = match map {
        Ok(map) => map.locate(access, vaddr, case.len).map(|(index, offset)| {
            (map.regions()[index].payload().map_or(u64::MAX, u64::from), offset)
        }),
        Err(Trap::InvalidMemoryRegion(index)) => Err(Trap::InvalidMemoryRegion(*index)),
        Err(trap) => return Err(BadVector(trap.to_string())),
    };
    let field = |name: &str| expect.get(name);
    let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
    match located {
        Ok((region, offset)) => {
            if let Some(error) = text("err").or_else(|| text("debug")) {
                check.differ("result", error, format!("region {region}, offset {offset:#x}"));
            }
            let index = field("region").or_else(|| field("index")).and_then(number);
            check.equal("region", index, region);
            check.equal("offset", field("offset").and_then(number), offset);
        }
        Err(trap) => {
            let got = anza_debug(&trap);
            if let Some(index) = field("region").and_then(number) {
                check.differ("result", format!("region {index}"), &got);
            }
            let name = got.split('(').next().unwrap_or_default().to_owned();
            check.equal("err", text("err"), name);
            check.equal("debug", text("debug"), got);
            check.equal("display", text("display"), trap.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(access: Value) -> Verdict {
        let mut line = json!({
            "kind": "memmap",
            "regions": [
                { "vaddr": 0x1_0000_0000_u64, "len": 8 },
                { "vaddr": 0x2_0000_0000_u64, "len": 16384, "writable": true, "gap": 4096 },
            ],
        });
        line.as_object_mut().unwrap().extend(access.as_object().unwrap().clone());
        judge(&line).expect("the vector is sound")
    }

    #[test]
    fn an_access_hits_a_region_or_is_a_violation() {
        let at = 0x2_0000_2008_u64;
        let hit = json!({ "access": "Store", "vaddr": at, "len": 8,
                          "expect": { "region": 1, "offset": 4104 } });
        assert_eq!(check(hit), Verdict::Passed);
        let miss = json!({ "access": "load", "vaddr": 0x1_0000_0001_u64, "len": 8, "expect":
            { "err": "AccessViolation",
              "debug": "AccessViolation(Load, 4294967297, 8, \"program\")" } });
        assert_eq!(check(miss), Verdict::Passed);
        let gap = json!({ "access": "load", "vaddr": 0x2_0000_1000_u64, "len": 1,
                          "expect": { "err": "StackAccessViolation" } });
        assert_eq!(check(gap), Verdict::Passed);
    }

    #[test]
    fn a_wrong_expectation_fails() {
        for expect in [json!({ "region": 0, "offset": 0 }), json!({ "err": "AccessViolation" })] {
            let access = json!({ "access": "load", "vaddr": 0x2_0000_0000_u64, "len": 8,
                                 "expect": expect });
            assert!(matches!(check(access), Verdict::Failed(_)), "{expect}");
        }
    }
}
