/** Keys that the appliance made for itself. */
export interface SecretStorage {
  /** The secret of this name; `fresh` becomes it where there is none yet. All nodes of one storage get the same. */
  secret(args: { name: string; fresh: Uint8Array }, now: number): Promise<Uint8Array>
}
