/** Bytes of sysvars: little-endian numbers one after another. */

import { type Address, getAddressCodec } from "@solana/kit";

const addresses = getAddressCodec();

/** The bytes of an address. */
export function addressBytes(address: Address): Uint8Array {
  return Uint8Array.from(addresses.encode(address));
}

/** The address, or a hash, of these bytes. */
export function addressText(bytes: Uint8Array): Address {
  return addresses.decode(bytes);
}

/** Throws a `RangeError` for a number that has more than 64 bits or is negative. */
export function u64(value: bigint, what: string): bigint {
  if (value < 0n || value >= 1n << 64n) {
    throw new RangeError(`${what} must be between 0 and 2^64 - 1, not ${value}`);
  }
  return value;
}

/** Writes values. */
export class Writer {
  private readonly parts: Uint8Array[] = [];

  bytes(bytes: Uint8Array): this {
    this.parts.push(bytes);
    return this;
  }

  u8(value: number): this {
    return this.bytes(Uint8Array.of(value));
  }

  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  u64(value: bigint, what = "a number"): this {
    return this.number(u64(value, what));
  }

  i64(value: bigint, what = "a number"): this {
    if (BigInt.asIntN(64, value) !== value) {
      throw new RangeError(`${what} must fit 64 bits, not ${value}`);
    }
    return this.number(BigInt.asUintN(64, value));
  }

  u128(value: bigint, what = "a number"): this {
    if (value < 0n || value >= 1n << 128n) {
      throw new RangeError(`${what} must be between 0 and 2^128 - 1, not ${value}`);
    }
    return this.number(BigInt.asUintN(64, value)).number(value >> 64n);
  }

  f64(value: number): this {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, true);
    return this.bytes(bytes);
  }

  /** What was written, with zeros up to `length`. */
  finish(length = 0): Uint8Array {
    const joined = Buffer.concat(this.parts);
    const bytes = new Uint8Array(Math.max(length, joined.length));
    bytes.set(joined);
    return bytes;
  }

  private number(value: bigint): this {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value, true);
    return this.bytes(bytes);
  }
}

/** Reads values. */
export class Reader {
  private readonly view: DataView;
  private at = 0;

  constructor(private readonly data: Uint8Array) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  bytes(length: number): Uint8Array {
    this.at += length;
    return this.data.slice(this.at - length, this.at);
  }

  u8(): number {
    this.at += 1;
    return this.view.getUint8(this.at - 1);
  }

  bool(): boolean {
    return this.u8() !== 0;
  }

  u64(): bigint {
    this.at += 8;
    return this.view.getBigUint64(this.at - 8, true);
  }

  i64(): bigint {
    return BigInt.asIntN(64, this.u64());
  }

  u128(): bigint {
    const low = this.u64();
    return (this.u64() << 64n) | low;
  }

  f64(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }
}

/** Describes an object as Rust does. */
export function describe(name: string, fields: object): string {
  const entries = Object.entries(fields).map(([key, value]) => `${key}: ${String(value)}`);
  return `${name} { ${entries.join(", ")} }`;
}
