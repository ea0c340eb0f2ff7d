import {
  describeSource,
  exchangeKeyFile,
  MasterKeyRefused,
  nextKeyPath,
  readKeyFile,
  readMasterKey,
  sourceOf,
  type KeyPlaces,
  type MasterKey,
} from './master-key.ts'

/**
 * Returns the key with this id. Finishes a key rotation that stopped between updating the database and replacing the
 * key file.
 * @throws MasterKeyRefused when the key is missing or has another id
 */
export function findKey(places: KeyPlaces, keyId: string): MasterKey {
  const found = readMasterKey(places)
  if (found?.sealer.keyId === keyId) return found
  const source = sourceOf(places)
  if (source.kind === 'own' || source.kind === 'file') {
    const next = readKeyFile(nextKeyPath(source.path), source)
    if (next?.sealer.keyId === keyId) {
      exchangeKeyFile(source.path)
      return next
    }
    // Another process may have finished the rotation between the two reads.
    const again = readMasterKey(places)
    if (again?.sealer.keyId === keyId) return again
  }
  const what = found ? `contains another key, ${found.sealer.keyId}` : 'does not exist'
  throw new MasterKeyRefused(
    `The secrets in ${places.dataDir} are encrypted with the master key ${keyId}, but ${describeSource(source)} ${what}. Put the right key there. docs/security.md lists where copies of it may be. Nothing was changed.`,
  )
}
