/** Where the master key comes from, and how it gets there. */
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

/** A master key that is missing or cannot be used. The message is for people. */
export class MasterKeyRefused extends Error {
  override name = 'MasterKeyRefused'
}

/** Name of the key that Posthaste makes for itself, in the data directory. */
const KEY_FILE = 'master.key'
/** The environment variable. */
const KEY_VARIABLE = 'POSTHASTE_MASTER_KEY'
/** Name of the systemd credential (systemd.exec(5), LoadCredentialEncrypted=). */
const KEY_CREDENTIAL = 'posthaste-master-key'
/** Where the service's credentials are for commands beside it, which systemd did not start. */
const SERVICE_CREDENTIALS = '/run/credentials/posthaste.service'

/** own: the file in the data directory that Posthaste made · file: secrets.master_key_file · named: on the command line */
export type KeySource =
  | { kind: 'own'; path: string }
  | { kind: 'file'; path: string }
  | { kind: 'named'; path: string }
  | { kind: 'environment' }
  | { kind: 'credential'; path: string }

/** A key that was found. */
export interface MasterKey {
  sealer: Sealer
  source: KeySource
  /** The text that a file of it holds. */
  text: string
}

/** What decides where the key comes from. */
export interface KeyPlaces {
  dataDir: string
  /** `secrets.master_key_file` */
  keyFile: string | undefined
  env: NodeJS.ProcessEnv
}

/** A source in words. */
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

/** The first source that is there: the configured file, the variable, the credential, the file in the data directory. */
export function sourceOf({ dataDir, keyFile, env }: KeyPlaces): KeySource {
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
 * Reads the master key. Undefined when it should be in the data directory, or at `path`, and is not there.
 * @throws MasterKeyRefused when the source holds no key, or lets everybody read it
 */
export function readMasterKey(places: KeyPlaces): MasterKey | undefined {
  const source = sourceOf(places)
  if (source.kind === 'environment') return parseKey(places.env[KEY_VARIABLE]!, source)
  const found = readKeyFile(source.path, source)
  if (!found && source.kind !== 'own')
    throw new MasterKeyRefused(
      `No master key in ${describeSource(source)}: file not found. Put the key there. For a new server, create one with: openssl rand -base64 32`,
    )
  return found
}

/** Reads a file with a key; undefined when there is none. */
export function readKeyFile(path: string, source: KeySource): MasterKey | undefined {
  let text: string
  try {
    // systemd gives credentials a mode of its own.
    if (source.kind !== 'credential') closeToOthers(path, source)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof MasterKeyRefused) throw error
    const { code = String(error) } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new MasterKeyRefused(
      `The master key in ${describeSource(source)} cannot be read (${code}). Check who owns the file.`,
    )
  }
  return parseKey(text, source)
}

/** Our own file gets its mode back; what somebody else manages is refused. A group may read it, as groups read TLS keys. */
function closeToOthers(path: string, source: KeySource): void {
  const { mode } = statSync(path)
  if (source.kind === 'own' && (mode & 0o077) !== 0) return chmodSync(path, 0o600)
  if ((mode & 0o027) !== 0)
    throw new MasterKeyRefused(
      `Other users can read or change the master key in ${describeSource(source)}. Run: chmod 600 ${path}`,
    )
}

function parseKey(text: string, source: KeySource): MasterKey {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, 'base64')
  const canonical = bytes.toString('base64').replace(/=+$/, '')
  if (bytes.length !== KEY_BYTES || trimmed.replace(/=+$/, '') !== canonical)
    throw new MasterKeyRefused(
      `${describeSource(source)} does not contain a master key: expected ${KEY_BYTES} bytes in base64, as openssl rand -base64 ${KEY_BYTES} prints them.`,
    )
  return { sealer: createSealer(bytes), source, text: `${bytes.toString('base64')}\n` }
}

/** A new key, not stored anywhere yet. */
export function freshKey(source: KeySource): MasterKey {
  return parseKey(randomBytes(KEY_BYTES).toString('base64'), source)
}

/** Makes the key of a data directory, durable and readable by its owner only, or returns the one that another process has just made. */
export function makeOwnKey(places: KeyPlaces): MasterKey {
  const path = join(places.dataDir, KEY_FILE)
  const source: KeySource = { kind: 'own', path }
  const key = freshKey(source)
  const partial = `${path}.partial-${process.pid}`
  writeKeyFile(partial, key)
  try {
    // A link fails where a rename would replace the key of another process.
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

/** Where the next key waits while everything is sealed with it. */
export const nextKeyPath = (path: string): string => `${path}.new`

/**
 * Writes a key file durably, with mode 0600 or with owner and mode of the one that it will replace.
 * @throws MasterKeyRefused where it cannot
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
    throw new MasterKeyRefused(
      `Cannot write the master key to ${path}: ${(error as Error).message}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** Puts the next key in the place of the present one, in one step. Another process may have done so. */
export function exchangeKeyFile(path: string): void {
  try {
    renameSync(nextKeyPath(path), path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  syncDirectory(dirname(path))
}

/** What root makes must be usable by the service, whose directory or file it is. */
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
