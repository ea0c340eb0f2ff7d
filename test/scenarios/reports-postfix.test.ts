import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { spf } from 'mailauth/lib/spf/index.js'
import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Notify } from '../../appliance/mail/dsn.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewEmail } from '../../appliance/storage/storage.ts'
import { readReport } from '../unit/reports/read.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startPostfix, type Postfix } from '../world/postfix.ts'
import { createWorld, type World } from '../world/world.ts'

/** A real Postfix rejects a message and accepts the report about it. */

const HOUR = 3_600_000

describe.runIf(process.getuid?.() === 0)('a real Postfix on port 25 (needs root)', () => {
  let world: World
  let postfix: Postfix
  let appliance: TestAppliance

  beforeAll(async () => {
    postfix = await startPostfix({ domain: 'postfix.test', host: 'mx.postfix.test' })
    world = await createWorld({
      domains: {},
      names: {
        'postfix.test': { MX: { preference: 10, exchange: 'mx.postfix.test' } },
        'mx.postfix.test': { A: postfix.address },
      },
    })
    appliance = await startAppliance({ world, config: { delivery: { port: 25 } as never } })
  })

  afterAll(async () => {
    await appliance?.close()
    await world?.close()
    await postfix?.close()
  })

  async function submit(recipient: string, notify: Notify): Promise<string> {
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
      from: 'app@sender.test',
      to: [recipient],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: 'Grüße',
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
      reportTo: 'app@postfix.test',
      dsn: { ret: 'FULL', envid: 'run 7+8' },
      requireTls: null,
      message: Buffer.from(`From: app@sender.test\r\nMessage-ID: <${id}@sender.test>\r\n\r\nPay.\r\n`),
      deliveries: [
        {
          id: newId(now),
          recipient,
          field: 'to',
          dueAt: now,
          expiresAt: now + 96 * HOUR,
          suppressed: null,
          dsn: { notify, orcpt: `rfc822;${recipient}` },
        },
      ],
    }
    await storage.put({ emails: [email], receipt: null, quota: null }, now)
    // A new email through the API wakes up delivery. Advancing time during a delivery run doesn't.
    await appliance.send({ to: 'x@awake.test' })
    return id
  }

  test('Postfix rejects a recipient, and the return address gets an authenticated report with its reply', async () => {
    const id = await submit('ada@mx.postfix.test', ['FAILURE'])
    await appliance.until(id, isFinal)
    const [delivered] = await postfix.waitFor(1)
    expect(delivered).toMatch(/^Return-Path: <>/)
    const report = readReport(Buffer.from(delivered!, 'latin1'))
    expect(report.defects).toEqual([])
    expect(report.types).toEqual([
      'multipart/report',
      'text/plain',
      'message/delivery-status',
      'message/rfc822',
    ])
    expect(report.status).toMatchObject([
      { 'Original-Envelope-Id': 'run 7+8', 'Reporting-MTA': 'dns; mail.sender.test' },
      {
        'Original-Recipient': 'rfc822; ada@mx.postfix.test',
        'Final-Recipient': 'rfc822; ada@mx.postfix.test',
        Action: 'failed',
        Status: '5.7.1',
        'Remote-MTA': 'dns; mx.postfix.test',
        'Diagnostic-Code': 'smtp; 554 5.7.1 <ada@mx.postfix.test>: Relay access denied',
      },
    ])

    const { results } = await dkimVerify(delivered!.replaceAll(/\r?\n/g, '\r\n'), { resolver: lookUp })
    expect(new Set(results.map(({ status }) => status.result))).toEqual(new Set(['pass']))
    expect(new Set(results.map(({ status }) => status.aligned))).toEqual(new Set(['sender.test']))
  })

  test('Postfix accepts a message with all DSN parameters, and the report has the action relayed', async () => {
    const before = (await postfix.messages()).length
    const id = await submit('ada@postfix.test', ['SUCCESS'])
    const timeline = await appliance.until(id, isFinal)
    const said = timeline.attempts[0]!.steps.map(({ sent }) => sent)
    expect(said).toContain('RCPT TO:<ada@postfix.test> NOTIFY=NEVER ORCPT=rfc822;ada@postfix.test')
    expect(said.find((line) => line?.startsWith('MAIL'))).toMatch(/ RET=FULL ENVID=run\+207\+2B8$/)
    const messages = await postfix.waitFor(before + 2)
    const report = readReport(
      Buffer.from(
        messages.find((text) => text.includes('Action: relayed'))!,
        'latin1',
      ),
    )
    expect(report.status[1]).toMatchObject({ Action: 'relayed', Status: '2.0.0' })
  })

  test.each<[Notify, string]>([
    ['NEVER', 'NEVER'],
    [['FAILURE', 'DELAY'], 'FAILURE,DELAY'],
  ])(
    'passes NOTIFY=%s to Postfix as the app sent it, and sends no report of success',
    async (notify, passed) => {
      const before = (await postfix.messages()).length
      const timeline = await appliance.until(await submit('ada@postfix.test', notify), isFinal)
      expect(timeline.deliveries[0]!.state).toBe('delivered')
      const said = timeline.attempts[0]!.steps.map(({ sent }) => sent)
      expect(said).toContain(`RCPT TO:<ada@postfix.test> NOTIFY=${passed} ORCPT=rfc822;ada@postfix.test`)
      await world.clock.advance(HOUR)
      const messages = await postfix.waitFor(before + 1)
      expect(messages.slice(before).some((text) => text.includes('delivery-status'))).toBe(false)
    },
  )

  test('a report with a null sender passes SPF for the server’s own name (RFC 7208 §2.4)', async () => {
    world.dns.set('mail.sender.test', { A: '127.0.0.1', TXT: ['v=spf1 a -all'] })
    const { status } = await spf({ sender: '', ip: '127.0.0.1', helo: 'mail.sender.test', resolver: lookUp })
    expect(status.result).toBe('pass')
  })

  async function lookUp(name: string, type: string): Promise<string[] | string[][]> {
    const resolver = new Resolver()
    resolver.setServers(world.dnsServers)
    return (await resolver.resolve(name, type)) as string[]
  }
})
