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
 * The key with this id. An exchange of keys that was broken off between the database and the file is finished.
 * @throws MasterKeyRefused when the key is missing or another one
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
    // Another process may have finished it between the two looks.
    const again = readMasterKey(places)
    if (again?.sealer.keyId === keyId) return again
  }
  const what = found ? `contains another key, ${found.sealer.keyId}` : 'does not exist'
  throw new MasterKeyRefused(
    `The secrets in ${places.dataDir} are encrypted with the master key ${keyId}, but ${describeSource(source)} ${what}. Put the right key there. docs/security.md lists where copies of it may be. Nothing was changed.`,
  )
}
