import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSelfSignedPair } from '../../appliance/wire/self-signed.ts'
import { renderSnippet } from '../../ui/src/state/snippets.ts'
import { startApi, type Api } from '../unit/http/harness.ts'
import { startDoor, type Door } from '../unit/smtp/harness.ts'
import type { Language } from '../../ui/src/state/smtp-snippets.ts'

/**
 * Runs the snippets shown next to a new key, as in the dashboard, against the real listeners. Programs that verify
 * certificates get the test's certificate in the way each of them supports.
 */

const run = promisify(execFile)
const PROJECT = join(import.meta.dirname, '../..')
const PHPMAILER = '/usr/share/php/libphp-phpmailer/autoload.php'
const has = (program: string) => spawnSync(program, ['--version']).status === 0

let api: Api
let door: Door
let folder: string
let cert: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-snippets-'))
  cert = join(folder, 'cert.pem')
  const pair = await createSelfSignedPair(['localhost'], Date.now())
  await writeFile(cert, pair.cert)
  await writeFile(join(folder, 'key.pem'), pair.key)
  door = await startDoor({ files: { cert, key: join(folder, 'key.pem') } })
  api = await startApi()
})
afterAll(async () => {
  await api?.close()
  await door?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs a program. Fails with its whole output. */
async function play(program: string, args: string[]): Promise<string> {
  const trusted = { SSL_CERT_FILE: cert, CURL_CA_BUNDLE: cert, NODE_EXTRA_CA_CERTS: cert }
  return (await run(program, args, { cwd: PROJECT, env: { ...process.env, ...trusted } })).stdout
}

const nodeArgs = (code: string) => ['--input-type=module', '--eval', code]

describe('key snippets over SMTP', () => {
  const text = (language: Language) =>
    renderSnippet(language, 'smtp', {
      origin: 'http://localhost',
      smtp: { host: 'localhost', port: door.ports.starttls },
      token: door.keys.sending,
      domain: 'acme.example',
    })

  /** Returns what was accepted while `action` ran. */
  async function acceptedBy(action: () => Promise<unknown>) {
    const before = new Set((await door.emails()).map(({ id }) => id))
    await action()
    const fresh = (await door.emails()).filter(({ id }) => !before.has(id))
    return fresh.map(({ from, to, subject }) => ({ from, to, subject }))
  }
  const one = [
    {
      from: expect.stringMatching(/^"?Me"? <hello@acme\.example>$/) as string,
      to: ['someone@example.com'],
      subject: 'Hello',
    },
  ]

  test('curl sends an email', async () => {
    expect(await acceptedBy(() => play('sh', ['-ec', text('curl')]))).toEqual(one)
  })

  test('Node with nodemailer sends an email', async () => {
    expect(await acceptedBy(() => play(process.execPath, nodeArgs(text('node'))))).toEqual(one)
  })

  test.skipIf(!has('/usr/bin/python3'))('Python sends an email', async () => {
    expect(await acceptedBy(() => play('/usr/bin/python3', ['-c', text('python')]))).toEqual(one)
  })

  test.skipIf(!has('php'))('PHP with PHPMailer sends an email', async () => {
    const code = text('php').replace('vendor/autoload.php', PHPMAILER)
    expect(await acceptedBy(() => play('php', ['-r', code]))).toEqual(one)
  })
})

describe('key snippets over the API', () => {
  const text = (language: Language) =>
    renderSnippet(language, 'api', {
      origin: api.url,
      smtp: null,
      token: api.sending,
      domain: 'acme.example',
    })

  test('curl sends an email', async () => {
    expect(JSON.parse(await play('sh', ['-ec', text('curl')]))).toEqual({ id: expect.any(String) as string })
  })

  test('Node with the official client sends an email', async () => {
    expect(await play(process.execPath, nodeArgs(text('node')))).toMatch(/^\{ id: '[0-9a-f-]{36}' \}\n$/)
  })

  test.skipIf(!has('php'))('PHP has valid syntax', async () => {
    const file = join(folder, 'first.php')
    await writeFile(file, `<?php\n${text('php')}\n`)
    expect(await play('php', ['-l', file])).toMatch(/^No syntax errors detected/)
  })
})
