// What the playground works on: a source, and the instruction that it is run with.

import { base64, fromBase58, fromHex, isAddress } from "./bytes";
import { SYSTEM } from "./format";
import { exactly } from "./rpc";

/** A typed value of data. */
export type Part = [kind: string, value: string];

export interface AccountOf {
  key: string;
  /** Only its address is given: a program, a sysvar, or an account of an earlier row. */
  isReference: boolean;
  isSigner: boolean;
  isWritable: boolean;
  lamports: string;
  /** Empty for the program itself. */
  owner: string;
  data: Part[];
}

export interface Play {
  source: string;
  version: string;
  programId: string;
  limit: string;
  accounts: AccountOf[];
  data: Part[];
}

/** The address of a program that has none, as of `selkie run`. */
export const PROGRAM_ID = "8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff";
export const VERSIONS = ["v0", "v1", "v2", "v3"];
const SIZES: Record<string, number> = { u8: 1, u16: 2, u32: 4, u64: 8, i64: 8 };
/** The kinds of values, as `selkie run --data` names them; zeros besides. */
export const KINDS = ["u8", "u16", "u32", "u64", "i64", "bool", "key", "str", "hex", "zeros"];
const ZEROS_MAX = 10 << 20;

export const emptyPlay = (source = ""): Play => ({ source, version: "v3", programId: PROGRAM_ID, limit: "200000", accounts: [], data: [] });

/** A new account: the addresses of the first ones are those of a letter, A to Z. */
export function newAccount(all: AccountOf[]): AccountOf {
  const letters = Array.from({ length: 26 }, (_, index) => 65 + index);
  const keys = letters.map((letter) => base58Of(letter));
  const key = keys.find((it) => all.every((other) => other.key !== it)) ?? "";
  return { key, isReference: false, isSigner: false, isWritable: true, lamports: "1000000", owner: "", data: [] };
}

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The address whose 32 bytes are all the same. */
function base58Of(byte: number): string {
  let value = BigInt(`0x${byte.toString(16).padStart(2, "0").repeat(32)}`);
  let text = "";
  for (; value > 0n; value /= 58n) text = ALPHABET[Number(value % 58n)] + text;
  return text;
}

/** The bytes of a value; the error says what it should be. */
export function bytesOfPart([kind, value]: Part, programId: string): Uint8Array {
  const text = value.trim();
  const size = SIZES[kind];
  if (size) {
    let number: bigint;
    try {
      number = BigInt(text || "0");
    } catch {
      throw new Error(`${text} is not a whole number`);
    }
    const [least, most] = kind.startsWith("i") ? [-(1n << 63n), (1n << 63n) - 1n] : [0n, (1n << BigInt(8 * size)) - 1n];
    if (number < least || number > most) throw new Error(`${kind} is from ${least} to ${most}`);
    return Uint8Array.from({ length: size }, (_, index) => Number(BigInt.asUintN(64, number >> BigInt(8 * index)) & 255n));
  }
  if (kind === "bool") {
    if (text !== "true" && text !== "false") throw new Error("a bool is true or false");
    return Uint8Array.of(Number(text === "true"));
  }
  if (kind === "key") return keyOf(text || programId);
  if (kind === "str") return new TextEncoder().encode(value);
  if (kind === "zeros") {
    const length = Number(text);
    if (!Number.isInteger(length) || length < 0 || length > ZEROS_MAX) throw new Error("zeros take a number of bytes");
    return new Uint8Array(length);
  }
  const digits = text.replace(/^0x/, "").replace(/\s/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new Error("hex takes two digits for each byte");
  return fromHex(digits);
}

export const bytesOfParts = (parts: Part[], programId: string): Uint8Array => {
  const all = parts.map((it) => bytesOfPart(it, programId));
  const bytes = new Uint8Array(all.reduce((sum, it) => sum + it.length, 0));
  let at = 0;
  for (const it of all) {
    bytes.set(it, at);
    at += it.length;
  }
  return bytes;
};

function keyOf(text: string): Uint8Array {
  const bytes = isAddress(text) ? fromBase58(text) : undefined;
  if (!bytes) throw new Error("an address is 32 bytes in base58");
  return bytes;
}

/** The instruction as the engine takes it. Fails if a value is not what it should be. */
export function instructionOf(play: Play): object {
  const { programId } = play;
  keyOf(programId);
  const accounts = play.accounts.map((it) => {
    keyOf(it.key);
    const meta = { key: it.key, is_signer: it.isSigner, is_writable: it.isWritable };
    if (it.isReference) return meta;
    const owner = it.owner || programId;
    keyOf(owner);
    const lamports = bytesOfPart(["u64", it.lamports], programId) && it.lamports.trim();
    return { ...meta, lamports: lamports || "0", owner, data: base64(bytesOfParts(it.data, programId)) };
  });
  return { program_id: programId, accounts, instruction_data: base64(bytesOfParts(play.data, programId)), limit: play.limit.trim() || "200000" };
}

/** The file for `selkie run --input`. */
export function inputFile(play: Play): string {
  const bytes = (parts: Part[]) => [...bytesOfParts(parts, play.programId)];
  const accounts = play.accounts.map((it) => ({
    key: it.key,
    ...(it.isSigner && { is_signer: true }),
    ...(it.isWritable && { is_writable: true }),
    ...(!it.isReference && { owner: it.owner || play.programId, lamports: BigInt(it.lamports.trim() || 0), data: bytes(it.data) }),
  }));
  return `${exactly({ program_id: play.programId, accounts, instruction_data: bytes(play.data) })}\n`;
}

/** The state as text for an address: compressed, in the letters of base64 that addresses may have. */
export async function packed(play: Play): Promise<string> {
  const stream = new Blob([JSON.stringify(play)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Longer states are not read: an address may hold anything. */
const STATE_BYTES_MAX = 1 << 20;

/** Reads the state of an address; nothing if it is none. */
export async function unpacked(text: string): Promise<Play | undefined> {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (it) => it.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts: Uint8Array[] = [];
    let total = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      if (total > STATE_BYTES_MAX) return undefined;
      parts.push(value as Uint8Array);
    }
    return playOf(JSON.parse(await new Blob(parts as BlobPart[]).text()));
  } catch {
    return undefined;
  }
}

/** What another page has written, as far as it is what this one writes. */
function playOf(value: any): Play {
  const text = (it: unknown, absent = "") => (typeof it === "string" ? it : absent);
  const parts = (all: unknown): Part[] =>
    (Array.isArray(all) ? all : []).slice(0, 256).map(([kind, it]) => [KINDS.includes(kind) ? kind : "hex", text(it)]);
  const account = (it: any): AccountOf => ({
    key: text(it.key),
    isReference: it.isReference === true,
    isSigner: it.isSigner === true,
    isWritable: it.isWritable === true,
    lamports: text(it.lamports, "0"),
    owner: text(it.owner),
    data: parts(it.data),
  });
  return {
    source: text(value.source),
    version: VERSIONS.includes(value.version) ? value.version : "v3",
    programId: text(value.programId, PROGRAM_ID),
    limit: text(value.limit, "200000"),
    accounts: (Array.isArray(value.accounts) ? value.accounts : []).slice(0, 64).map(account),
    data: parts(value.data),
  };
}

export const OWNERS: [string, string][] = [
  ["", "this program"],
  [SYSTEM, "System"],
  ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "Token"],
  ["TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "Token-2022"],
];
