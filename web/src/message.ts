// Transactions and messages as bytes: legacy ones and those of version 0.

import { base58, base64, fromBase58, fromBase64, fromHex } from "./bytes";

export interface Message {
  version: "legacy" | number;
  signatures: string[];
  keys: { pubkey: string; signer: boolean; writable: boolean }[];
  recentBlockhash: string;
  instructions: { program: number; accounts: number[]; data: Uint8Array }[];
  lookups: { table: string; writable: number[]; readonly: number[] }[];
  /** The transaction in base64; of a message, with signatures of zeros. */
  transaction: string;
}

class Reader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new Error(`The bytes end at ${this.bytes.length}, within a field that begins at ${this.at}.`);
    return this.bytes.subarray(this.at, (this.at += length));
  }

  byte = () => this.take(1)[0];

  /** A length of one to three bytes. */
  length(): number {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new Error(`The length before byte ${this.at} is too long.`);
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.length() }, read);
  }

  key = () => base58(this.take(32));
  indices = () => [...this.take(this.length())];
}

/** Reads a transaction or a message from what was pasted, in base64, base58 or hexadecimal. */
export function decode(text: string): Message {
  const pasted = text.replace(/\s+/g, "");
  if (!pasted) throw new Error("Paste a transaction or a message in base64, base58 or hexadecimal.");
  const forms = [/^[0-9a-fA-F]+$/.test(pasted) && pasted.length % 2 === 0 ? fromHex(pasted) : undefined, fromBase58(pasted), fromBase64(pasted)];
  let problem: unknown;
  for (const bytes of forms) {
    if (!bytes?.length) continue;
    for (const read of [transaction, message]) {
      try {
        return read(bytes);
      } catch (error) {
        problem = error;
      }
    }
  }
  if (problem instanceof Error) throw new Error(`This is no transaction and no message. ${problem.message}`);
  throw new Error("This is neither base64, base58 nor hexadecimal.");
}

function transaction(bytes: Uint8Array): Message {
  const reader = new Reader(bytes);
  const signatures = reader.list(() => base58(reader.take(64)));
  const found = body(reader, signatures);
  return { ...found, transaction: base64(bytes) };
}

function message(bytes: Uint8Array): Message {
  const found = body(new Reader(bytes), []);
  const signers = found.keys.filter((it) => it.signer).length;
  return { ...found, transaction: base64(new Uint8Array([signers, ...new Array(64 * signers).fill(0), ...bytes])) };
}

function body(reader: Reader, signatures: string[]): Omit<Message, "transaction"> {
  let first = reader.byte();
  let version: "legacy" | number = "legacy";
  if (first & 128) {
    version = first & 127;
    if (version !== 0) throw new Error(`Messages of version ${version} are not decoded here.`);
    first = reader.byte();
  }
  const [signers, readonlySigners, readonlyOthers] = [first, reader.byte(), reader.byte()];
  const addresses = reader.list(reader.key);
  if (signers === 0 || signers > addresses.length) throw new Error(`It needs ${signers} signatures, and has ${addresses.length} accounts.`);
  if (signatures.length > 0 && signatures.length !== signers) throw new Error(`It has ${signatures.length} signatures, and needs ${signers}.`);
  const keys = addresses.map((pubkey, index) => ({
    pubkey,
    signer: index < signers,
    writable: index < signers ? index < signers - readonlySigners : index < addresses.length - readonlyOthers,
  }));
  const recentBlockhash = reader.key();
  const instructions = reader.list(() => ({ program: reader.byte(), accounts: reader.indices(), data: reader.take(reader.length()) }));
  const lookups = version === 0 ? reader.list(() => ({ table: reader.key(), writable: reader.indices(), readonly: reader.indices() })) : [];
  if (reader.at !== reader.bytes.length) throw new Error(`${reader.bytes.length - reader.at} bytes are left over.`);
  return { version, signatures, keys, recentBlockhash, instructions, lookups };
}
