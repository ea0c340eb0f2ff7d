/**
 * Certificates for TLS servers: PEM files that are reloaded when they change, one per name if several are configured,
 * or a self-signed pair generated once.
 */
import { createPrivateKey, X509Certificate, constants } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Clock } from '../clock/clock.ts'
import { StartupError } from './listeners.ts'
import { createSelfSignedPair, type CertificatePair } from './self-signed.ts'

/**
 * Options for every TLS server. Renegotiation is disabled, because a TLS 1.2 client could otherwise renegotiate
 * endlessly, which costs the server more than the client. Node limits it only for servers that it created itself.
 */
export const TLS_SERVER_OPTIONS = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const

/** Paths of a certificate chain and its key, both PEM. */
export interface CertificateFiles {
  cert: string
  key: string
}

export interface CertificatesOptions {
  /** The host's own certificate; undefined for a self-signed pair in `dataDir`. */
  files?: CertificateFiles | undefined
  /** Additional certificates, selected by the requested name (SNI, RFC 6066 §3). */
  additional?: readonly CertificateFiles[] | undefined
  dataDir: string
  hostname: string
  clock: Clock
  /** Called after each reload, with null or with the error due to which the old certificates stay in use. */
  onReload?: (error: Error | null) => void
}

export interface Certificates {
  /** Returns the certificate for a requested name, or the host's own if the name is unknown or missing. */
  contextFor(name?: string): SecureContext
  /** Whether there is a currently valid certificate for the name that isn't self-signed. */
  covers(name: string): boolean
  /**
   * Replaces the certificates issued by the ACME server. They are preferred to a self-signed certificate. Throws if one
   * can't be used, and keeps the old ones.
   */
  use(issued: readonly CertificatePair[]): void
  /**
   * Reloads the files. If they don't match, keeps the old certificates and rejects with an error whose message is a
   * sentence.
   */
  reload(): Promise<void>
  close(): void
}

/** How often to check the files, in milliseconds, because watching misses changes on network file systems. */
const POLL_MS = 30_000
/** How long to wait after a change, in milliseconds, because tools write the chain and the key one after the other. */
const SETTLE_MS = 500
/** Remaining lifetime below which a self-signed certificate is replaced, in milliseconds. */
const RENEW_MS = 30 * 24 * 3_600_000

interface Loaded {
  certificate: X509Certificate
  context: SecureContext
}

/**
 * Loads the certificates and watches their files. If they can't be used, rejects with an error whose message is a
 * sentence.
 */
export async function openCertificates(options: CertificatesOptions): Promise<Certificates> {
  const { files, additional = [], clock, hostname, onReload = () => undefined } = options
  const load = async (): Promise<Loaded[]> => {
    const own = files
      ? await loadFiles(files)
      : toLoaded(await ownPair(options), 'the self-signed certificate')
    return [own, ...(await Promise.all(additional.map(loadFiles)))]
  }
  let loaded = await load()
  let issued: Loaded[] = []
  const all = [...(files ? [files] : []), ...additional].flatMap(({ cert, key }) => [cert, key])
  let seen = await stamp(all)

  const reload = async (): Promise<void> => {
    loaded = await load()
  }
  const check = async (): Promise<void> => {
    const now = await stamp(all)
    if (now === seen) return
    seen = now
    await reload().then(
      () => onReload(null),
      (error: Error) => onReload(error),
    )
  }
  const watching = watchFiles(all, clock, check)
  return {
    contextFor(name) {
      // Prefer issued certificates to a self-signed one.
      const order = files ? [...loaded, ...issued] : [...issued, ...loaded]
      const own = files ? loaded[0] : (order.find((one) => one.certificate.checkHost(hostname)) ?? loaded[0])
      const found = name === undefined || name === '' ? undefined : order.find((one) => holds(one, name))
      return (found ?? own)!.context
    },
    covers(name) {
      const now = clock.now()
      const good = files ? [...loaded, ...issued] : [...issued, ...loaded.slice(1)]
      const shown = good.find((one) => holds(one, name))
      return shown !== undefined && Date.parse(shown.certificate.validTo) > now
    },
    use(pairs) {
      issued = pairs.map((pair) => toLoaded(pair, 'the certificate from the authority'))
    },
    reload,
    close: watching.close,
  }
}

const holds = ({ certificate }: Loaded, name: string): boolean => certificate.checkHost(name) !== undefined

function watchFiles(files: string[], clock: Clock, check: () => Promise<void>): { close: () => void } {
  if (files.length === 0) return { close: () => undefined }
  let settling: (() => void) | null = null
  let polling: () => void = () => undefined
  const poll = (): void => {
    polling = clock.after(POLL_MS, () => void check().finally(poll))
  }
  // Watch the folder, because tools replace files, and a watch on a file would stay on the old file.
  const watchers = [...new Set(files.map(dirname))].flatMap((folder): FSWatcher[] => {
    try {
      const watcher = watch(folder, { persistent: false }, () => {
        settling?.()
        settling = clock.after(SETTLE_MS, () => void check())
      })
      watcher.on('error', () => watcher.close()) // Polling continues.
      return [watcher]
    } catch {
      return [] // The system has no watches left. Polling notices changes later.
    }
  })
  poll()
  return {
    close() {
      polling()
      settling?.()
      for (const watcher of watchers) watcher.close()
    },
  }
}

/** Returns a value that changes when a file is replaced or disappears. */
async function stamp(files: string[]): Promise<string> {
  const stamps = files.map(async (file) => {
    try {
      const { mtimeMs, size, ino } = await stat(file)
      return `${mtimeMs}/${size}/${ino}`
    } catch {
      return 'unreadable' // Reported when the file is loaded.
    }
  })
  return (await Promise.all(stamps)).join(' ')
}

async function loadFiles({ cert, key }: CertificateFiles): Promise<Loaded> {
  const read = async (file: string, setting: string): Promise<string> => {
    try {
      return await readFile(file, 'utf8')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new StartupError(
        `${setting}: ${file} cannot be read (${code}). Correct the path or the file's permissions.`,
        { cause: error },
      )
    }
  }
  return toLoaded(
    { cert: await read(cert, 'tls.cert'), key: await read(key, 'tls.key') },
    `${cert} with ${key}`,
  )
}

function toLoaded(pair: CertificatePair, what: string): Loaded {
  try {
    const certificate = new X509Certificate(pair.cert)
    // OpenSSL accepts an RSA key with an ECDSA certificate, but no handshake would succeed with them.
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key))) throw new Error('key values mismatch')
    return { certificate, context: createSecureContext({ ...pair, ...TLS_SERVER_OPTIONS }) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartupError(
      `${what} is not usable (${reason}). Both files must be PEM, with the certificate first in its chain, and the key must match it.`,
      { cause: error },
    )
  }
}

/** Loads the self-signed pair of this host, generated at the first start and readable by the service user only. */
async function ownPair({ dataDir, hostname, clock }: CertificatesOptions): Promise<CertificatePair> {
  const folder = join(dataDir, 'tls')
  const file = join(folder, 'self-signed.json')
  try {
    const pair = JSON.parse(await readFile(file, 'utf8')) as CertificatePair
    const certificate = new X509Certificate(pair.cert)
    const usable = certificate.checkHost(hostname) && Date.parse(certificate.validTo) - RENEW_MS > clock.now()
    if (usable) return pair
  } catch (error) {
    // The file is missing, or incomplete after a crash. Generate a new pair, which is safe because nobody has pinned
    // the old certificate.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
  }
  const pair = await createSelfSignedPair([hostname], clock.now())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(`${file}.new`, JSON.stringify(pair), { mode: 0o600 })
  await rename(`${file}.new`, file)
  return pair
}
