import { expect, test } from 'vitest'
import type { Notify, ReportKind } from '../../appliance/mail/dsn.ts'
import { createSuppressionCause } from '../../appliance/mail/suppression.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { change, leaseArgs, makeTeam, MINUTE, newDomain, newEmail, putArgs, T0, unique } from './fixtures.ts'

export function reportsContract(storage: () => Storage): void {
  const dueOf = async (email: NewEmail) =>
    (await storage().dueReports({ limit: 1000 }, T0)).filter(({ emailId }) => emailId === email.id)

  /** Stores an email submitted over SMTP, to recipients with this NOTIFY. */
  async function submitted(recipients: string[], notify: Notify | null = null): Promise<NewEmail> {
    const { team } = await makeTeam(storage())
    const made = newDomain(team.id, `${unique('reports')}.example`)
    await storage().createDomain(made, T0)
    const email = newEmail(team.id, recipients, T0, {
      via: 'smtp',
      reportTo: 'app@example.com',
      domainId: made.domain.id,
      dsn: { ret: 'HDRS', envid: 'e 1' },
      requireTls: 'yes',
    })
    for (const delivery of email.deliveries) delivery.dsn = { notify, orcpt: 'rfc822;first@example.net' }
    await storage().put(putArgs(email), T0)
    return email
  }

  /** Settles all deliveries of an email, with a report of this kind. */
  async function settle(email: NewEmail, report: ReportKind, now = T0): Promise<void> {
    await storage().lease(leaseArgs({ leaseUntil: now + 30 * MINUTE }), now)
    const state = report === 'delayed' ? 'waiting' : report === 'relayed' ? 'delivered' : 'bounced'
    const changes = email.deliveries.map(({ id }) => ({ ...change(id, state, null, now), report }))
    await storage().settle({ owner: 'one', attempt: null, changes }, now)
  }

  const reportOf = (email: NewEmail) =>
    newEmail(email.teamId, ['app@example.com'], T0, {
      via: 'report',
      returnPath: '',
      domainId: email.domainId,
    })
  const all = (email: NewEmail) => email.deliveries.map(({ id }) => id)

  test('a lease includes the sender’s DSN and TLS options', async () => {
    const email = await submitted(['a@example.net'], ['SUCCESS', 'DELAY'])
    expect(await storage().lease(leaseArgs(), T0)).toMatchObject([
      {
        emailId: email.id,
        reportTo: 'app@example.com',
        dsn: { ret: 'HDRS', envid: 'e 1', notify: ['SUCCESS', 'DELAY'], orcpt: 'rfc822;first@example.net' },
        requireTls: 'yes',
      },
    ])
  })

  test('a report is due once all deliveries are settled, with all the data it needs', async () => {
    const email = await submitted(['a@example.net', 'b@example.net'], 'NEVER')
    expect(await dueOf(email)).toEqual([])
    await settle(email, 'failed', T0 + 5)
    const due = await dueOf(email)
    expect(due).toMatchObject([
      {
        kind: 'failed',
        teamId: email.teamId,
        domainId: email.domainId,
        domain: expect.stringMatching(/^reports-\d+\.example$/) as string,
        subject: email.subject,
        messageId: email.messageId,
        reportTo: 'app@example.com',
        createdAt: T0,
        dsn: { ret: 'HDRS', envid: 'e 1' },
        requireTls: 'yes',
      },
    ])
    expect(due[0]!.deliveries).toMatchObject([
      {
        recipient: 'a@example.net',
        state: 'bounced',
        attempts: 1,
        updatedAt: T0 + 5,
        expiresAt: null,
        dsn: { notify: 'NEVER', orcpt: 'rfc822;first@example.net' },
        cause: { note: 'bounced' },
      },
      { recipient: 'b@example.net' },
    ])
  })

  test('reports of one kind are due once, and reports of another kind separately', async () => {
    const email = await submitted(['a@example.net'])
    await settle(email, 'delayed', T0)
    await settle(email, 'delayed', T0 + 1)
    expect((await dueOf(email)).map(({ kind }) => kind)).toEqual(['delayed'])
    await storage().putReport(
      { kind: 'delayed', emailId: email.id, deliveryIds: all(email), report: reportOf(email) },
      T0 + 2,
    )
    await settle(email, 'delayed', T0 + 3)
    expect(await dueOf(email)).toEqual([])
    await settle(email, 'failed', T0 + 4)
    expect((await dueOf(email)).map(({ kind }) => kind)).toEqual(['failed'])
  })

  test('stores a report only once: the second attempt finds nothing due', async () => {
    const email = await submitted(['a@example.net', 'b@example.net'])
    await settle(email, 'failed')
    const [first, second] = [reportOf(email), reportOf(email)]
    const about = { kind: 'failed' as const, emailId: email.id, deliveryIds: all(email) }
    expect(await storage().putReport({ ...about, report: first }, T0)).toBe(true)
    expect(await storage().putReport({ ...about, report: second }, T0)).toBe(false)
    expect(await dueOf(email)).toEqual([])
    const stored = ({ id }: NewEmail) => storage().getEmail({ teamId: email.teamId, id }, T0)
    expect(await stored(first)).toMatchObject({ via: 'report', returnPath: '' })
    expect(await stored(second)).toBeUndefined()
  })

  test('a dropped report is no longer due, and nothing is stored', async () => {
    const email = await submitted(['a@example.net'])
    await settle(email, 'failed')
    const about = { kind: 'failed' as const, emailId: email.id, deliveryIds: all(email) }
    await storage().dropReports(about, T0)
    expect(await dueOf(email)).toEqual([])
    expect(await storage().putReport({ ...about, report: reportOf(email) }, T0)).toBe(false)
  })

  test.each<[Notify | null, number]>([
    [null, 1],
    [['FAILURE'], 1],
    [['SUCCESS', 'DELAY'], 0],
    ['NEVER', 0],
  ])('a suppressed or dropped recipient is reported as a failure: NOTIFY=%s', async (notify, count) => {
    const { team } = await makeTeam(storage())
    const suppressed = createSuppressionCause({ origin: 'bounce' })
    const email = newEmail(team.id, ['a@example.net', 'b@example.net'], T0, { reportTo: 'app@example.com' })
    for (const delivery of email.deliveries) delivery.dsn = { notify, orcpt: null }
    email.deliveries[0]!.suppressed = suppressed
    await storage().put(putArgs(email), T0)
    const told = async () => (await dueOf(email)).flatMap(({ deliveries }) => deliveries).length
    expect(await told()).toBe(count)
    await storage().dropQueue({ emailId: email.id }, T0)
    expect(await told()).toBe(2 * count)
  })

  test('no report is due for an email without a report address', async () => {
    const { team } = await makeTeam(storage())
    const email = newEmail(team.id, ['a@example.net'], T0)
    email.deliveries[0]!.suppressed = createSuppressionCause({ origin: 'bounce' })
    await storage().put(putArgs(email), T0)
    expect(await dueOf(email)).toEqual([])
  })

  test('a report has no events and is not listed among emails', async () => {
    const email = await submitted(['a@example.net'])
    await settle(email, 'failed')
    const report = reportOf(email)
    await storage().putReport({ kind: 'failed', emailId: email.id, deliveryIds: all(email), report }, T0)
    await storage().lease(leaseArgs(), T0)
    await storage().dropQueue({ emailId: report.id }, T0 + 60 * MINUTE)
    const history = await storage().getHistory({ teamId: email.teamId, id: report.id }, T0)
    expect(history).toMatchObject({ deliveries: [{ state: 'failed' }], events: [] })
    expect(await dueOf(report)).toEqual([])
    const { items } = await storage().listEmails({ teamId: email.teamId, limit: 100 }, T0)
    expect(items.map(({ id }) => id)).toEqual([email.id])
  })
}
