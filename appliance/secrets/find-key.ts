import {
  describeSource,
  replaceKeyFile,
  MasterKeyError,
  nextKeyPath,
  readKeyFile,
  readMasterKey,
  chooseKeySource,
  type KeyLocations,
  type MasterKey,
} from './master-key.ts'

/**
 * Returns the key with this id. Finishes a key rotation that stopped between updating the database and replacing the
 * key file.
 * @throws MasterKeyError if the key is missing or has another id
 */
export function findKey(places: KeyLocations, keyId: string): MasterKey {
  const found = readMasterKey(places)
  if (found?.sealer.keyId === keyId) return found
  const source = chooseKeySource(places)
  if (source.kind === 'own' || source.kind === 'file') {
    const next = readKeyFile(nextKeyPath(source.path), source)
    if (next?.sealer.keyId === keyId) {
      replaceKeyFile(source.path)
      return next
    }
    // Another process may have finished the rotation between the two reads.
    const again = readMasterKey(places)
    if (again?.sealer.keyId === keyId) return again
  }
  const what = found ? `contains another key, ${found.sealer.keyId}` : 'does not exist'
  throw new MasterKeyError(
    `The secrets in ${places.dataDir} are encrypted with the master key ${keyId}, but ${describeSource(source)} ${what}. Put the right key there. docs/security.md lists where copies of it may be. Nothing was changed.`,
  )
}
