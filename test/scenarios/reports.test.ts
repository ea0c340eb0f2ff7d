import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { createTransport, type SentMessageInfo } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Notify } from '../../appliance/mail/dsn.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewEmail } from '../../appliance/storage/storage.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import type { Arrival } from '../world/mailbox.ts'
import { createWorld, type World } from '../world/world.ts'
import { readReport } from '../unit/reports/read.ts'
import { PATIENCE } from '../world/patience.ts'

/** Tests the reports that an app which submits over SMTP gets at its return address. */

const HOUR = 3_600_000

let world: World
let appliance: TestAppliance

beforeAll(async () => {
  const host = (name: string, exchanger: object = {}) => ({ mx: [{ preference: 10, host: name, exchanger }] })
  const noUser = on('rcpt', '550 5.1.1 No such user here')
  world = await createWorld({
    domains: {
      'sender.test': host('mx.sender.test', {
        behave: on('rcpt', '550 5.1.1 Unknown', { address: 'gone@sender.test' }),
      }),
      'strict.test': host('mx.strict.test', { behave: noUser }),
      'plain.test': host('mx.plain.test'),
      'modern.test': host('mx.modern.test', { smtp: { hideDSN: false } }),
      'slow.test': host('mx.slow.test', { behave: on('rcpt', '451 4.3.2 Not now') }),
      'short.test': host('mx.short.test', { behave: on('rcpt', '450 4.2.0 Greylisted', { times: 1 }) }),
      'awake.test': host('mx.awake.test'),
    },
  })
  appliance = await startAppliance({ world, config: { smtp: { starttls: ['127.0.0.1:0'] } as never } })
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

interface Submitted {
  to: string[]
  notify?: Notify | null
  reportTo?: string | null
  more?: Partial<NewEmail>
}

/** Stores an email as the SMTP listener does, and lets delivery run. */
async function submit({
  to,
  notify = null,
  reportTo = 'app@sender.test',
  more = {},
}: Submitted): Promise<string> {
  const { storage } = appliance.appliance
  const now = world.clock.now()
  const domain = (await storage.findDomain({ teamId: appliance.teamId, name: 'sender.test' }, now))!
  const id = newId(now)
  const email: NewEmail = {
    id,
    teamId: appliance.teamId,
    domainId: domain.id,
    apiKeyId: null,
    via: 'smtp',
    from: 'App <app@sender.test>',
    to,
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Invoice 7',
    content: { place: 'message', html: null, text: null },
    headers: [],
    tags: [],
    attachments: [],
    messageId: `<${id}@sender.test>`,
    returnPath: `bounce+${id.replaceAll('-', '')}@send.sender.test`,
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    pool: 'default',
    reportTo,
    dsn: { ret: null, envid: 'run 7+8' },
    requireTls: null,
    message: Buffer.from(
      `From: App <app@sender.test>\r\nSubject: Invoice 7\r\nMessage-ID: <${id}@sender.test>\r\n\r\nPay.\r\n`,
    ),
    deliveries: to.map((recipient) => ({
      id: newId(now),
      recipient,
      field: 'to',
      dueAt: now,
      expiresAt: now + 96 * HOUR,
      suppressed: null,
      dsn: { notify, orcpt: `rfc822;${recipient}` },
    })),
    ...more,
  }
  await storage.put({ emails: [email], receipt: null, quota: null }, now)
  await wake()
  return id
}

/** Wakes up delivery by storing an email that nobody checks. */
const wake = async (): Promise<void> => void (await appliance.send({ to: 'x@awake.test' }))

const isAbout =
  (id: string) =>
  ({ raw }: Arrival) =>
    raw.includes(id)
const reportsAbout = (id: string): Arrival[] => world.mailboxOf('mx.sender.test').filter(isAbout(id))

async function reportAbout(id: string, count = 1): Promise<Arrival> {
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    const found = reportsAbout(id)
    if (found.length >= count) return found.at(-1)!
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${reportsAbout(id).length} of ${count} reports about ${id}`)
}

/** Bounced addresses are suppressed, so each test needs its own. */
let addresses = 0

/** Waits until nothing more comes: all due reports, for one recipient or all, were created and sent. */
async function settled(recipient?: string): Promise<void> {
  const { storage } = appliance.appliance
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    const due = await storage.dueReports({ limit: 1 }, world.clock.now())
    const { items } = await storage.listQueue({ limit: 100 }, world.clock.now())
    const left = items.filter((one) => recipient === undefined || one.recipient === recipient)
    if (due.length + left.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the queue does not become empty')
}

describe('a failure', () => {
  test('a failure is reported by default, from the null sender, signed by the sending domain', async () => {
    const id = await submit({ to: ['nobody@strict.test'] })
    const { envelope, raw } = await reportAbout(id)
    expect(envelope).toEqual({ from: '', to: ['app@sender.test'] })
    const report = readReport(raw)
    expect(report.defects).toEqual([])
    expect(report.types).toEqual([
      'multipart/report',
      'text/plain',
      'message/delivery-status',
      'message/rfc822',
    ])
    expect(report.header).toMatchObject({
      From: 'Mail Delivery System <mailer-daemon@sender.test>',
      To: 'app@sender.test',
      'Auto-Submitted': 'auto-replied',
      'In-Reply-To': `<${id}@sender.test>`,
    })
    expect(report.status).toEqual([
      {
        'Original-Envelope-Id': 'run 7+8',
        'Reporting-MTA': 'dns; mail.sender.test',
        'X-Posthaste-Email-Id': id,
        'Arrival-Date': expect.stringMatching(/ \+0000$/) as string,
      },
      {
        'Original-Recipient': 'rfc822; nobody@strict.test',
        'Final-Recipient': 'rfc822; nobody@strict.test',
        Action: 'failed',
        Status: '5.1.1',
        'Remote-MTA': 'dns; mx.strict.test',
        'Diagnostic-Code': 'smtp; 550 5.1.1 No such user here',
        'Last-Attempt-Date': expect.stringMatching(/ \+0000$/) as string,
      },
    ])
    expect(report.text).toContain('550 5.1.1 No such user here')
    expect(report.returned).toContain('Pay.')

    const { results } = await dkimVerify(raw, { resolver: lookUp })
    expect(
      results.map(({ status, signingDomain }) => [status.result, signingDomain, status.aligned]),
    ).toEqual(results.map(() => ['pass', 'sender.test', 'sender.test']))
    expect(results.length).toBeGreaterThan(0)
  })

  test('concurrent failures of two recipients cause one report', async () => {
    const id = await submit({ to: ['a@strict.test', 'b@strict.test'] })
    const report = readReport((await reportAbout(id)).raw)
    expect(report.status.slice(1).map((group) => group['Final-Recipient'])).toEqual([
      'rfc822; a@strict.test',
      'rfc822; b@strict.test',
    ])
    await settled()
    expect(reportsAbout(id)).toHaveLength(1)
  })

  test.each<[string, Partial<Submitted>]>([
    ['NOTIFY=NEVER', { notify: 'NEVER' }],
    ['NOTIFY=SUCCESS', { notify: ['SUCCESS'] }],
    ['a return address that is not the app’s own', { reportTo: null }],
  ])('a failure is not reported with %s', async (_, more) => {
    const id = await submit({ to: [`nobody-${addresses++}@strict.test`], ...more })
    await appliance.until(id, isFinal)
    await settled()
    expect(reportsAbout(id)).toEqual([])
  })

  test('a failure of an API email is not reported, as it has events', async () => {
    const id = await appliance.send({ to: 'noone@strict.test' })
    await appliance.until(id, isFinal)
    await settled()
    expect(reportsAbout(id)).toEqual([])
  })

  test('a failure to deliver a report is not reported', async () => {
    const before = world.mailboxOf('mx.sender.test').length
    const id = await submit({ to: ['none@strict.test'], reportTo: 'gone@sender.test' })
    await appliance.until(id, isFinal)
    await settled()
    expect(world.mailboxOf('mx.sender.test').length).toBe(before)
  })

  test('a failure caused by posthaste queue drop is reported', async () => {
    const id = await submit({ to: ['later@slow.test'] })
    await appliance.until(id, ({ attempts }) => attempts.length === 1)
    await appliance.appliance.storage.dropQueue({ emailId: id }, world.clock.now())
    // Reports from other processes are found by polling, or with the next failure. Advancing time during a run wakes
    // nothing.
    await submit({ to: ['another@strict.test'] })
    const report = readReport((await reportAbout(id)).raw)
    expect(report.status[1]).toMatchObject({
      Action: 'failed',
      Status: '5.0.0',
      'Diagnostic-Code': 'x-posthaste; dropped by an operator',
    })
  })
})

describe('a success', () => {
  test('a successful delivery is not reported unless requested', async () => {
    const id = await submit({ to: ['ada@plain.test'] })
    await appliance.until(id, isFinal)
    await settled()
    expect(reportsAbout(id)).toEqual([])
  })

  test.each(['plain.test', 'modern.test'])(
    'a successful delivery at %s is reported as relayed, with headers only',
    async (domain) => {
      const id = await submit({ to: [`ada@${domain}`], notify: ['SUCCESS', 'DELAY'] })
      const report = readReport((await reportAbout(id)).raw)
      expect(report.types.at(-1)).toBe('text/rfc822-headers')
      expect(report.status[1]).toMatchObject({
        Action: 'relayed',
        Status: expect.stringMatching(/^2\./) as string,
        'Remote-MTA': `dns; mx.${domain}`,
      })
    },
  )
})

describe('a DSN request', () => {
  const said = async (id: string): Promise<(string | null)[]> =>
    (await appliance.until(id, isFinal)).attempts.flatMap(({ steps }) =>
      steps.filter(({ name }) => name === 'mail' || name === 'rcpt').map(({ sent }) => sent),
    )

  test('a DSN request is passed to a server that supports DSN, except for success', async () => {
    const more = { dsn: { ret: 'HDRS' as const, envid: 'run 7+8' } }
    const id = await submit({ to: ['ada@modern.test'], notify: ['SUCCESS', 'DELAY'], more })
    const [mail, rcpt] = await said(id)
    expect(mail).toMatch(/ RET=HDRS ENVID=run\+207\+2B8$/)
    expect(rcpt).toBe('RCPT TO:<ada@modern.test> NOTIFY=DELAY ORCPT=rfc822;ada@modern.test')
  })

  test('NOTIFY=NEVER is passed to a server that supports DSN', async () => {
    const [, rcpt] = await said(await submit({ to: ['ada@modern.test'], notify: 'NEVER' }))
    expect(rcpt).toBe('RCPT TO:<ada@modern.test> NOTIFY=NEVER ORCPT=rfc822;ada@modern.test')
  })

  test('a DSN request is not passed to a server without DSN', async () => {
    const [mail, rcpt] = await said(await submit({ to: ['ada@plain.test'], notify: ['FAILURE'] }))
    expect(mail).not.toMatch(/RET|ENVID/)
    expect(rcpt).toBe('RCPT TO:<ada@plain.test>')
  })
})

describe('a delay', () => {
  test('a delay is reported once, after four hours', async () => {
    const id = await submit({ to: ['late@slow.test'] })
    let seen = await appliance.until(id, ({ attempts }) => attempts.length === 1)
    for (let tries = 1; tries < 11; tries++) {
      await world.clock.set(Date.parse(seen.deliveries[0]!.next_attempt_at!) + 10)
      seen = await appliance.until(id, ({ attempts }) => attempts.length > tries)
      const waited = Date.parse(seen.attempts.at(-1)!.started_at) - Date.parse(seen.deliveries[0]!.created_at)
      if (waited < 4 * HOUR) expect(reportsAbout(id)).toEqual([])
    }
    const report = readReport((await reportAbout(id)).raw)
    expect(report.types.at(-1)).toBe('text/rfc822-headers')
    expect(report.status[1]).toMatchObject({
      Action: 'delayed',
      Status: '4.3.2',
      'Diagnostic-Code': 'smtp; 451 4.3.2 Not now',
      'Will-Retry-Until': expect.stringMatching(/ \+0000$/) as string,
    })
    // The exchanger has the report before its lease is settled. If the clock passed the end of the lease, the report
    // would be sent again.
    await settled('app@sender.test')
    world.exchanger('mx.slow.test').behave(undefined)
    await world.clock.advance(8 * HOUR)
    await appliance.until(id, isFinal)
    await settled()
    expect(reportsAbout(id)).toHaveLength(1)
  })

  test('a delay of a minute is not reported', async () => {
    const id = await submit({ to: ['ada@short.test'] })
    await appliance.until(id, ({ attempts }) => attempts.length === 1)
    await world.clock.advance(75_000)
    await appliance.until(id, isFinal)
    await settled()
    expect(reportsAbout(id)).toEqual([])
  })
})

test('reports are not listed among emails, and have no events', async () => {
  const id = await submit({ to: ['neither@strict.test'] })
  const { raw } = await reportAbout(id)
  const reportId = /^Message-ID: <(.*)@/m.exec(raw.toString())![1]!
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/emails?limit=100')
  const ids = body.data.map((email) => email.id)
  expect(ids).toContain(id)
  expect(ids).not.toContain(reportId)
  const timeline = await appliance.until(reportId, isFinal)
  expect(timeline.deliveries).toMatchObject([{ recipient: 'app@sender.test', state: 'delivered' }])
  expect(timeline.events).toEqual([])
})

describe('reports to an app that uses nodemailer', () => {
  /** Sends with the given DSN options. Returns the Message-ID. */
  async function send(to: string, dsn: object | undefined): Promise<string> {
    const [host, port] = appliance.appliance.smtp.starttls[0]!.split(':')
    const transport = createTransport({
      host,
      port: Number(port),
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: appliance.apiKey },
    })
    const message = { from: 'App <app@sender.test>', to, subject: 'Invoice 8', text: 'Pay.' }
    const sent = (await transport.sendMail({ ...message, ...(dsn ? { dsn } : {}) })) as SentMessageInfo
    transport.close()
    return sent.messageId
  }

  test('an app that uses nodemailer gets reports of failures by default', async () => {
    const report = readReport((await reportAbout(await send('never@strict.test', undefined))).raw)
    expect(report.status[0]).not.toHaveProperty('Original-Envelope-Id')
    expect(report.status[1]).toMatchObject({ Action: 'failed', Status: '5.1.1' })
    expect(report.types.at(-1)).toBe('message/rfc822')
  })

  test('reports honor nodemailer’s options for envelope ID, original recipient, headers only and success', async () => {
    const dsn = {
      id: 'run 8+1',
      return: 'headers',
      notify: ['success', 'failure'],
      recipient: 'first@other.test',
    }
    const report = readReport((await reportAbout(await send('ada@plain.test', dsn))).raw)
    expect(report.defects).toEqual([])
    expect(report.status).toMatchObject([
      { 'Original-Envelope-Id': 'run 8+1' },
      {
        'Original-Recipient': 'rfc822; first@other.test',
        'Final-Recipient': 'rfc822; ada@plain.test',
        Action: 'relayed',
      },
    ])
    expect(report.types.at(-1)).toBe('text/rfc822-headers')
    expect(report.returned).toContain('Subject: Invoice 8')
  })

  test('no reports are sent if nodemailer sets notify to never', async () => {
    const messageId = await send('nor@strict.test', { notify: 'never' })
    await settled()
    expect(reportsAbout(messageId)).toEqual([])
  })
})

async function lookUp(name: string, type: string): Promise<string[] | string[][]> {
  const { Resolver } = await import('node:dns/promises')
  const resolver = new Resolver()
  resolver.setServers(world.dnsServers)
  return (await resolver.resolve(name, type)) as string[]
}
