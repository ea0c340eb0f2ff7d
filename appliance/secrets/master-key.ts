/** Finds, reads and writes the master key. */
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createSealer, KEY_BYTES, type Sealer } from './seal.ts'

/** The master key is missing or can't be used. The message is shown to people. */
export class MasterKeyError extends Error {
  override name = 'MasterKeyError'
}

/** File name of the key that Posthaste generates, in the data directory. */
const KEY_FILE = 'master.key'
const KEY_VARIABLE = 'POSTHASTE_MASTER_KEY'
/** Name of the systemd credential (systemd.exec(5), LoadCredentialEncrypted=). */
const KEY_CREDENTIAL = 'posthaste-master-key'
/**
 * Directory in which systemd stores the service's credentials. Commands run outside the service read them from here.
 */
const SERVICE_CREDENTIALS = '/run/credentials/posthaste.service'

/**
 * own: the file that Posthaste generated in the data directory · file: the file in `secrets.master_key_file` · named: a
 * path from the command line
 */
export type KeySource =
  | { kind: 'own'; path: string }
  | { kind: 'file'; path: string }
  | { kind: 'named'; path: string }
  | { kind: 'environment' }
  | { kind: 'credential'; path: string }

/** A master key and where it was read from. */
export interface MasterKey {
  sealer: Sealer
  source: KeySource
  /** The key as written to a key file. */
  text: string
}

/** Everything that determines where the key is read from. */
export interface KeyLocations {
  dataDir: string
  /** Value of `secrets.master_key_file`. */
  keyFile: string | undefined
  env: NodeJS.ProcessEnv
}

/** Describes a source for people. */
export function describeSource(source: KeySource): string {
  switch (source.kind) {
    case 'own':
    case 'named':
      return source.path
    case 'file':
      return `${source.path} (secrets.master_key_file)`
    case 'environment':
      return `the environment variable ${KEY_VARIABLE}`
    case 'credential':
      return `the systemd credential ${source.path}`
  }
}

/**
 * Picks the first source that is set: the configured file, the environment variable, the systemd credential, the file
 * in the data directory.
 */
export function chooseKeySource({ dataDir, keyFile, env }: KeyLocations): KeySource {
  if (keyFile !== undefined) return { kind: 'file', path: keyFile }
  if ((env[KEY_VARIABLE] ?? '') !== '') return { kind: 'environment' }
  const directories = env.CREDENTIALS_DIRECTORY ? [env.CREDENTIALS_DIRECTORY] : [SERVICE_CREDENTIALS]
  for (const directory of directories) {
    const path = join(directory, KEY_CREDENTIAL)
    if (isFile(path)) return { kind: 'credential', path }
  }
  return { kind: 'own', path: join(dataDir, KEY_FILE) }
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  } catch {
    return false // A directory that this user may not enter has no credential for it.
  }
}

/**
 * Reads the master key. Returns undefined if the key file in the data directory doesn't exist.
 * @throws MasterKeyError if the source contains no valid key, or is readable by everyone
 */
export function readMasterKey(places: KeyLocations): MasterKey | undefined {
  const source = chooseKeySource(places)
  if (source.kind === 'environment') return parseKey(places.env[KEY_VARIABLE]!, source)
  const found = readKeyFile(source.path, source)
  if (!found && source.kind !== 'own')
    throw new MasterKeyError(
      `No master key in ${describeSource(source)}: file not found. Put the key there. For a new server, create one with: openssl rand -base64 32`,
    )
  return found
}

/** Reads a key file; undefined if it doesn't exist. */
export function readKeyFile(path: string, source: KeySource): MasterKey | undefined {
  let text: string
  try {
    // systemd sets the mode of credentials.
    if (source.kind !== 'credential') closeToOthers(path, source)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof MasterKeyError) throw error
    const { code = String(error) } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new MasterKeyError(
      `The master key in ${describeSource(source)} cannot be read (${code}). Check who owns the file.`,
    )
  }
  return parseKey(text, source)
}

/**
 * Restricts the mode of our own key file, and refuses any other file that everyone can read. Group read is allowed, as
 * for TLS keys.
 */
function closeToOthers(path: string, source: KeySource): void {
  const { mode } = statSync(path)
  if (source.kind === 'own' && (mode & 0o077) !== 0) return chmodSync(path, 0o600)
  if ((mode & 0o027) !== 0)
    throw new MasterKeyError(
      `Other users can read or change the master key in ${describeSource(source)}. Run: chmod 600 ${path}`,
    )
}

function parseKey(text: string, source: KeySource): MasterKey {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, 'base64')
  const canonical = bytes.toString('base64').replace(/=+$/, '')
  if (bytes.length !== KEY_BYTES || trimmed.replace(/=+$/, '') !== canonical)
    throw new MasterKeyError(
      `${describeSource(source)} does not contain a master key: expected ${KEY_BYTES} bytes in base64, as openssl rand -base64 ${KEY_BYTES} prints them.`,
    )
  return { sealer: createSealer(bytes), source, text: `${bytes.toString('base64')}\n` }
}

/** Generates a key without storing it. */
export function generateMasterKey(source: KeySource): MasterKey {
  return parseKey(randomBytes(KEY_BYTES).toString('base64'), source)
}

/**
 * Generates the key of a data directory and stores it durably, readable by the owner only. If another process has just
 * created one, returns that key.
 */
export function createKeyFile(places: KeyLocations): MasterKey {
  const path = join(places.dataDir, KEY_FILE)
  const source: KeySource = { kind: 'own', path }
  const key = generateMasterKey(source)
  const partial = `${path}.partial-${process.pid}`
  writeKeyFile(partial, key)
  try {
    // Linking fails if the file exists; a rename would overwrite the key of another process.
    linkSync(partial, path)
    syncDirectory(dirname(path))
    return key
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code === 'EEXIST' && readKeyFile(path, source)
    if (!found) throw error
    return found
  } finally {
    rmSync(partial, { force: true })
  }
}

/** Returns the path at which the next key is stored while everything is being resealed with it. */
export const nextKeyPath = (path: string): string => `${path}.new`

/**
 * Writes a key file durably, with mode 0600 or with the owner and mode of the file that it will replace.
 * @throws MasterKeyError if the file can't be written
 */
export function writeKeyFile(path: string, { text }: Pick<MasterKey, 'text'>, like?: string): void {
  try {
    rmSync(path, { force: true })
    const file = openSync(path, 'wx', 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    if (like !== undefined) chmodSync(path, statSync(like).mode & 0o640)
    giveToOwner(path, like ?? dirname(path))
    syncDirectory(dirname(path))
  } catch (error) {
    throw new MasterKeyError(
      `Cannot write the master key to ${path}: ${(error as Error).message}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** Atomically replaces the key file with the next key. Does nothing if another process has already done so. */
export function replaceKeyFile(path: string): void {
  try {
    renameSync(nextKeyPath(path), path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  syncDirectory(dirname(path))
}

/** Gives a file that root created to the owner of `of`, so that the service can read it. */
function giveToOwner(path: string, of: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(of)
  chownSync(path, uid, gid)
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
