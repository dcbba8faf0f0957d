/** The values of sysvars. */

import type { Address } from "@solana/kit";

import { addressBytes, addressText, describe, Reader, u64, Writer } from "./codec";

/** The network's time. */
export class Clock {
  /**
   * @param slot - the current slot
   * @param epochStartTimestamp - when the first slot of this epoch began, in Unix seconds
   * @param epoch - the current epoch
   * @param leaderScheduleEpoch - the last epoch whose leaders are known
   * @param unixTimestamp - the time, in Unix seconds
   */
  constructor(
    public slot: bigint,
    public epochStartTimestamp: bigint,
    public epoch: bigint,
    public leaderScheduleEpoch: bigint,
    public unixTimestamp: bigint,
  ) {}

  /** @internal */
  static decode(data: Uint8Array): Clock {
    const from = new Reader(data);
    return new Clock(from.u64(), from.i64(), from.u64(), from.u64(), from.i64());
  }

  /** @internal */
  encode(): Uint8Array {
    const to = new Writer().u64(this.slot, "slot");
    to.i64(this.epochStartTimestamp, "epochStartTimestamp").u64(this.epoch, "epoch");
    to.u64(this.leaderScheduleEpoch, "leaderScheduleEpoch");
    return to.i64(this.unixTimestamp, "unixTimestamp").finish();
  }

  toString(): string {
    return describe("Clock", { ...this });
  }
}

/** How epochs follow each other. */
export class EpochSchedule {
  /**
   * @param slotsPerEpoch - the slots of an epoch after the warm-up
   * @param leaderScheduleSlotOffset - how many slots before an epoch its leaders are known
   * @param warmup - whether epochs start short and grow
   * @param firstNormalEpoch - the first epoch after the warm-up
   * @param firstNormalSlot - the first slot after the warm-up
   */
  constructor(
    public slotsPerEpoch: bigint,
    public leaderScheduleSlotOffset: bigint,
    public warmup: boolean,
    public firstNormalEpoch: bigint,
    public firstNormalSlot: bigint,
  ) {}

  /** @internal */
  static decode(data: Uint8Array): EpochSchedule {
    const from = new Reader(data);
    return new EpochSchedule(from.u64(), from.u64(), from.bool(), from.u64(), from.u64());
  }

  /** @internal */
  encode(): Uint8Array {
    const to = new Writer().u64(this.slotsPerEpoch, "slotsPerEpoch");
    to.u64(this.leaderScheduleSlotOffset, "leaderScheduleSlotOffset").bool(this.warmup);
    to.u64(this.firstNormalEpoch, "firstNormalEpoch");
    return to.u64(this.firstNormalSlot, "firstNormalSlot").finish();
  }
}

/** How far the rewards of an epoch have been distributed. */
export class EpochRewards {
  constructor(
    public distributionStartingBlockHeight: bigint,
    public numPartitions: bigint,
    public parentBlockhash: string,
    public totalPoints: bigint,
    public totalRewards: bigint,
    public distributedRewards: bigint,
    public active: boolean,
  ) {}

  /** @internal */
  static decode(data: Uint8Array): EpochRewards {
    const from = new Reader(data);
    const [height, partitions, hash] = [from.u64(), from.u64(), addressText(from.bytes(32))];
    const [points, total, distributed] = [from.u128(), from.u64(), from.u64()];
    const active = from.bool();
    return new EpochRewards(height, partitions, hash, points, total, distributed, active);
  }

  /** @internal */
  encode(): Uint8Array {
    const to = new Writer();
    to.u64(this.distributionStartingBlockHeight, "distributionStartingBlockHeight");
    to.u64(this.numPartitions, "numPartitions").bytes(addressBytes(this.parentBlockhash as Address));
    to.u128(this.totalPoints, "totalPoints").u64(this.totalRewards, "totalRewards");
    return to.u64(this.distributedRewards, "distributedRewards").bool(this.active).finish();
  }
}

/** The bytes that an account costs besides its data. */
const ACCOUNT_OVERHEAD = 128n;

/** What accounts cost. */
export class Rent {
  /**
   * @param lamportsPerByteYear - lamports for a byte and a year; for a byte where `exemptionThreshold` is 1
   * @param exemptionThreshold - for how many years an account's balance must suffice
   * @param burnPercent - how many per cent of collected rent are burned
   */
  constructor(
    public lamportsPerByteYear: bigint,
    public exemptionThreshold: number,
    public burnPercent: number,
  ) {}

  /** The rent of a new network. */
  static default(): Rent {
    return new Rent(6960n, 1, 50);
  }

  /** A rent of nothing. */
  static free(): Rent {
    return new Rent(0n, 1, 50);
  }

  /** @deprecated The rent does not depend on the length of epochs; this is `Rent.default`. */
  static withSlotsPerEpoch(_slotsPerEpoch: bigint): Rent {
    return Rent.default();
  }

  /** @internal */
  static decode(data: Uint8Array): Rent {
    const from = new Reader(data);
    return new Rent(from.u64(), from.f64(), from.u8());
  }

  /** @internal */
  encode(): Uint8Array {
    const to = new Writer().u64(this.lamportsPerByteYear, "lamportsPerByteYear");
    return to.f64(this.exemptionThreshold).u8(this.burnPercent).finish();
  }

  /** How much of collected rent is burned, and how much validators get. */
  calculateBurn(rentCollected: bigint): [bigint, bigint] {
    const burned = (rentCollected * BigInt(this.burnPercent)) / 100n;
    return [burned, rentCollected - burned];
  }

  /** The minimum balance of an account with so many bytes of data. */
  minimumBalance(dataLen: bigint): bigint {
    return this.dueAmount(dataLen, this.exemptionThreshold);
  }

  /** Whether an account with this balance and size is exempt from rent. */
  isExempt(balance: bigint, dataLen: bigint): boolean {
    return balance >= this.minimumBalance(dataLen);
  }

  /** The rent for so many years, or `null` for an account that is exempt. */
  due(balance: bigint, dataLen: bigint, yearsElapsed: number): bigint | null {
    return this.isExempt(balance, dataLen) ? null : this.dueAmount(dataLen, yearsElapsed);
  }

  /** The rent of an account that is not exempt, for so many years. */
  dueAmount(dataLen: bigint, yearsElapsed: number): bigint {
    const perYear = (ACCOUNT_OVERHEAD + u64(dataLen, "dataLen")) * this.lamportsPerByteYear;
    const isWhole = Number.isSafeInteger(yearsElapsed);
    return isWhole
      ? perYear * BigInt(yearsElapsed)
      : BigInt(Math.trunc(Number(perYear) * yearsElapsed));
  }

  toString(): string {
    return describe("Rent", { ...this });
  }
}

/** The hash of a slot. */
export class SlotHash {
  slot = 0n;
  hash = addressText(new Uint8Array(32)) as string;
}

/** The size of the account, which does not depend on how many hashes there are. */
const SLOT_HASHES_BYTES = 20_488;
const SLOT_HASHES_MAX = 512;

/** @internal */
export function decodeSlotHashes(data: Uint8Array): SlotHash[] {
  const from = new Reader(data);
  const entry = () =>
    Object.assign(new SlotHash(), { slot: from.u64(), hash: addressText(from.bytes(32)) });
  return Array.from({ length: Number(from.u64()) }, entry);
}

/** @internal */
export function encodeSlotHashes(hashes: readonly { slot: bigint; hash: string }[]): Uint8Array {
  if (hashes.length > SLOT_HASHES_MAX) {
    throw new RangeError(`there are at most ${SLOT_HASHES_MAX} slot hashes, not ${hashes.length}`);
  }
  const to = new Writer().u64(BigInt(hashes.length));
  for (const { slot, hash } of hashes) {
    to.u64(slot, "slot").bytes(addressBytes(hash as Address));
  }
  return to.finish(SLOT_HASHES_BYTES);
}
