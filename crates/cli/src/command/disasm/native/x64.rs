//! Machine instructions of x86-64 as text.

use iced_x86::{Decoder, DecoderOptions, Formatter as _, IntelFormatter, OpKind};

use super::Decoded;

pub(super) const NAME: &str = "x86-64";

/// Decodes instructions that start at an offset.
pub(super) fn decode(bytes: &[u8], start: u64) -> Vec<Decoded> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_signed_immediate_operands(true);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_rip_relative_addresses(true);
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut all = vec![];
    let mut at = 0;
    while let [first, ..] = bytes[at..] {
        decoder.set_position(at).expect("the position is within the bytes");
        decoder.set_ip(start + at as u64);
        let instruction = decoder.decode();
        let (mut mnemonic, mut operands) = (String::new(), String::new());
        let mut len = 1;
        if instruction.is_invalid() {
            mnemonic.push_str("db");
            operands = format!("{first:#04x}");
        } else {
            formatter.format_mnemonic(&instruction, &mut mnemonic);
            formatter.format_all_operands(&instruction, &mut operands);
            len = instruction.len();
        }
        let target = (instruction.op0_kind() == OpKind::NearBranch64)
            .then(|| instruction.near_branch_target());
        all.push(Decoded { len, mnemonic: mnemonic.trim_end().to_owned(), operands, target });
        at += len;
    }
    all
}
