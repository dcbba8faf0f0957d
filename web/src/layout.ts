// Fields of accounts whose layout is fixed, to name bytes that changed.

import { base58, fromHex, u64 } from "./bytes";
import { count } from "./format";
import type { Diff } from "./types";

/** Amounts of token accounts before and after, by address. */
export type Amounts = Map<string, [string | undefined, string | undefined]>;

type Field = [name: string, offset: number, kind: "key" | "u64" | "u8" | "i64"];

const TOKEN_ACCOUNT: Field[] = [
  ["mint", 0, "key"],
  ["owner", 32, "key"],
  ["amount", 64, "u64"],
  ["delegate", 76, "key"],
  ["state", 108, "u8"],
  ["delegated amount", 121, "u64"],
  ["close authority", 133, "key"],
];

const MINT: Field[] = [
  ["mint authority", 4, "key"],
  ["supply", 36, "u64"],
  ["decimals", 44, "u8"],
  ["is initialized", 45, "u8"],
  ["freeze authority", 50, "key"],
];

const TOKEN_PROGRAMS = ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"];

const SIZES = { key: 32, u64: 8, i64: 8, u8: 1 };

function layoutOf(diff: Diff): Field[] {
  if (!TOKEN_PROGRAMS.includes(diff.ownerAfter)) return [];
  if (diff.bytesAfter === 82) return MINT;
  return diff.bytesAfter >= 165 ? TOKEN_ACCOUNT : [];
}

function render(bytes: Uint8Array, [, offset, kind]: Field): string {
  if (kind === "key") return base58(bytes.subarray(offset, offset + 32));
  if (kind === "u8") return String(bytes[offset]);
  return count(u64(bytes, offset));
}

/** Returns the fields that changed, with their values as far as the bytes are known. */
export function fieldsAt(diff: Diff, amounts?: [string | undefined, string | undefined]): { name: string; before?: string; after?: string }[] {
  const found = layoutOf(diff).map((field) => {
    const [name, offset, kind] = field;
    const end = offset + SIZES[kind];
    const range = diff.ranges.find((it) => it.offset < end && it.offset + Math.max(it.before.length, it.after.length) / 2 > offset);
    if (!range) return undefined;
    const value = (text: string) => {
      const bytes = fromHex(text);
      if (range.offset > offset || range.offset + bytes.length < end) return undefined;
      return render(bytes, [name, offset - range.offset, kind]);
    };
    if (name === "amount" && amounts) return { name, before: amounts[0], after: amounts[1] };
    const [before, after] = [value(range.before), value(range.after)];
    const isEmpty = before === undefined && (after === undefined || /^(0|1{32})$/.test(after)) && diff.bytesBefore === 0;
    return before === after && after !== undefined ? undefined : isEmpty ? undefined : { name, before, after };
  });
  return found.filter((it) => it !== undefined);
}
