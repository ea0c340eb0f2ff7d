/**
 * Keeps secrets encrypted at rest. DKIM private keys and the secrets of webhooks, authenticator apps and links are
 * sealed with a master key that is not in the database (docs/security.md).
 */
import type { SealingStorage } from '../storage/storage.ts'
import { findKey } from './find-key.ts'
import {
  describeSource,
  createKeyFile,
  MasterKeyError,
  readMasterKey,
  chooseKeySource,
  type KeyLocations,
} from './master-key.ts'
import type { Sealer } from './seal.ts'

export { wipeOldValues } from './rekey.ts'
export { MasterKeyError, type KeyLocations } from './master-key.ts'
export { rekey, type RekeyResult } from './rekey.ts'
export type { Sealer } from './seal.ts'
export { sealStorage } from './sealed.ts'

/** Maximum number of times that another process may win the race before this is treated as an error. */
const ATTEMPTS = 3

/**
 * Finds the key that the database is sealed with. Seals everything if the database isn't sealed yet, and generates a
 * key if none is configured.
 * @throws MasterKeyError if the key is missing or has another id; nothing is changed then
 */
export function openSealer(places: KeyLocations, storage: SealingStorage, now: number): Sealer {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const sealing = storage.readSealing(places.dataDir)
    if (sealing) return findKey(places, sealing.keyId).sealer
    const { sealer } = readMasterKey(places) ?? createKeyFile(places)
    const rewrite = (value: Uint8Array, place: string) => Buffer.from(sealer.seal(value, place))
    if (storage.reseal({ dataDir: places.dataDir, from: null, to: sealer.keyId, rewrite }, now)) return sealer
  }
  throw new MasterKeyError('Another process encrypted the database at the same time. Try again.')
}

/**
 * Returns the contents of the key file with this id, if Posthaste generated it; undefined if the key comes from
 * elsewhere or doesn't exist.
 */
export function readGeneratedKeyFile(places: KeyLocations, keyId: string): Buffer | undefined {
  if (chooseKeySource(places).kind !== 'own') return undefined
  try {
    return Buffer.from(findKey(places, keyId).text)
  } catch (error) {
    if (error instanceof MasterKeyError) return undefined // The backup command reports that the key is missing.
    throw error
  }
}

/** The state of encryption at rest, as shown to people. */
export interface SecretsStatus {
  /** ID of the key; null until the first start seals the database. */
  keyId: string | null
  /** Description of where the key comes from. */
  source: string
  /** Why the key cannot be used; null if it can. */
  trouble: string | null
  sealedAt: number | null
  cleanedAt: number | null
  counts: { kind: string; sealed: number; plain: number }[]
}

/** Returns the state without changing anything, except that it may finish an interrupted key rotation. */
export function getSecretsStatus(places: KeyLocations, storage: SealingStorage): SecretsStatus {
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

function lookAtKey(
  places: KeyLocations,
  keyId: string | undefined,
): { source: string; trouble: string | null } {
  try {
    if (keyId !== undefined) findKey(places, keyId)
    else readMasterKey(places)
    return { source: describeSource(chooseKeySource(places)), trouble: null }
  } catch (error) {
    if (!(error instanceof MasterKeyError)) throw error
    return { source: describeSource(chooseKeySource(places)), trouble: error.message }
  }
}
