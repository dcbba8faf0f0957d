// Bytes as text: base58, base64 and hexadecimal.

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export function base58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let index = 0; index < digits.length; index++) {
      carry += digits[index] << 8;
      digits[index] = carry % 58;
      carry = (carry / 58) | 0;
    }
    for (; carry > 0; carry = (carry / 58) | 0) digits.push(carry % 58);
  }
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  return "1".repeat(zeros) + digits.reverse().map((it) => ALPHABET[it]).join("");
}

/** Returns nothing if a text is not base58. */
export function fromBase58(text: string): Uint8Array | undefined {
  const bytes: number[] = [];
  for (const letter of text) {
    let carry = ALPHABET.indexOf(letter);
    if (carry < 0) return undefined;
    for (let index = 0; index < bytes.length; index++) {
      carry += bytes[index] * 58;
      bytes[index] = carry & 255;
      carry >>= 8;
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 255);
  }
  let zeros = 0;
  while (zeros < text.length && text[zeros] === "1") zeros++;
  return new Uint8Array([...new Array(zeros).fill(0), ...bytes.reverse()]);
}

/** Returns nothing if a text is not base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (it) => it.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export const hex = (bytes: Uint8Array) => [...bytes].map((it) => it.toString(16).padStart(2, "0")).join("");

export const fromHex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (it) => parseInt(it, 16));

export const isAddress = (text: string) => text.length >= 32 && text.length <= 44 && fromBase58(text)?.length === 32;

export const isSignature = (text: string) => text.length >= 64 && text.length <= 88 && fromBase58(text)?.length === 64;

export function u64(bytes: Uint8Array, offset: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(offset, true);
}
