/** Rotates the master key. */
import { rmSync } from 'node:fs'
import type { SealingStorage } from '../storage/storage.ts'
import { findKey } from './find-key.ts'
import {
  describeSource,
  exchangeKeyFile,
  freshKey,
  MasterKeyRefused,
  nextKeyPath,
  readKeyFile,
  writeKeyFile,
  type KeyPlaces,
  type MasterKey,
} from './master-key.ts'

/** The result of a rotation. */
export interface Rekeyed {
  from: string
  to: string
  /** Where the new key is stored, in words. */
  source: string
  /**
   * True when the operator has to install the new key before the next start, because a command can't write to its
   * source.
   */
  handOver: boolean
  /** Whether values sealed with the old key were wiped from the free pages of the database. */
  cleaned: boolean
}

/**
 * Reseals every secret with a new key. The daemon must not be running. The command can be killed at any point: the new
 * key is on disk before the database needs it, and the old one stays until it is no longer needed, so that one of the
 * two key files always opens the database.
 * @param newKeyFile a file with the new key; generated when left out
 * @throws MasterKeyRefused with the reason; nothing is changed then
 */
export function rekey(
  places: KeyPlaces & { newKeyFile: string | undefined },
  storage: SealingStorage,
  now: number,
): Rekeyed {
  const { dataDir, newKeyFile } = places
  const sealing = storage.readSealing(dataDir)
  if (!sealing)
    throw new MasterKeyRefused(
      `The secrets in ${dataDir} are not encrypted yet; the next start encrypts them. Nothing was changed.`,
    )
  const present = findKey(places, sealing.keyId)
  const next = newKeyFile === undefined ? madeFor(present) : given(newKeyFile)
  const { keyId: from } = present.sealer
  const { keyId: to } = next.sealer
  if (from === to) throw new MasterKeyRefused(`${newKeyFile} contains the current key. Nothing was changed.`)
  const path = fileOf(present)
  if (path !== undefined) writeKeyFile(nextKeyPath(path), next, path)
  const rewrite = (value: Uint8Array, place: string) =>
    Buffer.from(next.sealer.seal(present.sealer.open(Buffer.from(value).toString('latin1'), place), place))
  try {
    if (!storage.reseal({ dataDir, from, to, rewrite }, now))
      throw new MasterKeyRefused('Another command changed the key at the same time. Nothing was changed.')
  } catch (error) {
    if (path !== undefined && storage.readSealing(dataDir)?.keyId === from)
      rmSync(nextKeyPath(path), { force: true })
    throw error
  }
  if (path !== undefined) exchangeKeyFile(path)
  const cleaned = cleanOnce(dataDir, storage, now)
  return { from, to, source: describeSource(present.source), handOver: path === undefined, cleaned }
}

/** The key file that this command may replace; undefined when the key comes from elsewhere. */
function fileOf({ source }: MasterKey): string | undefined {
  return source.kind === 'own' || source.kind === 'file' ? source.path : undefined
}

function madeFor(present: MasterKey): MasterKey {
  if (fileOf(present) !== undefined) return freshKey(present.source)
  throw new MasterKeyRefused(
    `The master key comes from ${describeSource(present.source)}, which this command cannot change. Create a new key in a file (openssl rand -base64 32), pass the file with --new-key-file, and then configure the service to use it.`,
  )
}

function given(file: string): MasterKey {
  const found = readKeyFile(file, { kind: 'named', path: file })
  if (!found) throw new MasterKeyRefused(`File not found: ${file}. Nothing was changed.`)
  return found
}

/**
 * Wipes old values of the secrets from the free pages of the database, once, after everything was sealed.
 * @returns false when that failed because the disk is full or another process holds a lock; the next start retries
 */
export function cleanOnce(dataDir: string, storage: SealingStorage, now: number): boolean {
  if (storage.readSealing(dataDir)?.cleanedAt !== null) return true
  try {
    storage.cleanSecrets(dataDir, now)
    return true
  } catch {
    return false // Mail goes out all the same, and `posthaste secrets status` says it.
  }
}
