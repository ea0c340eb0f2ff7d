import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type DetailedPeerCertificate } from 'node:tls'
import {
  createAcmeManager,
  readAcmeState,
  type AcmeManager,
  type AcmeOptions,
  type AcmeState,
} from '../../../appliance/certificates/certificates.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { createChallengeListener } from '../../../appliance/http/challenge-listener.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createListeners } from '../../../appliance/http/listeners.ts'
import { openCertificates, type Certificates } from '../../../appliance/wire/certificates.ts'
import type { Authority } from '../../world/authority.ts'

/** A host that needs certificates: its listeners, stored certificates, and renewal loop. */
export interface Host {
  acme: AcmeManager
  book: Certificates
  dataDir: string
  /** Log lines, as "message reason". */
  said: string[]
  /** Polls the stored state until it satisfies `enough`. */
  until(enough: (memory: AcmeState) => boolean): Promise<AcmeState>
  /** Waits for this many log lines, which are written after the state is stored. */
  heard(lines: number): Promise<string[]>
  /** Returns the certificate that HTTPS presents for a name. */
  shown(name: string): Promise<DetailedPeerCertificate>
  close(): Promise<void>
}

export const HOSTNAME = 'mail.sender.test'

/** @param names of the certificates to obtain; by default only the host's own */
export async function startHost(
  authority: Pick<Authority, 'directory' | 'ca' | 'address'>,
  change: Partial<AcmeOptions> & { names?: string[][]; dataDir?: string } = {},
): Promise<Host> {
  const { names = [[HOSTNAME]], ...options } = change
  const dataDir = change.dataDir ?? (await mkdtemp(join(tmpdir(), 'posthaste-acme-')))
  const clock = systemClock
  const said: string[] = []
  const say = (fields: object, message: string) =>
    void said.push(`${message} ${'reason' in fields ? String(fields.reason) : ''}`.trim())
  const book = await openCertificates({ dataDir, hostname: HOSTNAME, clock })
  const acme = createAcmeManager({
    clock,
    log: { info: say, warn: say, error: say },
    wanted: async () => names.map((one) => ({ id: one[0]!, names: one })),
    use: (pairs) => book.use(pairs),
    random: () => 0.5,
    options: {
      dataDir,
      directory: authority.directory,
      email: 'postmaster@sender.test',
      challenge: 'http-01',
      hook: undefined,
      binding: undefined,
      ca: authority.ca,
      agent: 'Posthaste/0.0.0',
      pollMs: 100,
      ...options,
    },
  })
  const plain = createChallengeListener((token) => acme.http(token), testCapacity(clock, dataDir))
  const secure = createListeners((_request, response) => response.end('hello'), 'http.listen', null)
  await plain.listen([`${authority.address}:5080`])
  await secure.listen([`${authority.address}:5443`], {
    key: 'http.tls_listen',
    tls: { certificates: book, challenges: acme },
    handle: (_request, response) => response.end('hello'),
  })
  await acme.start()
  return {
    acme,
    book,
    dataDir,
    said,
    until: (enough) => until(() => readAcmeState(dataDir), enough),
    heard: (lines) =>
      until(
        () => Promise.resolve(said),
        ({ length }) => length >= lines,
      ),
    async shown(servername) {
      const socket = connect({ host: authority.address, port: 5443, servername, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      const shown = socket.getPeerCertificate(true)
      socket.destroy()
      return shown
    },
    async close() {
      await acme.stop()
      await Promise.all([plain.close(), secure.close()])
      book.close()
      if (change.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Polls for up to 90 seconds. */
export async function until<T>(read: () => Promise<T>, enough: (value: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const value = await read()
    if (enough(value)) return value
    if (tries > 900) throw new Error(`it did not come to pass: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
