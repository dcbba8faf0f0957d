/** The sysvars that remember: which slots had blocks, and how much was staked. */

import { describe, Reader, u64, Writer } from "./codec";

/** Whether a slot is in the history. */
export enum SlotHistoryCheck {
  Future = 0,
  TooOld = 1,
  Found = 2,
  NotFound = 3,
}

/** How many slots the history has. */
const SLOTS = 1n << 20n;
const WORD_BITS = 64n;
const WORDS = Number(SLOTS / WORD_BITS);

/** Which of the last 2^20 slots had a block, a bit each. */
export class SlotHistory {
  /**
   * @param bits - the bits: slot `n` has bit `n` modulo 2^20
   * @param nextSlot - the slot after the newest
   */
  constructor(
    public bits: BigUint64Array,
    public nextSlot: bigint,
  ) {}

  /** The history of a chain that has had slot 0. */
  static default(): SlotHistory {
    const history = new SlotHistory(new BigUint64Array(WORDS), 0n);
    history.add(0n);
    return history;
  }

  /** @internal */
  static decode(data: Uint8Array): SlotHistory {
    const from = new Reader(data);
    const hasWords = from.bool();
    const words = hasWords ? Number(from.u64()) : 0;
    const bits = BigUint64Array.from({ length: words }, () => from.u64());
    from.u64();
    return new SlotHistory(bits, from.u64());
  }

  /** @internal */
  encode(): Uint8Array {
    const { buffer, byteOffset, byteLength, length } = this.bits;
    if (length !== WORDS) {
      throw new RangeError(`the bits of a slot history are ${WORDS} words, not ${length}`);
    }
    const to = new Writer().bool(true).u64(BigInt(length));
    to.bytes(new Uint8Array(buffer, byteOffset, byteLength));
    return to.u64(SLOTS).u64(this.nextSlot, "nextSlot").finish();
  }

  /** Adds a slot. Slots between the newest and this one had no block. */
  add(slot: bigint): void {
    u64(slot, "slot");
    if (slot - this.nextSlot >= SLOTS) {
      this.bits.fill(0n);
    } else {
      for (let skipped = this.nextSlot; skipped < slot; skipped += 1n) {
        this.set(skipped, false);
      }
    }
    this.set(slot, true);
    this.nextSlot = slot + 1n;
  }

  /** Tells whether a slot had a block. */
  check(slot: bigint): SlotHistoryCheck {
    if (slot > this.newest()) {
      return SlotHistoryCheck.Future;
    }
    if (slot < this.oldest()) {
      return SlotHistoryCheck.TooOld;
    }
    const [word, mask] = place(slot);
    const isSet = ((this.bits[word] ?? 0n) & mask) !== 0n;
    return isSet ? SlotHistoryCheck.Found : SlotHistoryCheck.NotFound;
  }

  /** The oldest slot that it knows about. */
  oldest(): bigint {
    return this.nextSlot > SLOTS ? this.nextSlot - SLOTS : 0n;
  }

  /** The newest slot that it knows about. */
  newest(): bigint {
    return this.nextSlot - 1n;
  }

  toString(): string {
    return describe("SlotHistory", { oldest: this.oldest(), newest: this.newest() });
  }

  private set(slot: bigint, isSet: boolean): void {
    const [word, mask] = place(slot);
    const others = (this.bits[word] ?? 0n) & ~mask;
    this.bits[word] = isSet ? others | mask : others;
  }
}

/** The index of a slot's word, and its bit in there. */
function place(slot: bigint): [number, bigint] {
  const bit = slot % SLOTS;
  return [Number(bit / WORD_BITS), 1n << (bit % WORD_BITS)];
}

/** The stake of an epoch, in lamports. */
export class StakeHistoryEntry {
  /**
   * @param effective - what is staked
   * @param activating - what is becoming staked
   * @param deactivating - what is becoming free
   */
  constructor(
    public effective: bigint,
    public activating: bigint,
    public deactivating: bigint,
  ) {}

  toString(): string {
    return describe("StakeHistoryEntry", { ...this });
  }
}

/** How many epochs the stake history has. */
const EPOCHS_MAX = 512;

/** The stake of the last epochs. */
export class StakeHistory {
  /** Newest first. */
  private entries: [bigint, StakeHistoryEntry][] = [];

  /** @internal */
  static decode(data: Uint8Array): StakeHistory {
    const from = new Reader(data);
    const history = new StakeHistory();
    const entry = (): [bigint, StakeHistoryEntry] => [
      from.u64(),
      new StakeHistoryEntry(from.u64(), from.u64(), from.u64()),
    ];
    history.entries = Array.from({ length: Number(from.u64()) }, entry);
    return history;
  }

  /** @internal */
  encode(): Uint8Array {
    const to = new Writer().u64(BigInt(this.entries.length));
    for (const [epoch, { effective, activating, deactivating }] of this.entries) {
      to.u64(epoch, "epoch").u64(effective, "effective");
      to.u64(activating, "activating").u64(deactivating, "deactivating");
    }
    return to.finish(8 + EPOCHS_MAX * 32);
  }

  /** The stake of an epoch, or `null` if the history does not have it. */
  get(epoch: bigint): StakeHistoryEntry | null {
    return this.entries.find(([it]) => it === epoch)?.[1] ?? null;
  }

  /** Sets the stake of an epoch. The oldest epoch is dropped if there are more than 512. */
  add(epoch: bigint, entry: StakeHistoryEntry): void {
    const others = this.entries.filter(([it]) => it !== epoch);
    const newer = others.filter(([it]) => it > epoch);
    const older = others.slice(newer.length);
    this.entries = [...newer, [epoch, entry] as [bigint, StakeHistoryEntry], ...older];
    this.entries.length = Math.min(this.entries.length, EPOCHS_MAX);
  }
}
