//! The labels of a listing.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use selkie_isa::{Insn, Kind, Version, symbol::ENTRYPOINT, syntax, truncate};

use crate::{
    image::Image,
    program::{Instruction, NamedProgram},
};

/// Unique labels of instructions and data.
#[derive(Debug)]
pub(super) struct LabelMap<'a> {
    image: &'a Image,
    text: BTreeMap<u32, String>,
    data: BTreeMap<u64, String>,
}

impl<'a> LabelMap<'a> {
    pub(super) fn of(program: &'a NamedProgram, instructions: &[Instruction]) -> Self {
        let image = program.image();
        let is_start = |pc: u32| instructions.binary_search_by_key(&pc, |it| it.pc).is_ok();
        let mut map = Self { image, text: BTreeMap::new(), data: BTreeMap::new() };
        let mut places: BTreeSet<u32> = program.functions().keys().copied().collect();
        let mut addresses: BTreeSet<u64> = image.pointers().collect();
        for it in instructions {
            let Some(insn) = it.insn else { continue };
            let target = insn.jump_target(it.pc as usize).and_then(|pc| u32::try_from(pc).ok());
            places.extend(target.into_iter().chain(program.callee(it.pc, &insn)));
            if let Kind::LoadImm64 = insn.op.kind() {
                addresses.insert(insn.imm.cast_unsigned());
            }
        }
        places.extend(addresses.iter().filter_map(|&addr| image.slot_of(addr)));
        let mut used: BTreeSet<String> = BTreeSet::new();
        let entry = program.executable().entry_pc();
        // The entry comes first, so that no other function gets its name.
        let order = is_start(entry).then_some(entry);
        let order = order.into_iter().chain(places.into_iter().filter(|&pc| pc != entry));
        for pc in order.filter(|&pc| is_start(pc)) {
            let function = program.functions().get(&pc).cloned();
            let name = function.unwrap_or_else(|| format!("lbb_{pc}"));
            let name = unique(name, u64::from(pc), &mut used);
            map.text.insert(pc, name);
            // Reserved: the assembler makes the label of this name the entry.
            used.insert(ENTRYPOINT.to_owned());
        }
        for addr in addresses.into_iter().filter(|&addr| image.contains(addr)) {
            let name = unique(format!("data_{:x}", addr & 0xffff_ffff), addr, &mut used);
            map.data.insert(addr, name);
        }
        map
    }

    /// Returns the label of the instruction at a slot.
    pub(super) fn text(&self, pc: u32) -> Option<&str> {
        self.text.get(&pc).map(String::as_str)
    }

    /// Returns the label of the target of the jump at slot `pc`.
    pub(super) fn target(&self, pc: u32, insn: &Insn) -> Option<&str> {
        let target = insn.jump_target(pc as usize)?;
        self.text(u32::try_from(target).ok()?)
    }

    /// Returns the label of the byte or instruction at an address.
    pub(super) fn address(&self, addr: u64) -> Option<&str> {
        let text = self.image.slot_of(addr).and_then(|pc| self.text(pc));
        text.or_else(|| self.data.get(&addr).map(String::as_str))
    }

    /// Returns the labels between two addresses, in order.
    pub(super) fn data(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &str)> {
        self.data.range(start..end).map(|(&addr, name)| (addr, name.as_str()))
    }
}

/// Returns `name` without characters that the assembler cannot read, and made unique.
fn unique(name: String, address: u64, used: &mut BTreeSet<String>) -> String {
    let readable = |char: char| if char.is_control() || "\"\\".contains(char) { '_' } else { char };
    let mut name: String = truncate::name(&name).chars().map(readable).collect();
    if name.is_empty() || used.contains(&name) {
        name = format!("{name}_{address}");
    }
    while !used.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Returns a name in quotes, unless it is unambiguous without them.
pub(super) fn quoted(name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_.$".contains(char);
    let starts_well = |char: char| plain(char) && !char.is_ascii_digit();
    let is_plain = name.starts_with(starts_well) && name.chars().all(plain);
    if is_plain && !is_taken(name) { name.to_owned() } else { format!("\"{name}\"") }
}

/// Returns whether the assembler treats the name as a register, mnemonic or keyword.
fn is_taken(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let digits = lower.strip_prefix(['r', 'w']);
    let is_register = digits.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    static MNEMONICS: LazyLock<BTreeSet<Cow<'static, str>>> =
        LazyLock::new(|| Version::ALL.iter().flat_map(|&it| syntax::mnemonics(it)).collect());
    let is_keyword = ["fp", "if", "goto", "lock", "ll", "syscall", "."].contains(&lower.as_str());
    is_register || is_keyword || MNEMONICS.contains(lower.as_str())
}
