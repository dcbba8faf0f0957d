/** Features of the network. */

import { type NativeFeatures, native } from "./native";

/** Which features are active, and since which slot. Features are the bytes of their addresses. */
export class FeatureSet {
  /** @internal */
  readonly native: NativeFeatures;

  /** Creates a set in which no feature is active. */
  constructor() {
    this.native = native.NativeFeatures.create(false);
  }

  /** Creates a set in which all features are active since slot 0. */
  static allEnabled(): FeatureSet {
    return Object.assign(new FeatureSet(), { native: native.NativeFeatures.create(true) });
  }

  isActive(featureId: Uint8Array): boolean {
    return this.activatedSlot(featureId) !== null;
  }

  /** The slot since which a feature is active, or `null`. */
  activatedSlot(featureId: Uint8Array): bigint | null {
    return this.native.activatedSlot(featureId);
  }

  activate(featureId: Uint8Array, slot: bigint): void {
    this.native.activate(featureId, slot);
  }

  deactivate(featureId: Uint8Array): void {
    this.native.deactivate(featureId);
  }

  getActiveFeatures(): Buffer[] {
    return this.native.active().map((it) => Buffer.from(it));
  }

  getInactiveFeatures(): Buffer[] {
    return this.native.inactive().map((it) => Buffer.from(it));
  }

  getActiveFeaturesCount(): number {
    return this.native.active().length;
  }

  getInactiveFeaturesCount(): number {
    return this.native.inactive().length;
  }

  toString(): string {
    return this.native.text();
  }
}
