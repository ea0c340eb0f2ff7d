import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMilters } from '../../appliance/inbound/public-mx.ts'
import { pingMilter } from '../../appliance/insights/spam-filter.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { createTestClock } from '../world/clock.ts'

/**
 * OpenDKIM from Debian as a milter of received mail. It signs what it is shown: only if it sees each octet of header and
 * body as it is, and its field is inserted where it says, the signature can be verified.
 */

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
let folder: string
let socket: string
let milter: string
let filter: ReturnType<typeof spawn>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-milter-'))
  socket = join(folder, 'opendkim.sock')
  milter = `unix:${socket}`
  const at = (name: string) => join(folder, name)
  await writeFile(at('key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  await writeFile(at('clients'), '192.0.2.0/24\n')
  const settings = [
    'Mode s',
    'Syslog no',
    'Domain x.example',
    'Selector s',
    `KeyFile ${at('key.pem')}`,
    'Canonicalization simple/simple',
    `InternalHosts ${at('clients')}`,
    'RequireSafeKeys no',
    `Socket local:${socket}`,
    `PidFile ${at('pid')}`,
  ]
  await writeFile(at('opendkim.conf'), `${settings.join('\n')}\n`)
  filter = spawn('opendkim', ['-f', '-x', at('opendkim.conf')], { stdio: 'inherit' })
})

afterAll(async () => {
  filter.kill('SIGKILL')
  if (filter.exitCode === null) await once(filter, 'exit')
  await rm(folder, { recursive: true, force: true })
})

test('OpenDKIM signs a message with folded fields, 8-bit text and a body of several packets', async () => {
  const isOpen = () =>
    access(socket).then(
      () => true,
      () => false,
    )
  await expect.poll(isOpen, { timeout: 30_000 }).toBe(true)
  const counted: string[] = []
  const milters = createMilters({
    milters: [milter],
    unavailable: 'defer',
    hostname: 'mx.in.example',
    resolver: { resolve: () => Promise.resolve({ kind: 'absent', why: 'nxdomain' } as never) },
    clock: createTestClock(),
    log: createSilentLogger(),
    count: (_, result) => void counted.push(result),
  })
  const header =
    'From: Ada <ada@x.example>\r\nTo: box@in.example\r\nSubject:  two\r\n\tlines, gr\xc3\xbc\xdfe \r\n'
  const body = `${'One line of text, with a dot. \xe4\r\n'.repeat(5000)}.\r\n\r\n\r\n`
  const bytes = Buffer.from(`${header}Date: Thu, 26 Nov 2026 20:00:00 +0000\r\n\r\n${body}`, 'latin1')
  const recipients = [{ address: 'box@in.example' }]
  const about = { mailFrom: 'ada@x.example', ip: '192.0.2.7', helo: 'mx.x.example', recipients }
  const filtered = await milters.filter({ ...about, bytes })
  expect(counted).toEqual(['accepted'])
  const signed = Buffer.from(filtered.bytes)
  expect(signed.subarray(-bytes.length).equals(bytes)).toBe(true)
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const resolver = (name: string) =>
    Promise.resolve(name === 's._domainkey.x.example' ? [[`v=DKIM1; k=rsa; p=${key}`]] : [])
  const { results } = await dkimVerify(signed, { resolver: resolver })
  expect(results.map(({ signingDomain, status }) => [signingDomain, status.result])).toEqual([
    ['x.example', 'pass'],
  ])
  expect(await pingMilter(milter)).toEqual({ kind: 'up' })
})
