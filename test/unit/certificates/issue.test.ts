import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeCertificateRequest, getCertificatePath } from '../../../appliance/certificates/certificates.ts'
import { freeAddress } from '../../world/addresses.ts'
import { startAuthority, type Authority } from '../../world/authority.ts'
import { HOSTNAME, startHost, until, type Host } from './stage.ts'

let authority: Authority
beforeAll(async () => {
  // Rejects 5% of valid nonces, so that requests have to be repeated, but never all six attempts of one request.
  authority = await startAuthority({ nonceReject: 5 })
})
afterAll(() => authority.close())

async function running(
  change: Parameters<typeof startHost>[1],
  work: (host: Host) => Promise<void>,
  of: Pick<Authority, 'directory' | 'ca' | 'address'> = authority,
): Promise<void> {
  const host = await startHost(of, change)
  try {
    await work(host)
  } finally {
    await host.close()
  }
}

const had = (host: Host, id = HOSTNAME) =>
  host.until(({ certificates }) => certificates[id]?.directory === authority.directory)

describe('issuing a certificate', () => {
  test('issues a certificate by http-01 for all its names, serves it, and stores it with restricted permissions', async () => {
    await running({ names: [[HOSTNAME, 'www.sender.test']] }, async (host) => {
      await had(host)
      const shown = await until(
        () => host.shown('www.sender.test'),
        ({ issuer }) => issuer.CN !== HOSTNAME,
      )
      expect(shown.subjectaltname).toBe(`DNS:${HOSTNAME}, DNS:www.sender.test`)
      const file = getCertificatePath(host.dataDir, HOSTNAME)
      expect(new X509Certificate(await readFile(file)).fingerprint256).toBe(shown.fingerprint256)
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      expect((await stat(join(host.dataDir, 'acme'))).mode & 0o777).toBe(0o700)
      const account = (await readdir(join(host.dataDir, 'acme'))).find((name) => name.startsWith('account-'))
      expect((await stat(join(host.dataDir, 'acme', account!))).mode & 0o777).toBe(0o600)
    })
  })

  test('issues a certificate by tls-alpn-01', async () => {
    await running({ challenge: 'tls-alpn-01' }, async (host) => {
      await had(host)
      const shown = await until(
        () => host.shown(HOSTNAME),
        ({ issuer }) => issuer.CN !== HOSTNAME,
      )
      expect(shown.subjectaltname).toBe(`DNS:${HOSTNAME}`)
    })
  })

  test('issues a certificate by dns-01, and the hook removes its record', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-hook-'))
    const file = join(folder, 'hook')
    const words = [
      '#!/bin/sh -e',
      `echo "$1 $ACME_DOMAIN $ACME_RECORD" >> ${folder}/acts`,
      'case $1 in',
      `present) curl -sf ${authority.dns}/set-txt -d "{\\"host\\":\\"$ACME_RECORD.\\",\\"value\\":\\"$ACME_VALUE\\"}" ;;`,
      `cleanup) curl -sf ${authority.dns}/clear-txt -d "{\\"host\\":\\"$ACME_RECORD.\\"}" ;;`,
      'esac',
    ]
    await writeFile(file, words.join('\n'))
    await chmod(file, 0o700)
    await running({ challenge: 'dns-01', hook: { file, seconds: 30 } }, async (host) => {
      await had(host)
      const acts = (await readFile(join(folder, 'acts'), 'utf8')).trim().split('\n')
      const about = `${HOSTNAME} _acme-challenge.${HOSTNAME}`
      expect(acts).toEqual([`present ${about}`, `cleanup ${about}`])
    })
    await rm(folder, { recursive: true })
  })
})

test('a certificate is issued although the hook cannot remove its record, with a warning', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-hook-'))
  const file = join(folder, 'hook')
  const words = [
    '#!/bin/sh -e',
    '[ "$1" = present ] || { echo "no such record" >&2; exit 4; }',
    `curl -sf ${authority.dns}/set-txt -d "{\\"host\\":\\"$ACME_RECORD.\\",\\"value\\":\\"$ACME_VALUE\\"}"`,
  ]
  await writeFile(file, words.join('\n'))
  await chmod(file, 0o700)
  await running({ challenge: 'dns-01', hook: { file, seconds: 30 } }, async (host) => {
    await had(host)
    expect(await host.heard(2)).toEqual([
      `could not remove the validation record of a name; remove it by hand acme.hook ${file} cleanup for ${HOSTNAME} failed: exit code 4. no such record`,
      'installed a new certificate',
    ])
  })
  await rm(folder, { recursive: true })
})

test('a renewed certificate is served to new clients, and open connections continue', async () => {
  await running({}, async (host) => {
    await had(host)
    const first = await until(
      () => host.shown(HOSTNAME),
      ({ issuer }) => issuer.CN !== HOSTNAME,
    )
    const open = connect({
      host: authority.address,
      port: 5443,
      servername: HOSTNAME,
      ca: await authority.root(),
      rejectUnauthorized: false,
    })
    await once(open, 'secureConnect')
    await storeCertificateRequest(host.dataDir, { all: true })
    const second = await until(
      () => host.shown(HOSTNAME),
      ({ fingerprint256 }) => fingerprint256 !== first.fingerprint256,
    )
    expect(second.subjectaltname).toBe(first.subjectaltname)
    open.write(`GET / HTTP/1.1\r\nHost: ${HOSTNAME}\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const chunk of open) text += String(chunk)
    expect(text).toContain('hello')
  })
})

test('a certificate with the wrong key is replaced, and the others stay in use', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-acme-'))
  const names = [[HOSTNAME], ['links.acme.test']]
  await running({ dataDir, names }, async (host) => void (await had(host, 'links.acme.test')))
  const [whole, damaged] = [HOSTNAME, 'links.acme.test'].map((id) => getCertificatePath(dataDir, id))
  const text = await readFile(damaged!, 'utf8')
  const [theirs] = (await readFile(whole!, 'utf8')).split('-----BEGIN CERTIFICATE')
  await writeFile(damaged!, theirs + text.slice(text.indexOf('-----BEGIN CERTIFICATE')))
  await running({ dataDir, names }, async (host) => {
    expect((await host.shown(HOSTNAME)).issuer.CN).toMatch(/^Pebble Intermediate/)
    await until(
      () => host.shown('links.acme.test'),
      ({ subjectaltname }) => subjectaltname === 'DNS:links.acme.test',
    )
    expect(await host.heard(1)).toEqual(['installed a new certificate'])
  })
  await rm(dataDir, { recursive: true })
})

test('a stored certificate is served after a restart, even if another authority is configured', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-acme-'))
  await running({ dataDir }, async (host) => void (await had(host)))
  const gone = { ...authority, directory: `https://${freeAddress()}:14000/dir` }
  await running(
    { dataDir },
    async (host) => {
      expect((await host.shown(HOSTNAME)).issuer.CN).toMatch(/^Pebble Intermediate/)
      // Another authority than the configured one, which is unreachable, issued it.
      const { certificates } = await host.until((memory) => memory.certificates[HOSTNAME]!.failures === 1)
      expect(certificates[HOSTNAME]!.error).toMatch(/could not be reached: connect ECONNREFUSED/)
    },
    gone,
  )
  await rm(dataDir, { recursive: true })
})

describe('a failed order', () => {
  test('a failed order reports the error seen by the authority, and is retried after a delay', async () => {
    // Nothing listens at this address: the names resolve to another one.
    const elsewhere = { ...authority, address: freeAddress() }
    await running(
      {},
      async (host) => {
        const { certificates } = await host.until((memory) => memory.certificates[HOSTNAME]?.failures === 1)
        const { error, retryAt, failedAt } = certificates[HOSTNAME]!
        expect(error).toMatch(/^The authority could not validate mail\.sender\.test with http-01: .*connect/)
        expect(retryAt - failedAt!).toBe(630_000)
        expect(await host.heard(1)).toEqual([
          `could not get a certificate; the previous one stays in use ${error}`,
        ])
        expect((await host.shown(HOSTNAME)).issuer.CN).toBe(HOSTNAME)
      },
      elsewhere,
    )
  })

  test('a failed order is not retried early after a restart, except by command', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-acme-'))
    const gone = { ...authority, directory: `https://${freeAddress()}:14000/dir` }
    let before: unknown
    await running(
      { dataDir },
      async (host) => {
        before = await host.until((memory) => memory.certificates[HOSTNAME]?.failures === 1)
      },
      gone,
    )
    await running(
      { dataDir },
      async (host) => {
        await new Promise((resolve) => setTimeout(resolve, 500))
        expect(await host.until(() => true)).toEqual(before)
        // An explicit command may.
        await storeCertificateRequest(dataDir, { all: false })
        await host.until((memory) => memory.certificates[HOSTNAME]!.failures === 2)
      },
      gone,
    )
    await rm(dataDir, { recursive: true })
  })

  test('a failed order reports the output of the hook', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-hook-'))
    const file = join(folder, 'hook')
    await writeFile(file, '#!/bin/sh\necho "no such zone" >&2\nexit 3\n')
    await chmod(file, 0o700)
    await running({ challenge: 'dns-01', hook: { file, seconds: 30 } }, async (host) => {
      const { certificates } = await host.until((memory) => memory.certificates[HOSTNAME]?.failures === 1)
      expect(certificates[HOSTNAME]!.error).toBe(
        `acme.hook ${file} present for ${HOSTNAME} failed: exit code 3. no such zone`,
      )
    })
    await rm(folder, { recursive: true })
  })
})

test('uses an external account binding if the authority requires one, and reports if none is configured', async () => {
  const hmacKey = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  const closed = await startAuthority({ customers: { 'kid-1': hmacKey } })
  try {
    await running(
      {},
      async (host) => {
        const { certificates } = await host.until((memory) => memory.certificates[HOSTNAME]?.failures === 1)
        expect(certificates[HOSTNAME]!.error).toMatch(/Set acme\.eab_key_id and acme\.eab_hmac_key/)
      },
      closed,
    )
    await running(
      { binding: { keyId: 'kid-1', hmacKey } },
      async (host) =>
        void (await host.until(({ certificates }) => certificates[HOSTNAME]?.directory === closed.directory)),
      closed,
    )
  } finally {
    await closed.close()
  }
})

test('HTTPS serves the certificate of the requested name', async () => {
  await running({ names: [[HOSTNAME], ['links.acme.test']] }, async (host) => {
    await had(host, 'links.acme.test')
    await until(
      () => host.shown('links.acme.test'),
      ({ subjectaltname }) => subjectaltname === 'DNS:links.acme.test',
    )
    const root = await authority.root()
    const text = await new Promise((resolve, reject) => {
      const asked = request(
        { host: authority.address, port: 5443, servername: 'links.acme.test', ca: root, agent: false },
        (response) => response.setEncoding('utf8').on('data', resolve),
      )
      asked.on('error', reject).end()
    })
    expect(text).toBe('hello')
  })
})
