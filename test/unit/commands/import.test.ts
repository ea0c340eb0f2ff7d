import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../../world/appliance.ts'
import { refusal, startHosted, type HostedWorld } from '../../world/hosted.ts'
import { createWorld, type World } from '../../world/world.ts'
import { installation, posthaste, type Run } from './program.ts'

/** A target installation with an owner. */
interface Place {
  run: (...args: string[]) => Promise<Run>
  json: <T>(...args: string[]) => Promise<T>
  /** Returns the path of a file in the installation's folder. */
  path: (name: string) => string
}

async function place(): Promise<Place> {
  const { config } = installation('[dns]\nservers = ["127.0.0.1:9"]\n')
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-import-'))
  const run = (...args: string[]) => posthaste([...args, '--config', config])
  await posthaste(['setup', '--email', 'owner@here.test', '--config', config], { input: 'a long password\n' })
  return {
    run,
    path: (name) => join(folder, name),
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await run(...args, '--json')
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout) as T
    },
  }
}

/** The output of `import --json`. */
interface Printed {
  dry_run: boolean
  domains: Tally
  suppressions: Tally
  webhooks: Tally
  keys: Tally
  zone: string
  secrets: Record<string, unknown>[]
  failure: string | null
}
interface Tally {
  there: number
  added: number
  present: number
  left_out: number
  reasons: object[]
  notes: object[]
}
const tally = (there: number, added: number, present = 0, left_out = 0) =>
  expect.objectContaining({ there, added, present, left_out }) as Tally

describe('import from another server', () => {
  let world: World
  let there: TestAppliance
  let here: Place
  let keyFile: string
  const bring = (...args: string[]): string[] => [
    'import',
    '--from',
    there.url,
    '--key-file',
    keyFile,
    ...args,
  ]

  beforeAll(async () => {
    world = await createWorld({ domains: {} })
    there = await startAppliance({ world })
    here = await place()
    keyFile = here.path('key')
    writeFileSync(keyFile, `${there.apiKey}\n`)
    const made = await there.call<{ id: string }>('POST', '/domains', {
      name: 'news.sender.test',
      region: 'eu-west-1',
      custom_return_path: 'bounce',
      open_tracking: true,
      tracking_subdomain: 'links',
      tls: 'enforced',
    })
    expect(made.status).toBe(201)
    await there.call('POST', '/webhooks', {
      endpoint: 'https://app.example.com/hook',
      events: ['email.delivered', 'email.bounced'],
    })
    await there.call('POST', '/api-keys', {
      name: 'shop',
      permission: 'sending_access',
      domain_id: made.body.id,
    })
    const emails = Array.from({ length: 90 }, (_, at) => `user${at}@customer.test`)
    await there.call('POST', '/suppressions/batch/add', { emails })
    const csv = `email,origin,created_at\ngone@customer.test,bounce,2026-01-02T03:04:05Z\nangry@customer.test,complaint,\n`
    await there.call('POST', '/suppressions/import', { csv })
  })
  afterAll(async () => {
    await there.close()
    await world.close()
  })

  test('--dry-run reports what would be imported and changes nothing', async () => {
    const { code, stdout, stderr } = await here.run(...bring('--dry-run'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`From ${there.url} to the team "My team"; dry run, nothing is changed:
                    THERE  TO ADD  ALREADY HERE  SKIPPED
domains             2      2       0             0
suppressions        92     92      0             0
webhooks            1      1       0             0
API keys            2      2       0             0
contact properties  0      0       0             0
segments            0      0       0             0
topics              0      0       0             0
contacts            0      0       0             0
templates           0      0       0             0
broadcasts          0      0       0             0
event schemas       0      0       0             0
automations         0      0       0             0
`)
    expect((await here.run(...bring('--dry-run'))).stdout).toBe(stdout)
  })

  test('imports all objects once, with webhooks disabled until --enable', async () => {
    const [secrets, zone] = [here.path('secrets'), here.path('zone')]
    const moved = await here.run(...bring('--secrets', secrets, '--zone', zone))
    expect(moved).toMatchObject({ code: 0, stderr: '' })
    expect(moved.stdout).toContain('domains             2      2      0             0\n')
    expect(moved.stdout).toContain('note: news.sender.test: both services use the return path')

    expect(statSync(secrets).mode & 0o777).toBe(0o600)
    const kept = readFileSync(secrets, 'utf8').trim().split('\n')
    const objects = kept.map((line) => JSON.parse(line) as Record<string, string>)
    expect(objects).toMatchObject([
      { object: 'webhook', endpoint: 'https://app.example.com/hook', status: 'disabled' },
      { object: 'api_key', name: 'shop', permission: 'sending_access', domain: 'news.sender.test' },
      { object: 'api_key', name: 'test', permission: 'full_access', domain: null },
    ])
    const tokens = objects.map((one) => (one.token ?? one.signing_secret)!)
    expect(tokens.every((token) => /^(re|whsec)_\S{20,}$/.test(token))).toBe(true)
    for (const token of [...tokens, there.apiKey]) expect(moved.stdout + moved.stderr).not.toContain(token)

    // The selectors are in use by the other service, whose mail must still verify.
    expect(readFileSync(zone, 'utf8')).toMatch(
      /^posthaste-\d{8}\._domainkey\.news\.sender\.test\. 3600 IN TXT/m,
    )
    const { data: domains } = await here.json<{ data: { name: string }[] }>('domain', 'list')
    expect(domains.map(({ name }) => name).toSorted()).toEqual(['news.sender.test', 'sender.test'])
    expect(await here.json('domain', 'show', 'news.sender.test')).toMatchObject({
      region: 'eu-west-1',
      custom_return_path: 'bounce',
      open_tracking: true,
      click_tracking: false,
      tracking_subdomain: 'links',
      tls: 'enforced',
      status: 'not_started',
    })
    const { data: listed } = await here.json<{ data: object[] }>('suppression', 'list', '--origin', 'bounce')
    expect(listed).toMatchObject([
      {
        email: 'gone@customer.test',
        created_at: '2026-01-02 03:04:05+00',
        reason: `Imported from ${there.url}`,
      },
    ])

    const again = await here.json<Printed>(...bring())
    expect(again).toMatchObject({
      domains: tally(2, 0, 2),
      suppressions: tally(92, 0, 92),
      webhooks: tally(1, 0, 1),
      keys: tally(2, 0, 2),
      secrets: [],
      failure: null,
    })
    expect((await here.json<Printed>(...bring('--enable', '--only', 'webhooks'))).webhooks.notes).toEqual([
      { what: 'https://app.example.com/hook', text: 'it is now enabled' },
    ])
    expect((await here.json<{ data: object[] }>('webhook', 'list')).data).toMatchObject([
      { status: 'enabled', disabled_reason: null, events: ['email.delivered', 'email.bounced'] },
    ])

    const audit = await here.run('audit', '--limit', '100', '--json')
    const { data: acts } = JSON.parse(audit.stdout) as { data: { action: string; actor_kind: string }[] }
    const count = (action: string) => acts.filter((act) => act.action === action).length
    expect(['domain.create', 'api_key.create', 'webhook.create', 'webhook.update'].map(count)).toEqual([
      2, 2, 1, 1,
    ])
    expect(['suppression.import', 'import.run'].map(count)).toEqual([1, 3])
    for (const token of [...tokens, there.apiKey]) expect(audit.stdout).not.toContain(token)
  })

  test('rejects an API key without full access, and states the required access', async () => {
    const { body } = await there.call<{ token: string }>('POST', '/api-keys', {
      name: 'weak',
      permission: 'sending_access',
    })
    const weak = here.path('weak')
    writeFileSync(weak, body.token)
    const { code, stderr } = await here.run('import', '--from', there.url, '--key-file', weak)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /status 401: This API key is restricted.* must contain a valid key with full access\.\n$/s,
    )
    expect(stderr).not.toContain(body.token)
  })
})

describe('import from the hosted service', () => {
  let hosted: HostedWorld
  let here: Place
  beforeAll(async () => {
    hosted = await startHosted()
    here = await place()
    writeFileSync(here.path('key'), hosted.key)
  })
  afterAll(() => hosted.close())
  beforeEach(() => {
    hosted.instead = () => undefined
    hosted.content = { '/domains': [], '/suppressions': [], '/webhooks': [], '/api-keys': [] }
    hosted.asked.length = 0
  })
  const bring = (...args: string[]): Promise<Run> =>
    here.run('import', '--from', hosted.url, '--key-file', here.path('key'), ...args)
  const result = ({ stdout }: Run): Printed => JSON.parse(stdout) as Printed

  test('skips invalid objects, reports the reasons and exits with 1', async () => {
    hosted.content = {
      '/domains': [
        { id: 'd1', name: 'acme.example', region: 'mars-1' },
        { id: 'd2', name: 'not a domain' },
        { id: 'd3' },
      ],
      '/domains/d1': {
        id: 'd1',
        name: 'acme.example',
        region: 'mars-1',
        capabilities: { receiving: 'enabled' },
      },
      '/domains/d2': { id: 'd2', name: 'not a domain' },
      '/suppressions': [
        { id: 's1', email: 'one@acme.example', origin: 'martian', created_at: '2199-01-01 00:00:00+00' },
        { id: 's2', email: 'no address' },
        { id: 's3', email: null },
      ],
      '/webhooks': [
        { id: 'w1', endpoint: 'http://intranet.example/hook', events: ['email.sent'], status: 'enabled' },
        { id: 'w2', endpoint: 'https://app.example/hook', events: ['email.sent', 'email.teleported'] },
        { id: 'w3', endpoint: 'https://app.example/none', events: null },
      ],
      '/api-keys': [
        { id: 'k1', name: 'app' },
        { id: 'k2', name: 'app' },
        { id: 'k3', name: 'bound', domain_id: 'd1', permission: 'sending_access' },
        { id: 'k4', name: 'lost', domain_id: 'd9', permission: 'sending_access' },
      ],
    }
    const preview = await bring('--dry-run', '--json')
    expect(preview.code).toBe(1)
    const run = await bring('--json')
    expect(run.code).toBe(1)
    expect(run.stderr).toBe('7 objects were skipped for the reasons above.\n')
    const printed = result(run)
    expect(printed).toMatchObject({
      domains: tally(3, 1, 0, 2),
      suppressions: tally(3, 1, 0, 2),
      webhooks: tally(3, 1, 0, 2),
      keys: tally(4, 3, 0, 1),
    })
    const { domains, suppressions, webhooks, keys } = printed
    expect(result(preview)).toMatchObject({ domains, suppressions, webhooks, keys, secrets: [], zone: '' })
    expect(domains.notes).toHaveLength(2)
    expect(webhooks.reasons).toEqual([
      { what: 'https://app.example/none', text: 'the hosted API returned no endpoint or events for it' },
      { what: 'http://intranet.example/hook', text: expect.stringContaining('an https:// URL') as string },
    ])
    expect(webhooks.notes).toEqual([
      {
        what: 'https://app.example/hook',
        text: 'without events that are not supported here: email.teleported',
      },
    ])
    expect(keys.reasons).toEqual([
      { what: 'lost', text: 'it is restricted to a domain that the hosted API does not list' },
    ])
    expect(printed.secrets).toMatchObject([
      { object: 'webhook', events: ['email.sent'] },
      { name: 'app', permission: 'sending_access' },
      { name: 'app', permission: 'sending_access' },
      { name: 'bound', permission: 'sending_access', domain: 'acme.example' },
    ])
    const { data } = await here.json<{ data: object[] }>('suppression', 'list')
    expect(data).toMatchObject([{ email: 'one@acme.example', origin: 'manual' }])
  })

  test('imports thousands of addresses despite temporary errors, and resumes an interrupted run', async () => {
    const addresses = Array.from({ length: 2500 }, (_, at) => ({
      id: `s${at}`,
      email: `bounced${at}@acme.example`,
      origin: 'bounce',
      source_id: null,
      created_at: '2025-11-30 20:39:59.540771+00',
    }))
    hosted.content['/suppressions'] = addresses
    // The 12th page is broken; ten pages were stored, in two batches.
    hosted.instead = (_, number) => (number === 12 ? { status: 200, raw: '{"data":[' } : undefined)
    const broken = await bring('--only', 'suppressions', '--json')
    expect(broken.code).toBe(1)
    expect(broken.stderr).toContain('did not return JSON')
    expect(result(broken)).toMatchObject({
      suppressions: { added: 1000 },
      failure: expect.stringContaining('did not return JSON') as string,
    })

    hosted.asked.length = 0
    hosted.instead = (_, number) => {
      if (number === 3)
        return { ...refusal(429, 'rate_limit_exceeded', 'Too many.'), headers: { 'retry-after': '1' } }
      return number === 7 ? refusal(500, 'internal_server_error', 'Oops.') : undefined
    }
    const rest = await bring('--only', 'suppressions', '--json')
    expect(rest).toMatchObject({ code: 0, stderr: '' })
    expect(result(rest).suppressions).toMatchObject({ there: 2500, added: 1500, present: 1000, left_out: 0 })
    expect(hosted.asked).toHaveLength(27)
  })

  test('prints secrets once, with and without --json', async () => {
    hosted.content['/api-keys'] = [{ id: 'k9', name: 'printed' }]
    const first = await bring('--only', 'keys', '--permission', 'full_access')
    expect(first.code).toBe(0)
    expect(first.stdout).toMatch(/^API key "printed" \(full_access\): re_\S{20,}\n/)
    expect(first.stdout).toContain(
      'note: 1 key: the hosted API does not report their permission; they get full_access',
    )
    expect((await bring('--only', 'keys')).stdout).not.toContain('re_')
  })

  test('--return-path sets another return path, so that both services can send at the same time', async () => {
    const records = [
      { record: 'SPF', name: 'send', type: 'MX', value: 'feedback-smtp.ses.example', priority: 10 },
      { record: 'SPF', name: 'send', type: 'TXT', value: '"v=spf1 include:ses.example ~all"' },
    ]
    hosted.content['/domains'] = [{ id: 'd7', name: 'shop.example', region: 'us-east-1' }]
    hosted.content['/domains/d7'] = { id: 'd7', name: 'shop.example', region: 'us-east-1', records }
    const { code, stdout } = await bring('--only', 'domains', '--return-path', 'post')
    expect(code).toBe(0)
    expect(stdout).toContain('\npost.shop.example. 3600 IN MX 10 mail.sender.test.\n')
    expect(stdout).not.toContain('at the switch')
    expect(await here.json('domain', 'show', 'shop.example')).toMatchObject({ custom_return_path: 'post' })
  })

  test('rejects invalid options before any request', async () => {
    const says = async (...args: string[]) => {
      const { code, stderr } = await here.run('import', ...args)
      return `${code} ${stderr}`
    }
    const key = ['--key-file', here.path('key')]
    expect(await says('--from', 'http://api.example.com', ...key)).toMatch(/^1 --from must be .*https:\/\//)
    expect(await says('--from', hosted.url, '--key-file', here.path('nothing'))).toBe(
      `1 Cannot read the key file: ${here.path('nothing')} does not exist\n`,
    )
    expect(await says('--from', hosted.url, ...key, '--only', 'domains,emails')).toMatch(
      /^2 .*comma-separated list of: domains, suppressions/s,
    )
    expect(await says('--from', hosted.url, ...key, '--team', 'nobody')).toMatch(/^1 Team nobody not found/)
    expect(await says('--from', hosted.url)).toMatch(/^2 .*--key-file/s)
    writeFileSync(here.path('open'), '', { mode: 0o644 })
    expect(await says('--from', hosted.url, ...key, '--secrets', here.path('open'))).toMatch(/^1 .*chmod 600/)
    expect(hosted.asked).toEqual([])
  })
})
