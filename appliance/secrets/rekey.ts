/** Rotates the master key. */
import { rmSync } from 'node:fs'
import type { SealingStorage } from '../storage/storage.ts'
import { findKey } from './find-key.ts'
import {
  describeSource,
  replaceKeyFile,
  generateMasterKey,
  MasterKeyError,
  nextKeyPath,
  readKeyFile,
  writeKeyFile,
  type KeyLocations,
  type MasterKey,
} from './master-key.ts'

/** The result of a rotation. */
export interface RekeyResult {
  from: string
  to: string
  /** Description of where the new key is stored. */
  source: string
  /**
   * Whether the operator has to install the new key before the next start, because a command can't write to the key's
   * source.
   */
  handOver: boolean
  /** Whether values sealed with the old key were erased from the free pages of the database. */
  cleaned: boolean
}

/**
 * Reseals every secret with a new key. The daemon must not be running. The command can be killed at any point: the new
 * key is on disk before the database needs it, and the old one is kept until it is no longer needed, so that one of the
 * two key files always opens the database.
 * @param newKeyFile a file with the new key; if undefined, a key is generated
 * @throws MasterKeyError with the reason; nothing is changed then
 */
export function rekey(
  places: KeyLocations & { newKeyFile: string | undefined },
  storage: SealingStorage,
  now: number,
): RekeyResult {
  const { dataDir, newKeyFile } = places
  const sealing = storage.readSealing(dataDir)
  if (!sealing)
    throw new MasterKeyError(
      `The secrets in ${dataDir} are not encrypted yet; the next start encrypts them. Nothing was changed.`,
    )
  const present = findKey(places, sealing.keyId)
  const next = newKeyFile === undefined ? madeFor(present) : given(newKeyFile)
  const { keyId: from } = present.sealer
  const { keyId: to } = next.sealer
  if (from === to) throw new MasterKeyError(`${newKeyFile} contains the current key. Nothing was changed.`)
  const path = fileOf(present)
  if (path !== undefined) writeKeyFile(nextKeyPath(path), next, path)
  const rewrite = (value: Uint8Array, place: string) =>
    Buffer.from(next.sealer.seal(present.sealer.open(Buffer.from(value).toString('latin1'), place), place))
  try {
    if (!storage.reseal({ dataDir, from, to, rewrite }, now))
      throw new MasterKeyError('Another command changed the key at the same time. Nothing was changed.')
  } catch (error) {
    if (path !== undefined && storage.readSealing(dataDir)?.keyId === from)
      rmSync(nextKeyPath(path), { force: true })
    throw error
  }
  if (path !== undefined) replaceKeyFile(path)
  const cleaned = wipeOldValues(dataDir, storage, now)
  return { from, to, source: describeSource(present.source), handOver: path === undefined, cleaned }
}

/** Returns the key file that this command may replace; undefined if the key comes from elsewhere. */
function fileOf({ source }: MasterKey): string | undefined {
  return source.kind === 'own' || source.kind === 'file' ? source.path : undefined
}

function madeFor(present: MasterKey): MasterKey {
  if (fileOf(present) !== undefined) return generateMasterKey(present.source)
  throw new MasterKeyError(
    `The master key comes from ${describeSource(present.source)}, which this command cannot change. Create a new key in a file (openssl rand -base64 32), pass the file with --new-key-file, and then configure the service to use it.`,
  )
}

function given(file: string): MasterKey {
  const found = readKeyFile(file, { kind: 'named', path: file })
  if (!found) throw new MasterKeyError(`File not found: ${file}. Nothing was changed.`)
  return found
}

/**
 * Erases old values of the secrets from the free pages of the database, once, after everything was sealed.
 * @returns false if that failed because the disk is full or another process holds a lock; the next start retries
 */
export function wipeOldValues(dataDir: string, storage: SealingStorage, now: number): boolean {
  if (storage.readSealing(dataDir)?.cleanedAt !== null) return true
  try {
    storage.cleanSecrets(dataDir, now)
    return true
  } catch {
    return false // Mail is still sent, and `posthaste secrets status` reports it.
  }
}
