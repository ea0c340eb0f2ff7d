import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../appliance/config/config.ts'
import { createSelfSignedPair } from '../../appliance/wire/self-signed.ts'
import { startDoor, type Door } from '../unit/smtp/harness.ts'
import { PATIENCE } from '../world/patience.ts'

/**
 * Runs every snippet of docs/smtp.md as written; only the host, its ports and the domain are replaced. Programs that
 * verify certificates get the test's certificate in the way each of them supports.
 */

const run = promisify(execFile)
const PHPMAILER = '/usr/share/php/libphp-phpmailer/autoload.php'
const has = (program: string) => spawnSync(program, ['--version']).status === 0

let door: Door
let folder: string
let cert: string
let snippets: string[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-document-'))
  cert = join(folder, 'cert.pem')
  const pair = await createSelfSignedPair(['localhost'], Date.now())
  await writeFile(cert, pair.cert)
  await writeFile(join(folder, 'key.pem'), pair.key)
  door = await startDoor({ files: { cert, key: join(folder, 'key.pem') } })
  const text = await readFile(join(import.meta.dirname, '../../docs/smtp.md'), 'utf8')
  snippets = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ([, language, code]) => `${language}\n${code}`,
  )
})
afterAll(async () => {
  await door?.close()
  await rm(folder, { recursive: true, force: true })
})

/**
 * Returns the only snippet that starts like this (its language, then its first words), adapted to the test's listener.
 */
function snippet(start: string): string {
  const found = snippets.filter((one) => one.startsWith(start))
  expect(found, start).toHaveLength(1)
  return found[0]!
    .slice(found[0]!.indexOf('\n') + 1)
    .replaceAll('mail.example.com', 'localhost')
    .replaceAll('app@example.com', 'app@acme.example')
    .replaceAll(/\b587\b/g, String(door.ports.starttls))
    .replaceAll(/\b465\b/g, String(door.ports.implicit))
}

/** Runs a program in the test's folder. Fails with its whole output. */
async function play(program: string, args: string[], { cwd = folder, input = '' } = {}): Promise<void> {
  const trusted = { SSL_CERT_FILE: cert, CURL_CA_BUNDLE: cert, NODE_EXTRA_CA_CERTS: cert }
  const env = { ...process.env, ...trusted, KEY: door.keys.sending }
  const started = run(program, args, { cwd, env, timeout: PATIENCE })
  started.child.stdin?.end(input)
  await started
}

/** Returns what was accepted while `action` ran. */
async function acceptedBy(action: () => Promise<void>): Promise<object> {
  const before = new Set((await door.emails()).map(({ id }) => id))
  await action()
  const [email, ...more] = (await door.emails()).filter(({ id }) => !before.has(id))
  expect(more).toEqual([])
  return { from: email?.from, to: email?.to, tags: email?.tags }
}

const sent = { from: expect.stringContaining('app@acme.example') as string, to: ['ada@example.net'] }
const tagged = (value: string) => ({ ...sent, tags: [{ name: 'kind', value }] })
const untagged = { ...sent, tags: [] }

describe('the snippets of docs/smtp.md', () => {
  test('the tests run exactly the snippets of docs/smtp.md', () => {
    expect(snippets.map((one) => one.split(/\s/, 2).join(' '))).toEqual([
      'sh swaks',
      'python import',
      'sh curl',
      'js import',
      'php require',
      ' account',
      'toml [[smtp.trusted]]',
    ])
  })

  test.skipIf(!has('swaks'))('swaks sends an email', async () => {
    const accepted = await acceptedBy(() => play('sh', ['-ec', snippet('sh\nswaks')]))
    expect(accepted).toEqual(tagged('test'))
  })

  test('curl sends an email', async () => {
    await writeFile(
      join(folder, 'mail.eml'),
      'From: app@acme.example\nTo: ada@example.net\nSubject: Hello\n\nIt works.\n',
    )
    expect(await acceptedBy(() => play('sh', ['-ec', snippet('sh\ncurl')]))).toEqual(untagged)
  })

  test('Node with nodemailer sends an email', async () => {
    const cwd = join(import.meta.dirname, '../..')
    const args = ['--input-type=module', '--eval', snippet('js\n')]
    expect(await acceptedBy(() => play(process.execPath, args, { cwd }))).toEqual(tagged('receipt'))
  })

  test.skipIf(!has('/usr/bin/python3'))(
    'Python sends an email that is accepted only once when repeated',
    async () => {
      const python = () => play('/usr/bin/python3', ['-c', snippet('python\n')])
      expect(await acceptedBy(python)).toEqual(untagged)
      const before = (await door.emails()).length
      await python()
      expect((await door.emails()).length).toBe(before)
    },
  )

  test.skipIf(!has('php'))('PHP with PHPMailer sends an email', async () => {
    const code = snippet('php\n').replace('vendor/autoload.php', PHPMAILER)
    expect(await acceptedBy(() => play('php', ['-r', code]))).toEqual(tagged('receipt'))
  })

  test.skipIf(!has('msmtp'))('msmtp sends an email', async () => {
    const file = join(folder, 'msmtprc')
    // Debian's msmtp trusts the system's authorities unless configured otherwise.
    const more = `tls_trust_file ${cert}\n`
    await writeFile(file, snippet('\naccount').replace('re_...', door.keys.sending) + more)
    await chmod(file, 0o600)
    const input = 'From: app@acme.example\nTo: ada@example.net\nSubject: Hello\n\nIt works.\n'
    const accepted = await acceptedBy(() => play('msmtp', ['-C', file, 'ada@example.net'], { input }))
    expect(accepted).toEqual(untagged)
  })

  test('the example configuration of a trusted listener is valid', async () => {
    const file = join(folder, 'posthaste.toml')
    const id = '0197f2a4-7c1e-7b3a-9d2f-5a6b7c8d9e0f'
    const toml = snippet('toml\n').replace('0197f2a4-...', id)
    await writeFile(file, `hostname = "mail.acme.example"\n${toml}`)
    const loaded = loadConfig({ file, env: {} })
    expect('config' in loaded && loaded.config.smtp.trusted).toEqual([
      { listen: '10.0.0.5:2525', networks: ['10.0.0.0/24'], api_key_id: id },
    ])
  })
})
