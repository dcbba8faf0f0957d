/** The limits and costs of transactions. */

/** What the network charges, which cannot be changed. */
class Costs {
  altBn128AdditionCost = 334n;
  altBn128G1Compress = 30n;
  altBn128G1Decompress = 398n;
  altBn128G2Compress = 86n;
  altBn128G2Decompress = 13610n;
  altBn128MultiplicationCost = 3840n;
  altBn128PairingOnePairCostFirst = 36364n;
  altBn128PairingOnePairCostOther = 12121n;
  cpiBytesPerUnit = 250n;
  createProgramAddressUnits = 1500n;
  curve25519EdwardsAddCost = 473n;
  curve25519EdwardsMsmBaseCost = 2273n;
  curve25519EdwardsMsmIncrementalCost = 758n;
  curve25519EdwardsMultiplyCost = 2177n;
  curve25519EdwardsSubtractCost = 475n;
  curve25519EdwardsValidatePointCost = 159n;
  curve25519RistrettoAddCost = 521n;
  curve25519RistrettoMsmBaseCost = 2303n;
  curve25519RistrettoMsmIncrementalCost = 788n;
  curve25519RistrettoMultiplyCost = 2208n;
  curve25519RistrettoSubtractCost = 519n;
  curve25519RistrettoValidatePointCost = 169n;
  getRemainingComputeUnitsCost = 100n;
  heapCost = 8n;
  invokeUnits = 946n;
  log64Units = 100n;
  logPubkeyUnits = 100n;
  maxCallDepth = 64n;
  maxInstructionStackDepth = 5n;
  maxInstructionTraceLength = 64n;
  memOpBaseCost = 10n;
  poseidonCostCoefficientA = 61n;
  poseidonCostCoefficientC = 542n;
  secp256K1RecoverCost = 25000n;
  sha256BaseCost = 85n;
  sha256ByteCost = 1n;
  sha256MaxSlices = 20000n;
  stackFrameSize = 4096n;
  syscallBaseCost = 100n;
  sysvarBaseCost = 100n;
}

/** The limits of every transaction, in the place of those that it requests. */
export class ComputeBudget extends Costs {
  /** The compute unit limit. */
  computeUnitLimit = 1_400_000n;
  /** The heap size in bytes. */
  heapSize = 32_768;
}

/**
 * Throws if a cost was changed: the runtime charges what the network charges.
 * @internal
 */
export function assertUnchangedCosts(budget: ComputeBudget): void {
  for (const [name, cost] of Object.entries(new Costs())) {
    const given: unknown = budget[name as keyof Costs];
    if (given !== cost) {
      throw new Error(
        `${name} cannot be changed: Selkie charges what mainnet charges. ` +
          "Only computeUnitLimit and heapSize can be set.",
      );
    }
  }
}
