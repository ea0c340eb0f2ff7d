import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/** Runs the hosted service's command line unchanged, with RESEND_BASE_URL set. */

const execute = promisify(execFile)
const cli = join(import.meta.dirname, '../../node_modules/resend-cli/dist/cli.cjs')

let appliance: TestAppliance
let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'posthaste-cli-'))
  appliance = await startAppliance()
})
afterAll(async () => {
  await appliance.close()
  await rm(home, { recursive: true })
})

/** Runs a command that must succeed. Returns its JSON output. */
async function resend<T = { id: string }>(...args: string[]): Promise<T> {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    RESEND_API_KEY: appliance.apiKey,
    RESEND_BASE_URL: appliance.url,
    RESEND_TELEMETRY_DISABLED: '1',
    RESEND_NO_UPDATE_NOTIFIER: '1',
  }
  const { stdout } = await execute(process.execPath, [cli, ...args, '--json'], { env, cwd: home })
  return JSON.parse(stdout) as T
}

const TO = ['--to', 'ada@customer.test']
const FROM = ['--from', 'Acme, Inc. <hello@example.test>']

test('sends an email with every field, and shows it', async () => {
  const file = join(home, 'invoice.pdf')
  await writeFile(file, '%PDF')
  const { id } = await resend(
    'emails',
    'send',
    ...FROM,
    ...TO,
    '--subject',
    'Grüße',
    '--text',
    'Hi',
    '--html',
    '<p>Hi</p>',
    '--cc',
    'carl@customer.test',
    '--bcc',
    'berta@customer.test',
    '--reply-to',
    'help@example.test',
    '--headers',
    'X-Entity-Ref-ID=7',
    '--tags',
    'kind=welcome',
    '--attachment',
    file,
    '--idempotency-key',
    'once',
  )
  expect(await resend('emails', 'get', id)).toMatchObject({
    from: '"Acme, Inc." <hello@example.test>',
    to: ['ada@customer.test'],
    cc: ['carl@customer.test'],
    bcc: ['berta@customer.test'],
    reply_to: ['help@example.test'],
    subject: 'Grüße',
    tags: [{ name: 'kind', value: 'welcome' }],
  })
  const list = await resend<{ data: { id: string }[] }>('emails', 'list')
  expect(list.data.map((email) => email.id)).toEqual([id])
})

test('schedules, reschedules and cancels an email', async () => {
  const text = ['--subject', 'Later', '--text', 'Hi']
  const { id } = await resend('emails', 'send', ...FROM, ...TO, ...text, '--scheduled-at', 'in 1 hour')
  const later = new Date(Date.now() + 7_200_000).toISOString()
  expect(await resend('emails', 'update', id, '--scheduled-at', later)).toMatchObject({ id })
  expect(await resend('emails', 'cancel', id)).toMatchObject({ id })
  expect(await resend('emails', 'get', id)).toMatchObject({ last_event: 'canceled' })
})

test('sends a batch from a file', async () => {
  const file = join(home, 'emails.json')
  const one = { from: 'hello@example.test', to: ['ada@customer.test'], subject: 'Batch', text: 'Hi' }
  await writeFile(file, JSON.stringify([one, { ...one, to: ['bob@customer.test'] }]))
  const sent = await resend<{ data: { id: string }[] } | { id: string }[]>('emails', 'batch', '--file', file)
  expect(Array.isArray(sent) ? sent : sent.data).toHaveLength(2)
})

test('adds, updates and deletes domains, keys and webhooks', async () => {
  const domain = await resend('domains', 'create', '--name', 'news.test')
  expect(await resend('domains', 'update', domain.id, '--tls', 'enforced')).toMatchObject({ id: domain.id })
  expect(await resend('domains', 'get', domain.id)).toMatchObject({ name: 'news.test', tls: 'enforced' })
  await resend('domains', 'delete', domain.id, '--yes')
  const key = await resend<{ id: string; token: string }>('api-keys', 'create', '--name', 'app')
  expect(key.token).toMatch(/^re_/)
  await resend('api-keys', 'delete', key.id, '--yes')
  const endpoint = ['--endpoint', 'https://app.example.com/hook', '--events', 'email.sent']
  const webhook = await resend('webhooks', 'create', ...endpoint)
  expect(await resend('webhooks', 'get', webhook.id)).toMatchObject({ events: ['email.sent'] })
  await resend('webhooks', 'delete', webhook.id, '--yes')
})

test('reports why an email is rejected', async () => {
  const stranger = ['--from', 'hello@elsewhere.test', ...TO, '--subject', 'x', '--text', 'x']
  await expect(resend('emails', 'send', ...stranger)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('elsewhere.test') as string,
  })
})
