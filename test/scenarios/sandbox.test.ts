import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { BEHAVIORS, DNS_BEHAVIORS } from '../../appliance/sandbox/behaviours.ts'
import type { ReturnedMessage } from '../../appliance/api/received.ts'
import { RETURN_BEHAVIORS } from '../../appliance/sandbox/returned.ts'
import { PATIENCE } from '../world/patience.ts'
import type { SandboxMessage, SandboxMessageList } from '../../appliance/api/sandbox.ts'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'

/** Tests that the sandbox behaves as its tables document. */

let appliance: TestAppliance

beforeAll(async () => {
  appliance = await startAppliance()
})
afterAll(() => appliance.close())

/** Sends to an address. Waits for the outcome of the first attempt. */
async function firstAttempt(to: string): Promise<Timeline> {
  const id = await appliance.send({ to })
  return appliance.until(id, ({ attempts }) => attempts.length > 0)
}

/** The state after the first attempt, and the reply code that decided it. */
const LOCAL_PARTS: Record<string, [state: string, code: number | null]> = {
  bounce: ['bounced', 550],
  blocked: ['bounced', 554],
  full: ['waiting', 452],
  defer: ['waiting', 451],
  greylist: ['waiting', 450],
  slow: ['delivered', 250],
  drop: ['waiting', null],
  'tls-broken': ['delivered', 250],
}
const DOMAINS: Record<string, string> = {
  nxdomain: 'bounced',
  servfail: 'waiting',
  nullmx: 'bounced',
  deadmx: 'delivered',
}

test('the tests cover every local part and domain in the tables of the sandbox', () => {
  expect(Object.keys(LOCAL_PARTS)).toEqual(Object.keys(BEHAVIORS))
  expect(Object.keys(DOMAINS)).toEqual(Object.keys(DNS_BEHAVIORS))
})

describe('the local part selects the exchanger’s behavior', () => {
  test.concurrent.each(Object.entries(LOCAL_PARTS))(
    'mail to %s@ has the documented result',
    async (name, [state, code]) => {
      const { deliveries } = await firstAttempt(`${name}+1@customer-${name}.test`)
      expect(deliveries[0]!.state).toBe(state)
      expect(deliveries[0]!.cause!.reply?.code ?? null).toBe(code)
    },
  )

  test('mail to tls-broken@ arrives in plain text at the second exchanger', async () => {
    const { attempts } = await firstAttempt('tls-broken@elsewhere.test')
    expect(attempts[0]).toMatchObject({ host: 'mx2.elsewhere.test', tls: null })
  })
})

describe('the domain selects the DNS behavior', () => {
  test.concurrent.each(Object.entries(DOMAINS))(
    'mail to @%s. has the documented result',
    async (name, state) => {
      const { deliveries } = await firstAttempt(`ada@${name}.test`)
      expect(deliveries[0]!.state).toBe(state)
    },
  )
})

/** The delivery's state, and what the report to the return path changed. */
const RETURNED: Record<string, [state: string, kind: string | null, effect: string | null]> = {
  'late-bounce': ['bounced', 'bounce', 'suppressed'],
  'late-full': ['bounced', 'bounce', 'bounced'],
  'qmail-bounce': ['bounced', 'bounce', 'suppressed'],
  delayed: ['delivered', 'delayed', 'noted'],
  vacation: ['delivered', 'auto-reply', null],
  complaint: ['delivered', 'complaint', 'complained'],
  reply: ['delivered', null, null],
  'dmarc-report': ['delivered', null, null],
  'tls-report': ['delivered', null, null],
}

describe('the local part selects the later report', () => {
  test('the tests cover every row of the table of later reports', () => {
    expect(Object.keys(RETURNED)).toEqual(Object.keys(RETURN_BEHAVIORS))
  })

  test.concurrent.each(Object.entries(RETURNED))(
    'mail to %s@ is followed by the documented report',
    async (name, [state, kind, effect]) => {
      const id = await appliance.send({ to: `${name}+1@returns-${name}.test`, subject: `To ${name}` })
      await appliance.until(id, ({ deliveries }) => deliveries[0]!.state !== 'waiting')
      if (kind === null) return
      const path = `/emails/${id}/returned`
      const returned = () => appliance.call<{ data: ReturnedMessage[] }>('GET', path)
      // `expect.poll` is not available here, because tests of this file run concurrently.
      const report = await vi.waitUntil(async () => (await returned()).body.data[0]?.report, {
        timeout: PATIENCE,
      })
      expect([report.kind, report.entries[0]?.effect ?? null]).toEqual([kind, effect])
      expect((await appliance.timeline(id)).deliveries[0]!.state).toBe(state)
    },
  )

  test('the sandbox receives reports about the domain, which list its senders', async () => {
    const { body } = await appliance.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
    const { id, name } = body.data[0]!
    for (const kind of ['dmarc', 'tls']) await appliance.send({ to: `${kind}-report@reporter.test` })
    const reports = async () =>
      (
        await appliance.call<{ data: { kind: string; submitter: string; total: number; failed: number }[] }>(
          'GET',
          `/domains/${id}/reports`,
        )
      ).body.data
        .filter(({ submitter }) => submitter === 'mx1.reporter.test')
        .map(({ kind, total, failed }) => `${kind} ${failed} of ${total}`)
        .toSorted()
    await expect.poll(reports, { timeout: PATIENCE }).toEqual(['dmarc 8 of 50', 'tls 3 of 123'])
    const summary = await appliance.call<{ sources: { ip: string; verdict: string }[] }>(
      'GET',
      `/domains/${id}/reports/dmarc`,
    )
    expect(Object.fromEntries(summary.body.sources.map(({ ip, verdict }) => [ip, verdict]))).toMatchObject({
      '127.0.0.1': 'This server. All its mail passes DMARC.',
      '198.51.100.20': `Signs as crm.test, not as ${name}.`,
    })
  })

  test('the sandbox receives a reply and matches it to its email once receiving is enabled', async () => {
    const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
    await appliance.call('PATCH', `/domains/${body.data[0]!.id}`, { capabilities: { receiving: 'enabled' } })
    const id = await appliance.send({ to: 'reply@person.test', subject: 'A question' })
    const replies = async () =>
      (
        await appliance.call<{ data: { subject: string; from: string }[] }>(
          'GET',
          `/emails/receiving?in_reply_to_email_id=${id}`,
        )
      ).body.data
    await expect
      .poll(replies, { timeout: PATIENCE })
      .toMatchObject([{ subject: 'Re: A question', from: 'reply@person.test' }])
  })
})

describe('the sandbox inbox', () => {
  test('the sandbox inbox shows received messages with DKIM, SPF and DMARC results', async () => {
    const id = await appliance.send({
      to: 'reader@customer.test',
      subject: 'For the inbox',
      html: '<p>Größe</p>',
      text: 'Größe',
    })
    await appliance.until(id, ({ deliveries }) => deliveries[0]!.state === 'delivered')
    const { body } = await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')
    const found = body.data.find(({ subject }) => subject === 'For the inbox')!
    expect(found).toMatchObject({
      rcpt_to: ['reader@customer.test'],
      mail_from: expect.stringMatching(
        new RegExp(`^bounce\\+${id.replaceAll('-', '')}-[0-9a-f]{21}@send\\.example\\.test$`),
      ) as string,
      tls: 'TLSv1.3',
      dkim: 'pass',
      spf: 'pass',
      dmarc: 'pass',
    })
    const one = await appliance.call<SandboxMessage>('GET', `/sandbox/messages/${found.id}`)
    expect(one.body.html?.trim()).toBe('<p>Größe</p>')
    expect(one.body.source).toMatch(/^DKIM-Signature:/m)
  })

  test('the sandbox inbox is separate for each team; mail of no team goes to the team that runs the server', async () => {
    const { accounts, senders, sandbox } = appliance.appliance
    const owner = (await accounts.findOwner({ email: appliance.ownerEmail }))!
    const { id: teamId } = await accounts.teams.createTeam({ name: 'Other', ownerId: owner.user.id })
    const domain = await senders.addDomain({ teamId, name: 'other.test' })
    await senders.verifyDomain({ teamId, id: domain.id })
    const key = await senders.createKey({ teamId, name: 'other', permission: 'full_access' })
    const asOther = async <T>(path: string, body?: object): Promise<{ status: number; json: T }> => {
      const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' }
      const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
      const answer = await fetch(appliance.url + path, init)
      return { status: answer.status, json: (await answer.json()) as T }
    }
    const theirs = { from: 'x@other.test', to: 'eve@customer.test', subject: 'Of the others', text: 'Hi' }
    expect((await asOther('/emails', theirs)).status).toBe(200)
    await appliance.until(await appliance.send({ to: 'ada@customer.test', subject: 'Ours' }), isFinal)
    const raw = Buffer.from('From: MAILER-DAEMON@posthaste.test\r\nSubject: Nobody’s\r\n\r\n')
    const from = { mailFrom: '', helo: 'posthaste.test', ip: '127.0.0.1', tls: null }
    await sandbox!.inbox.add({ ...from, rcptTo: ['app@example.test'], raw })

    const subjectsOf = ({ data }: SandboxMessageList) => data.map(({ subject }) => subject)
    const seenByThem = async () => subjectsOf((await asOther<SandboxMessageList>('/sandbox/messages')).json)
    await expect.poll(seenByThem).toEqual(['Of the others'])
    const { body } = await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')
    const ours = subjectsOf(body)
    expect(ours).toEqual(expect.arrayContaining(['Nobody’s', 'Ours']))
    expect(ours).not.toContain('Of the others')
    const statuses = body.data.map(({ id }) => asOther(`/sandbox/messages/${id}`))
    for (const { status } of await Promise.all(statuses)) expect(status).toBe(404)
  })

  test('the sandbox inbox and the API key survive a restart', async () => {
    const before = (await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')).body.data
    await appliance.restart()
    const after = (await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')).body.data
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(appliance.appliance.sandbox!.seed.apiKey).toBe(appliance.apiKey)
  })
})

test('a new sandbox domain is verified at once', async () => {
  const { senders } = appliance.appliance
  const domain = await senders.addDomain({ teamId: appliance.teamId, name: 'brand-new.test' })
  const look = (id: string) => senders.verifyDomain({ teamId: appliance.teamId, id })
  expect((await look(domain.id)).status).toBe('verified')
  const inner = await senders.addDomain({ teamId: appliance.teamId, name: 'news.brand-new.test' })
  expect((await look(inner.id)).status).toBe('verified')
})

test('a restart completes an interrupted first start', async () => {
  await rm(join(appliance.config.data_dir, 'seed.json'))
  await appliance.restart()
  const { seed } = appliance.appliance.sandbox!
  expect(seed.teamId).toBe(appliance.teamId)
  expect(seed.apiKey).not.toBe(appliance.apiKey)
  const { accounts } = appliance.appliance
  const signIn = { email: seed.email, password: seed.password, ip: null, userAgent: null }
  expect(await accounts.signIn(signIn)).toMatchObject({ token: expect.any(String) as string })
})
