/** Second factors: what somebody has, beside the password that somebody knows. */
import type { Identity } from './identities.ts'

/** An app that shows codes (RFC 6238). One for each person. */
export interface TotpFactor {
  userId: string
  /** The shared secret. */
  secret: Uint8Array
  createdAt: number
  /** Null until a first code came back: till then it opens nothing. */
  confirmedAt: number | null
  lastUsedAt: number | null
  /** The time step of the newest code that was taken. */
  lastStep: number
}

/** A key in a device or a password manager (WebAuthn). */
export interface Passkey {
  id: string
  userId: string
  /** In base64url, as browsers name it. Unique in the appliance. */
  credentialId: string
  /** The host name that the browser bound it to: it works under no other. */
  rpId: string
  name: string
  /** COSE. */
  publicKey: Uint8Array
  /** Of signatures made; 0 where the device does not count. */
  counter: number
  transports: string[]
  /** Whether it is kept in an account and not only in one device. */
  synced: boolean
  /** Whether it may be a whole sign-in. Not where it is older than the proof of the address: somebody else may have added it. */
  alone: boolean
  createdAt: number
  lastUsedAt: number | null
}

/** What of it somebody has. */
export interface FactorCounts {
  totp: boolean
  passkeys: number
  /** Unused ones. */
  recoveryCodes: number
}

/** Recovery codes alone are no second factor: they go with the last other one, and its sessions are strong no more. */
export interface FactorStorage {
  /** A new secret, in the place of one that was never confirmed; `exists` where one is in use. */
  startTotp(args: { userId: string; secret: Uint8Array }, now: number): Promise<'started' | 'exists'>
  findTotp(args: { userId: string }, now: number): Promise<TotpFactor | undefined>
  /** From here on it counts. False when there is nothing to confirm: of several calls exactly one confirms. */
  confirmTotp(args: { userId: string; step: number }, now: number): Promise<boolean>
  /** Takes the code of a time step; false when it, or a later one, was taken before. */
  useTotp(args: { userId: string; step: number }, now: number): Promise<boolean>
  /** False when there is none. */
  removeTotp(args: { userId: string }, now: number): Promise<boolean>
  /** All older ones are void. */
  replaceRecoveryCodes(args: { userId: string; hashes: string[] }, now: number): Promise<void>
  /** False when there is none such, or it was used: of several callers exactly one uses it. */
  useRecoveryCode(args: { userId: string; hash: string }, now: number): Promise<boolean>
  /** `exists` when the credential is there already, whosever it is; `full` when the user has `most`; `signed_out` when the session that adds it has ended. */
  addPasskey(
    args: { passkey: Passkey; most: number; tokenHash?: string },
    now: number,
  ): Promise<'added' | 'exists' | 'full' | 'signed_out'>
  /** The oldest first. */
  listPasskeys(args: { userId: string }, now: number): Promise<Passkey[]>
  findPasskey(args: { credentialId: string }, now: number): Promise<Passkey | undefined>
  /**
   * Notes a signature. False when its counter is not beyond the stored one (WebAuthn §6.1.1: a copy may be in use); devices
   * that do not count say 0 always.
   */
  usePasskey(args: { credentialId: string; counter: number; synced: boolean }, now: number): Promise<boolean>
  /** Undefined where it is not the user's. */
  renamePasskey(args: { userId: string; id: string; name: string }, now: number): Promise<Passkey | undefined>
  /** `missing`: it is not the user's. `last`: there is no password, no other passkey and no identity to enter by; it stays. */
  removePasskey(args: { userId: string; id: string }, now: number): Promise<'removed' | 'last' | 'missing'>
  countFactors(args: { userId: string }, now: number): Promise<FactorCounts>
  /** Whether there is one that counts: an app that was confirmed, or a passkey. */
  hasSecondFactor(args: { userId: string }, now: number): Promise<boolean>
  /**
   * Takes all factors and recovery codes away, with `unlink` the identities at providers too, and ends the user's sessions and tickets;
   * returns what there was.
   */
  resetFactors(
    args: { userId: string; unlink: boolean },
    now: number,
  ): Promise<FactorCounts & { identities: Identity[] }>
}
