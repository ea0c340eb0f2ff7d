import { expect, test } from 'vitest'
import { firstIdAt, newId } from '../../appliance/mail/ids.ts'
import type { LogFilter, RequestLog, Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, newApiKey, T0, unique } from './fixtures.ts'

function newLog(teamId: string, now = T0, more: Partial<RequestLog> = {}): RequestLog {
  return {
    id: newId(now),
    teamId,
    apiKeyId: newId(now),
    method: 'POST',
    endpoint: '/emails',
    status: 200,
    durationMs: 3,
    ip: '192.0.2.7',
    userAgent: 'resend-node:6.38.0',
    query: 'limit=10&name=Ada',
    enhanced: null,
    message: null,
    requestBody: '{"to":"a@example.com"}',
    responseBody: '{"id":"x"}',
    emailIds: [],
    createdAt: now,
    ...more,
  }
}

/** Returns a log entry as in a list. Of the bodies, it has only that of SMTP, which is the envelope. */
const summaryOf = ({ requestBody, responseBody: _1, emailIds: _2, ...summary }: RequestLog) => ({
  ...summary,
  smtpRequest: summary.method === 'SMTP' ? requestBody : null,
})

export function logsContract(storage: () => Storage): void {
  const team = async () => (await makeTeam(storage())).team.id

  test('returns a request as it was stored, to its own team only', async () => {
    const teamId = await team()
    const log = newLog(teamId, T0, { emailIds: [newId(T0), newId(T0)] })
    const bare = newLog(teamId, T0, { userAgent: null, requestBody: null, responseBody: null })
    await storage().saveLogs({ logs: [log, bare] }, T0)
    expect(await storage().getLog({ teamId, id: log.id }, T0)).toEqual(log)
    expect(await storage().getLog({ teamId, id: bare.id }, T0)).toEqual(bare)
    expect(await storage().getLog({ teamId: await team(), id: log.id }, T0)).toBeUndefined()
    expect(await storage().getLog({ teamId, id: newId(T0) }, T0)).toBeUndefined()
  })

  test('accepts an empty list of requests', async () => {
    await storage().saveLogs({ logs: [] }, T0)
  })

  test('lists requests newest first, in pages, with bodies only for SMTP', async () => {
    const teamId = await team()
    const logs = ['POST', 'SMTP', 'SMTP', 'GET'].map((method) => newLog(teamId, T0, { method }))
    await storage().saveLogs({ logs: [...logs, newLog(await team())] }, T0)
    const [one, two, three, four] = logs.map(summaryOf)
    const list = (args: object) => storage().listLogs({ teamId, limit: 2, ...args }, T0)
    expect(await list({})).toEqual({ items: [four, three], hasMore: true })
    expect(await list({ after: three!.id })).toEqual({ items: [two, one], hasMore: false })
    expect(await list({ before: two!.id })).toEqual({ items: [four, three], hasMore: false })
    expect(await list({ before: one!.id })).toEqual({ items: [three, two], hasMore: true })
  })

  test('searches by each filter, newest first, in pages', async () => {
    const teamId = await team()
    const key = newId(T0)
    // Sets IDs for exactly these times, because generated IDs never go backwards.
    const logAt = (time: number, more: Partial<RequestLog>) =>
      newLog(teamId, time, { id: firstIdAt(time), ...more })
    const old = logAt(T0 - DAY, { status: 500, emailIds: [key], userAgent: null })
    const sent = logAt(T0 + 1, { method: 'SMTP', endpoint: 'smtp://587 MESSAGE', status: 250 })
    const refused = logAt(T0 + 2, { status: 422, apiKeyId: key })
    const agent = { userAgent: 'Curl/8_1', ip: '192.0.2.8' }
    const get = logAt(T0 + 3, { method: 'GET', endpoint: '/domains', ...agent })
    await storage().saveLogs({ logs: [get, refused, sent, old, newLog(await team())] }, T0)
    const search = (filter: LogFilter, more: { limit?: number; after?: string } = {}) =>
      storage().searchLogs({ teamId, filter, limit: 10, ...more }, T0)
    const found = async (filter: LogFilter) => (await search(filter)).items.map(({ id }) => id)

    expect(await search({})).toEqual({ items: [get, refused, sent, old].map(summaryOf), next: null })
    expect(await found({ methods: ['GET', 'SMTP'] })).toEqual([get.id, sent.id])
    expect(await found({ statuses: [{ from: 422, to: 422 }] })).toEqual([refused.id])
    expect(
      await found({
        statuses: [
          { from: 200, to: 299 },
          { from: 500, to: 599 },
        ],
      }),
    ).toEqual([get.id, sent.id, old.id])
    expect(await found({ apiKey: key })).toEqual([refused.id])
    expect(await found({ endpoint: 'DOM' })).toEqual([get.id])
    expect(await found({ endpoint: '%' })).toEqual([])
    expect(await found({ userAgent: 'curl/8_' })).toEqual([get.id])
    expect(await found({ userAgent: 'curl/8%' })).toEqual([])
    expect(await found({ ip: '192.0.2.8' })).toEqual([get.id])
    expect(await found({ emailId: key })).toEqual([old.id])
    expect(await found({ since: T0 + 2 })).toEqual([get.id, refused.id])
    expect(await found({ until: T0 + 2 })).toEqual([sent.id, old.id])
    expect(await found({ since: T0, until: T0 + 2, methods: ['SMTP'] })).toEqual([sent.id])

    const first = await search({ statuses: [{ from: 200, to: 299 }] }, { limit: 1 })
    expect(first).toEqual({ items: [summaryOf(get)], next: get.id })
    expect(await search({ statuses: [{ from: 200, to: 299 }] }, { after: get.id })).toEqual({
      items: [summaryOf(sent)],
      next: null,
    })
  })

  test('a search scans part of a long list and returns where to continue', async () => {
    const teamId = await team()
    const [wanted, ...others] = Array.from({ length: 4500 }, (_, n) => newLog(teamId, T0 + n))
    await storage().saveLogs({ logs: [{ ...wanted!, status: 503 }, ...others] }, T0)
    const filter = { statuses: [{ from: 503, to: 503 }] }
    const first = await storage().searchLogs({ teamId, filter, limit: 10 }, T0)
    expect(first).toEqual({ items: [], next: others[499]!.id })
    const second = await storage().searchLogs({ teamId, filter, limit: 10, after: first.next! }, T0)
    expect(second).toEqual({ items: [{ ...summaryOf(wanted!), status: 503 }], next: null })
  })

  test('finds requests by the name of their API key', async () => {
    const teamId = await team()
    const key = newApiKey(teamId, 'shop')
    await storage().createApiKey({ ...key, tokenHash: unique('hash') }, T0)
    const log = newLog(teamId, T0, { apiKeyId: key.id })
    await storage().saveLogs({ logs: [log, newLog(teamId)] }, T0)
    const search = (apiKey: string) => storage().searchLogs({ teamId, filter: { apiKey }, limit: 10 }, T0)
    expect((await search(key.name)).items).toEqual([summaryOf(log)])
    expect((await search(`${key.name}x`)).items).toEqual([])
  })

  test('finds the requests that created an email, and a batch by each of its emails', async () => {
    const teamId = await team()
    const emailIds = Array.from({ length: 100 }, () => newId(T0))
    const [batch, again, other] = [
      newLog(teamId, T0, { emailIds }),
      newLog(teamId, T0, { emailIds: [emailIds[7]!] }),
      newLog(teamId),
    ]
    await storage().saveLogs({ logs: [batch, again, other] }, T0)
    const found = async (emailId: string) =>
      (await storage().listLogs({ teamId, limit: 10, emailId }, T0)).items.map(({ id }) => id)
    expect(await found(emailIds[7]!)).toEqual([again.id, batch.id])
    expect(await found(emailIds[99]!)).toEqual([batch.id])
    expect(await found(newId(T0))).toEqual([])
  })

  test('one call stores as many requests and email IDs as the buffer holds', async () => {
    const teamId = await team()
    const logs = Array.from({ length: 100 }, () =>
      newLog(teamId, T0, { emailIds: Array.from({ length: 100 }, () => newId(T0)) }),
    )
    await storage().saveLogs({ logs }, T0)
    expect((await storage().getLog({ teamId, id: logs[99]!.id }, T0))?.emailIds).toEqual(logs[99]!.emailIds)
  })

  test('purges old requests, oldest first, up to a limit', async () => {
    await storage().purgeLogs({ before: T0 + 1000 * DAY, most: 100_000 }, T0)
    const teamId = await team()
    const logs = [1, 2, 3].map((day) => newLog(teamId, T0 + day * DAY, { emailIds: [newId(T0)] }))
    await storage().saveLogs({ logs }, T0)
    const left = async () => (await storage().listLogs({ teamId, limit: 10 }, T0)).items.map(({ id }) => id)
    expect(await storage().purgeLogs({ before: T0 + 3 * DAY, most: 1 }, T0)).toBe(1)
    expect(await left()).toEqual([logs[2]!.id, logs[1]!.id])
    expect(await storage().purgeLogs({ before: T0 + 3 * DAY, most: 5 }, T0)).toBe(1)
    expect(await storage().purgeLogs({ before: T0 + 3 * DAY, most: 5 }, T0)).toBe(0)
    expect(await left()).toEqual([logs[2]!.id])
    const gone = { teamId, limit: 10, emailId: logs[0]!.emailIds[0] }
    expect((await storage().listLogs(gone, T0)).items).toEqual([])
  })
}
