import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createWorld, type World } from '../../world/world.ts'
import { storeDeferred } from './deferred.ts'
import { installation, posthaste, posthasteProcess, type Run } from './program.ts'

let world: World
let config: string
let storage: Storage

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const made = installation(`[dns]\nservers = ["${world.dnsServers[0]!}"]\n`)
  config = made.config
  // Stays open, as with a running daemon.
  storage = await openSqlite({ dataDir: made.dataDir })
})
afterAll(async () => {
  await storage.close()
  await world.close()
})

const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })
/** Runs a command in a process of its own, as people do while the daemon runs. */
const runProcess = (args: string[], input = ''): Promise<Run> =>
  posthasteProcess([...args, '--config', config], { input })

/** The keys that tests read. Which ones exist depends on the command. */
interface Printed {
  id: string
  token: string
  data: unknown[]
  records: { record: string; value: string }[]
  summary: object
  count: number
  audit_id: string
  rule: object | null
}

/** Returns a command's --json output, and checks that it prints nothing else. */
async function json(args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await run([...args, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) as string })
  return JSON.parse(stdout) as Printed
}

const anyId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/) as string

// Each block builds on the previous ones: together they are the life of one installation.
describe('setup', () => {
  test('other commands require setup first', async () => {
    expect(await run(['domain', 'add', 'sender.test'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no owner yet. First run: posthaste setup --email you@example.com\n',
    })
  })

  test('setup rejects a weak password, and creates one owner with a password from standard input', async () => {
    expect(await run(['setup', '--email', 'Owner@sender.test'], 'short\n')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Invalid `password` field: at least 10 characters.\n',
    })
    const done = await runProcess(
      ['setup', '--email', 'Owner@sender.test', '--team', 'Acme'],
      'a long password\r\nnot this',
    )
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain('Created the team "Acme" with the owner owner@sender.test.')
    expect(done.stdout).toContain('posthaste domain add example.com')
    expect(await run(['setup', '--email', 'other@sender.test'], 'a long password\n')).toEqual({
      code: 1,
      stdout: '',
      stderr: "This server already has an owner. Sign in with the owner's address.\n",
    })
  })
})

describe('domain', () => {
  test('domain add prints the records to publish', async () => {
    const { code, stdout, stderr } = await runProcess(['domain', 'add', 'Sender.test'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.replaceAll(/p=[\w+/=]{9,}/g, 'p=KEY').replaceAll(/reports-\w{20}/g, 'reports-CODE'))
      .toBe(`Added sender.test. Publish these records with its DNS provider, then run:
posthaste domain verify sender.test

DKIM   TXT  posthaste._domainkey.sender.test
  v=DKIM1; k=rsa; p=KEY

DKIM   TXT  posthaste-ed25519._domainkey.sender.test  (optional)
  v=DKIM1; k=ed25519; p=KEY

SPF    MX   send.sender.test
  10 mail.sender.test

SPF    TXT  send.sender.test
  v=spf1 a:mail.sender.test ~all

DMARC  TXT  _dmarc.sender.test  (recommended)
  v=DMARC1; p=none; rua=mailto:reports-CODE@send.sender.test

Many DNS control panels expect names without the domain at the end:
posthaste._domainkey, posthaste-ed25519._domainkey, send, send, _dmarc.
`)
  })

  test('domain add puts a domain in a region, and names the regions it could be in', async () => {
    const { stdout } = await run(['domain', 'add', 'eu.test', '--region', 'EU-West-1', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ name: 'eu.test', region: 'eu-west-1' })
    expect((await run(['domain', 'remove', 'eu.test'])).code).toBe(0)
    expect((await run(['domain', 'add', 'x.test', '--region', 'mars'])).stderr.replaceAll(/\s+/g, ' ')).toBe(
      'Region must be "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1". ',
    )
  })

  test('domain add rejects a registered domain and a public suffix', async () => {
    const [taken, suffix] = await Promise.all([
      run(['domain', 'add', 'sender.test']),
      run(['domain', 'add', 'co.uk']),
    ])
    expect(taken).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The sender.test domain has been registered already.\n',
    })
    expect(suffix.stderr).toBe('Invalid `name` field: a domain below the public suffix co.uk.\n')
  })

  test('domain verify reports missing and wrong records with exit code 1, until all are right', async () => {
    world.dns.set('send.sender.test', {
      MX: [{ preference: 10, exchange: 'mx.elsewhere.test' }],
      TXT: ['v=spf1 a:mail.sender.test ~all'],
    })
    const before = await runProcess(['domain', 'verify', 'sender.test'])
    expect(before.code).toBe(1)
    expect(before.stderr).toBe('sender.test is not verified: 2 of its records are missing or wrong.\n')
    expect(
      before.stdout
        .replaceAll(/p=[\w+/=]{9,}/g, 'p=KEY')
        .replaceAll(/reports-\w{20}/g, 'reports-CODE')
        .replaceAll(/[\d-]{10} [\d:]{8}/g, 'TIME'),
    ).toBe(`sender.test: pending since TIME UTC
Checked TIME UTC, next TIME UTC

missing      DKIM   TXT  posthaste._domainkey.sender.test
  expected  v=DKIM1; k=rsa; p=KEY
  found     nothing
  Nothing is published at posthaste._domainkey.sender.test. Add the TXT record.
  New records can take a few minutes to appear.

missing      DKIM   TXT  posthaste-ed25519._domainkey.sender.test  (optional)
  expected  v=DKIM1; k=ed25519; p=KEY
  found     nothing
  Nothing is published at posthaste-ed25519._domainkey.sender.test. Add the TXT
  record. New records can take a few minutes to appear.

wrong        SPF    MX   send.sender.test
  expected  10 mail.sender.test
  found     10 mx.elsewhere.test
  The MX record points to mx.elsewhere.test, so bounces would not reach this
  server. Change it to mail.sender.test.

ok           SPF    TXT  send.sender.test

missing      DMARC  TXT  _dmarc.sender.test  (recommended)
  expected  v=DMARC1; p=none; rua=mailto:reports-CODE@send.sender.test
  found     nothing
  Nothing is published at _dmarc.sender.test. Add the TXT record. New records
  can take a few minutes to appear.

Optional records: MTA-STS missing, TLS-RPT missing, BIMI missing.

Reverse DNS (PTR) of the sending IPs: not checked. No sending IP is known yet.
The server records them when it starts. See: posthaste source list

SELECTOR           ALGORITHM       STATE    SINCE
  MEANING
posthaste          rsa-sha256      active   TIME
  signs
posthaste-ed25519  ed25519-sha256  pending  TIME
  signs once its record is found in DNS
`)
    const shown = await json(['domain', 'show', 'sender.test'])
    const dkim = shown.records.find(({ record }) => record === 'DKIM')!.value
    world.dns.set('posthaste._domainkey.sender.test', { TXT: [dkim] })
    world.dns.set('send.sender.test', {
      MX: [{ preference: 10, exchange: 'mail.sender.test' }],
      TXT: ['v=spf1 a:mail.sender.test ~all'],
    })
    const after = await run(['domain', 'verify', 'SENDER.test'])
    expect({ ...after, stdout: after.stdout.split(' since')[0] }).toEqual({
      code: 0,
      stdout: 'sender.test: verified',
      stderr: '',
    })
  })

  test('domain list and show print the same objects as the API', async () => {
    const summary = {
      id: anyId,
      name: 'sender.test',
      status: 'verified',
      created_at: anyTime,
      region: 'us-east-1',
      open_tracking: false,
      click_tracking: false,
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      lights: [
        { name: 'SPF', status: 'verified', note: null },
        { name: 'DKIM', status: 'verified', note: null },
        ...['DMARC', 'MTA-STS', 'TLS-RPT', 'BIMI'].map((name) => ({ name, status: 'pending', note: null })),
        {
          name: 'PTR',
          status: 'not_started',
          note: 'No sending IP is known yet. The server records them when it starts.',
        },
      ],
    }
    expect(await json(['domain', 'list'])).toEqual({ object: 'list', has_more: false, data: [summary] })
    const shown = await json(['domain', 'show', 'sender.test'])
    expect(shown).toEqual({
      object: 'domain',
      ...summary,
      records: expect.any(Array) as unknown[],
      tls: 'opportunistic',
      custom_return_path: 'send',
      delegation: 'none',
      delegation_zone: null,
      recommended_records: [expect.objectContaining({ record: 'DMARC', status: 'pending' })],
      dkim_keys: [
        expect.objectContaining({ selector: 'posthaste', state: 'active' }),
        expect.objectContaining({ selector: 'posthaste-ed25519', state: 'pending' }),
      ],
      status_since: anyTime,
      failing_since: null,
      checked_at: anyTime,
      next_check_at: anyTime,
      gives_up_at: null,
      notes: [],
    })
    expect(shown.records[2]).toEqual({
      record: 'SPF',
      name: 'send',
      type: 'MX',
      ttl: 'Auto',
      status: 'verified',
      value: 'mail.sender.test',
      priority: 10,
      fqdn: 'send.sender.test',
      required: true,
      served: false,
      advice: null,
      found: ['10 mail.sender.test'],
      note: null,
      checked_at: anyTime,
      since: anyTime,
    })
  })

  test('domain remove deletes a domain, and show reports an unknown one', async () => {
    await run(['domain', 'add', 'other.test'])
    expect(await run(['domain', 'remove', 'other.test'])).toEqual({
      code: 0,
      stdout: 'Removed other.test. Its DNS records are no longer needed.\n',
      stderr: '',
    })
    expect(await run(['domain', 'show', 'other.test'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Domain other.test not found. See: posthaste domain list\n',
    })
  })
})

describe('queue', () => {
  const emailId = newId(Date.now())
  const deliveryId = newId(Date.now())

  test('queue list shows deliveries with their reason, and strips control characters from remote replies', async () => {
    await storeDeferred(storage, { emailId, deliveryId })
    const { code, stdout } = await run(['queue', 'list', '--domain', 'One.test'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^2 waiting, 0 held, 0 in flight; oldest since [\d-]{10} [\d:]{8} UTC\n/)
    expect(stdout).toContain(`${deliveryId}  a@one.test\n  waiting, 1 attempt, next `)
    expect(stdout).toContain('  The server asks to wait. (451 later\u{fffd}]0;owned\u{fffd})\n')
    expect(stdout).not.toContain('b@two.test')
    expect(stdout).not.toContain('\u001b')
  })

  test('queue list prints the same deliveries as the API', async () => {
    const listed = await json(['queue', 'list', '--limit', '1'])
    expect(listed).toMatchObject({ object: 'list', has_more: true })
    expect(await json(['queue', 'count'])).toMatchObject({
      object: 'queue_summary',
      waiting: 2,
      held: 0,
      in_flight: 0,
      oldest_at: anyTime,
    })
    expect(listed.data).toHaveLength(1)
    const [one] = (await json(['queue', 'list', '--id', deliveryId])).data
    expect(one).toMatchObject({
      id: deliveryId,
      email_id: emailId,
      recipient: 'a@one.test',
      state: 'waiting',
      attempts: 1,
      next_attempt_at: anyTime,
      cause: { phase: 'rcpt', host: 'mx.one.test', note: 'The server asks to wait.' },
    })
  })

  test('queue show prints the timeline of an email, by email or delivery ID', async () => {
    const [byEmail, byDelivery] = await Promise.all([
      run(['queue', 'show', emailId]),
      run(['queue', 'show', deliveryId]),
    ])
    expect(byEmail.stdout).toBe(byDelivery.stdout)
    expect(byEmail.stdout).toContain('             > RCPT TO:<a@one.test>\n             < 451 4.7.1 later')
    expect(byEmail.stdout).toContain('attempt at ')
    expect(await json(['queue', 'show', deliveryId])).toMatchObject({ object: 'timeline', email_id: emailId })
    const unknown = await run(['queue', 'show', '0197c3e2-5a71-7000-8000-1c2d3e4f5061'])
    expect(unknown).toMatchObject({ code: 1, stdout: '' })
    expect(unknown.stderr).toMatch(/^No email or queued delivery has the ID 0197c3e2/)
  })

  test('--dry-run previews a queue change without making it', async () => {
    const { code, stdout } = await run(['queue', 'hold', '--domain', 'one.test', '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^1 delivery would be held, accepted from [\d-]{10} [\d:]{8} to [\d-]{10} [\d:]{8} UTC\.\n/,
    )
    expect(stdout).toMatch(/\n1 +0 +0 +[\d-]{10} [\d:]{8} +\?one\.test\n/)
    expect(stdout).toContain('\nDomains: one.test (1)\n')
    expect(stdout).toContain(`\n${deliveryId}  a@one.test\n`)
    const preview = await json(['queue', 'drop', '--all', '--dry-run'])
    expect(preview).toMatchObject({ object: 'queue_preview', action: 'drop', count: 2, waiting: 2 })
    expect((await json(['queue', 'count', '--reply', 'LATER'])).count).toBe(1)
  })

  test('hold, release, retry, expire and drop change the deliveries that match the filter', async () => {
    const held = await run(['queue', 'hold', '--domain', 'one.test'])
    expect(held.stdout).toMatch(/^1 delivery is held\.\nUndo: posthaste queue undo [\da-f-]{36}\n$/)
    expect((await json(['queue', 'list', '--state', 'held'])).data).toHaveLength(1)
    expect(await json(['queue', 'count'])).toMatchObject({ waiting: 1, held: 1 })
    expect(await json(['queue', 'release', '--email', emailId])).toEqual({
      object: 'queue_change',
      action: 'release',
      count: 1,
      audit_id: expect.any(String) as string,
      rule: null,
    })
    expect(await run(['queue', 'retry'])).toMatchObject({ stdout: '2 deliveries are due now.\n' })
    expect(await run(['queue', 'drop'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'This would end all queued deliveries. Add a condition such as --domain, or use --all.\n',
    })
    expect(await run(['queue', 'drop', '--id', deliveryId])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'This cannot be undone. Preview it with --dry-run, then confirm with --yes.\n',
    })
    expect(await run(['queue', 'drop', '--id', deliveryId, '--yes'])).toMatchObject({
      code: 0,
      stdout: '1 delivery is dropped.\n',
    })
    expect(await run(['queue', 'expire', '--older-than', '1d', '--yes'])).toMatchObject({
      stdout: '0 deliveries are expired.\n',
    })
    expect(await run(['queue', 'expire', '--all', '--yes'])).toMatchObject({
      code: 0,
      stdout: '1 delivery is expired.\n',
    })
    expect(await run(['queue', 'list'])).toMatchObject({
      code: 0,
      stdout: '0 waiting, 0 held, 0 in flight\n',
    })
  })

  test('an invalid queue filter is reported with its option', async () => {
    expect(await run(['queue', 'list', '--older-than', 'soon'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Invalid `--older-than` field: it must be a duration such as 90m, 2h or 3d.\n',
    })
    expect(await run(['queue', 'reroute', '--to', 'nowhere'])).toMatchObject({ code: 1, stdout: '' })
  })

  test('a hold of new mail is listed until it is undone, and both are in the audit log', async () => {
    const { audit_id: id, rule } = await json(['queue', 'hold', '--new', '--provider', 'google'])
    expect(rule).toMatchObject({ object: 'hold_rule', id, provider: 'google', domain: null })
    expect((await json(['queue', 'holds'])).data).toEqual([rule])
    const counted = await run(['queue', 'count'])
    expect(counted.stdout).toContain('Rules that hold new mail:\nDOMAIN  PROVIDER  TAG  TEAM  RULE\n')
    expect(counted.stdout).toContain(`any     google    any  any   ${id}\n`)
    expect(await run(['queue', 'undo', id])).toMatchObject({
      stdout: expect.stringMatching(
        /^0 deliveries are released\.\nNew mail that matches is no longer held\.\nUndo: /,
      ) as string,
    })
    expect((await json(['queue', 'holds'])).data).toEqual([])
    const audit = await json(['audit', '--limit', '2'])
    expect(audit.data).toMatchObject([
      { action: 'queue.release', actor_kind: 'command', details: { undoes: id }, after: { count: 0 } },
      { action: 'queue.hold', details: { filter: { provider: 'google' }, new: true }, ip: null },
    ])
    expect((await run(['audit'])).stdout).toMatch(/^AT +ID +FROM\n {2}WHAT\n/)
  })
})

test('migrate prints the schema number', async () => {
  expect(await json(['migrate'])).toEqual({
    object: 'migration',
    schema: expect.any(Number) as number,
    snapshots: [],
    data_dir: expect.stringContaining('posthaste-commands-') as string,
  })
})
