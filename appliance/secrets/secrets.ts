/**
 * Keeps secrets encrypted at rest. DKIM private keys and the secrets of webhooks, authenticator apps and links are
 * sealed with a master key that is not in the database (docs/security.md).
 */
import type { SealingStorage } from '../storage/storage.ts'
import { findKey } from './find-key.ts'
import {
  describeSource,
  makeOwnKey,
  MasterKeyRefused,
  readMasterKey,
  sourceOf,
  type KeyPlaces,
} from './master-key.ts'
import type { Sealer } from './seal.ts'

export { cleanOnce } from './rekey.ts'
export { MasterKeyRefused, type KeyPlaces } from './master-key.ts'
export { rekey, type Rekeyed } from './rekey.ts'
export type { Sealer } from './seal.ts'
export { sealed } from './sealed.ts'

/** How many times another process may win the race before this is treated as an error. */
const ATTEMPTS = 3

/**
 * Finds the key that the database is sealed with. Seals everything when the database isn't sealed yet, and generates a
 * key if none is configured.
 * @throws MasterKeyRefused when the key is missing or has another id; nothing is changed then
 */
export function unlock(places: KeyPlaces, storage: SealingStorage, now: number): Sealer {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const sealing = storage.readSealing(places.dataDir)
    if (sealing) return findKey(places, sealing.keyId).sealer
    const { sealer } = readMasterKey(places) ?? makeOwnKey(places)
    const rewrite = (value: Uint8Array, place: string) => Buffer.from(sealer.seal(value, place))
    if (storage.reseal({ dataDir: places.dataDir, from: null, to: sealer.keyId, rewrite }, now)) return sealer
  }
  throw new MasterKeyRefused('Another process encrypted the database at the same time. Try again.')
}

/**
 * The contents of the key file with this id, if Posthaste generated it; undefined when the key comes from elsewhere or
 * doesn't exist.
 */
export function ownKey(places: KeyPlaces, keyId: string): Buffer | undefined {
  if (sourceOf(places).kind !== 'own') return undefined
  try {
    return Buffer.from(findKey(places, keyId).text)
  } catch (error) {
    if (error instanceof MasterKeyRefused) return undefined // Who backs up is told that it is not in it.
    throw error
  }
}

/** The state of encryption at rest, as shown to people. */
export interface SecretsStatus {
  /** Null until the first start seals the database. */
  keyId: string | null
  /** Where the key comes from, in words. */
  source: string
  /** Why the key cannot be used; null when it can. */
  trouble: string | null
  sealedAt: number | null
  cleanedAt: number | null
  counts: { kind: string; sealed: number; plain: number }[]
}

/** Reports the state without changing anything, except that it may finish an interrupted key rotation. */
export function secretsStatus(places: KeyPlaces, storage: SealingStorage): SecretsStatus {
  const sealing = storage.readSealing(places.dataDir)
  const { source, trouble } = lookAtKey(places, sealing?.keyId)
  return {
    keyId: sealing?.keyId ?? null,
    source,
    trouble,
    sealedAt: sealing?.sealedAt ?? null,
    cleanedAt: sealing?.cleanedAt ?? null,
    counts: storage.countSecrets(places.dataDir),
  }
}

function lookAtKey(places: KeyPlaces, keyId: string | undefined): { source: string; trouble: string | null } {
  try {
    if (keyId !== undefined) findKey(places, keyId)
    else readMasterKey(places)
    return { source: describeSource(sourceOf(places)), trouble: null }
  } catch (error) {
    if (!(error instanceof MasterKeyRefused)) throw error
    return { source: describeSource(sourceOf(places)), trouble: error.message }
  }
}
