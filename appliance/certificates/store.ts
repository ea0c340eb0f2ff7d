/** Stores certificates in the data directory, readable by the service user only. */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { access, chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CertificatePair } from '../wire/self-signed.ts'
import { generatePrivateKey } from './jose.ts'
import { NEVER_REQUESTED, type IssuanceState } from './plan.ts'

/** A stored certificate and its file. */
export interface StoredCertificate extends CertificatePair {
  file: string
  certificate: X509Certificate
}

/** State that is kept between attempts and across restarts. */
export interface AcmeState {
  certificates: Record<string, IssuanceState>
  /** Time before which no orders are made, because the ACME server limits them (Unix milliseconds). */
  pausedUntil: number
  /** When the last request of an operator was handled, with or without success (Unix milliseconds). */
  wishDoneAt: number
}

/** A request from the command line. */
export interface CertificateRequest {
  /** Whether to request all certificates, due or not, instead of only missing and failed ones. */
  all: boolean
}

export interface CertificateStore {
  /** The private key of the account with this ACME server, PEM; generated when missing. */
  accountKey(directory: string): Promise<string>
  /** Returns the certificate stored under a name; undefined when it is missing or unusable. */
  certificate(id: string): Promise<StoredCertificate | undefined>
  save(id: string, pair: CertificatePair): Promise<void>
  memory(): Promise<AcmeState>
  remember(memory: AcmeState): Promise<void>
  /** Fetches what other nodes have changed. Returns whether one of these certificates has. */
  refresh(ids: readonly string[]): Promise<boolean>
  /** Gives other nodes what only this one has. Call it when no other node makes an order. */
  adopt(): Promise<void>
}

const folderOf = (dataDir: string): string => join(dataDir, 'acme')

/**
 * Returns the path of a certificate's file, which has the private key, then the chain. Only the service can read it.
 */
export const getCertificatePath = (dataDir: string, id: string): string =>
  join(folderOf(dataDir), 'certificates', `${id}.pem`)

/** Returns the paths of all certificates issued by an ACME server. */
export async function listCertificatePaths(dataDir: string): Promise<string[]> {
  const folder = join(folderOf(dataDir), 'certificates')
  try {
    return (await readdir(folder))
      .filter((name) => name.endsWith('.pem'))
      .sort()
      .map((name) => join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Reads the state; empty when the file is missing or incomplete. */
export async function readAcmeState(dataDir: string): Promise<AcmeState> {
  try {
    return parseMemory(await readFile(join(folderOf(dataDir), 'state.json'), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return { certificates: {}, pausedUntil: 0, wishDoneAt: 0 }
  }
}

/** Reads a stored state. Throws if it is incomplete. */
export function parseMemory(text: string): AcmeState {
  const { certificates = {}, pausedUntil = 0, wishDoneAt = 0 } = JSON.parse(text) as Partial<AcmeState>
  const entries = Object.entries(certificates).map(([id, one]) => [id, { ...NEVER_REQUESTED, ...one }])
  const complete = Object.fromEntries(entries) as AcmeState['certificates']
  return { certificates: complete, pausedUntil, wishDoneAt }
}

/** Reads the private key of the account with an ACME server from the data directory; undefined if there is none. */
export async function readAccountKey(dataDir: string, directory: string): Promise<string | undefined> {
  try {
    return await readFile(join(folderOf(dataDir), accountFile(directory)), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

const accountFile = (directory: string): string =>
  `account-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}.pem`

/** Joins a certificate into one text: the private key, then the chain. */
export const toPem = ({ cert, key }: CertificatePair): string => `${key.trimEnd()}\n${cert}`

/** Splits the text of a certificate. */
export function splitPem(text: string): CertificatePair {
  const begin = text.indexOf('-----BEGIN CERTIFICATE-----')
  return { key: text.slice(0, begin), cert: text.slice(begin) }
}

/** Stores a request for the daemon, which checks for requests every few seconds. */
export async function storeCertificateRequest(dataDir: string, asked: CertificateRequest): Promise<void> {
  await write(folderOf(dataDir), 'asked.json', JSON.stringify(asked))
}

/** Reports whether there is a stored request. */
export const isAsked = (dataDir: string): Promise<boolean> =>
  access(join(folderOf(dataDir), 'asked.json')).then(
    () => true,
    () => false,
  )

/** Returns the stored request and removes it. */
export async function takeCertificateRequest(dataDir: string): Promise<CertificateRequest | undefined> {
  const file = join(folderOf(dataDir), 'asked.json')
  try {
    await rename(file, `${file}.taken`)
    const { all } = JSON.parse(await readFile(`${file}.taken`, 'utf8')) as Partial<CertificateRequest>
    return { all: all === true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes atomically, so that readers see either the old or the new content. Only the service can read it. */
async function write(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const file = join(folder, name)
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
}

/** Opens the folder `acme` of the data directory. */
export function openCertificateStore(dataDir: string): CertificateStore {
  const folder = folderOf(dataDir)
  return {
    async accountKey(directory) {
      const known = await readAccountKey(dataDir, directory)
      if (known !== undefined) return known
      const key = generatePrivateKey()
      await write(folder, accountFile(directory), key)
      return key
    },
    async certificate(id) {
      const file = getCertificatePath(dataDir, id)
      try {
        const { key, cert } = splitPem(await readFile(file, 'utf8'))
        const certificate = new X509Certificate(cert)
        return certificate.checkPrivateKey(createPrivateKey(key))
          ? { file, key, cert, certificate }
          : undefined
      } catch (error) {
        // A damaged file is replaced by a new certificate. A file without read permission is an error that people must
        // see.
        if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
        return undefined
      }
    },
    save: (id, pair) => write(join(folder, 'certificates'), `${id}.pem`, toPem(pair)),
    memory: () => readAcmeState(dataDir),
    remember: (memory) => write(folder, 'state.json', JSON.stringify(memory, null, 2)),
    refresh: () => Promise.resolve(false),
    adopt: () => Promise.resolve(),
  }
}
