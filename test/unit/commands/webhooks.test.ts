import Database from 'better-sqlite3'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { change, leaseArgs, newAttempt, putEmail } from '../../contract/fixtures.ts'
import { startReceiver, type Receiver } from '../../world/receiver.ts'
import { installation, posthaste } from './program.ts'

let receiver: Receiver
let place: ReturnType<typeof installation>
const says = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await posthaste([...args, '--config', place.config])
  return `${code} ${stdout}${stderr}`
}
const json = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await posthaste([...args, '--config', place.config, '--json'])
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as T
}

/** Stores two delivered emails as the daemon would have. */
async function deliverTwo(): Promise<void> {
  const storage = await openSqlite({ dataDir: place.dataDir })
  const now = systemClock.now()
  const { id: teamId } = (await storage.firstTeam({}, now))!
  const domainId = newId(now)
  for (const to of ['ada@busy.test', 'bob@busy.test']) {
    const email = await putEmail(storage, teamId, [to], now, { domainId })
    await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
    const ids = email.deliveries.map(({ id }) => id)
    const changes = ids.map((id) => change(id, 'delivered', 'email.delivered'))
    await storage.settle({ owner: 'one', attempt: newAttempt(email, ids), changes }, now)
  }
  await storage.close()
}

beforeAll(async () => {
  receiver = await startReceiver()
  place = installation('[webhooks]\nallow_networks = ["127.0.0.0/8"]\n[dns]\nservers = ["127.0.0.1:9"]\n')
  await posthaste(['setup', '--email', 'owner@sender.test', '--config', place.config], {
    input: 'a long password\n',
  })
  await deliverTwo()
})
afterAll(() => receiver.close())

describe('webhook', () => {
  test('adds, shows, rotates, disables, enables and removes a webhook', async () => {
    expect(await says('webhook', 'list')).toBe(
      '0 No webhooks. Add one: posthaste webhook add https://example.com/hook\n',
    )
    const made = await json<{ id: string; signing_secret: string; events: string[] }>(
      'webhook',
      'add',
      receiver.url,
      '--events',
      'email.delivered, email.bounced',
    )
    expect(made.events).toEqual(['email.delivered', 'email.bounced'])
    const { id, signing_secret: secret } = made
    expect(await says('webhook', 'show', id)).toBe(
      `0 ${receiver.url}\nno requests yet\nSecret: ${secret}\nEvents: email.delivered, email.bounced\n` +
        'Last 24 hours: no requests\n' +
        'No requests yet.\n',
    )
    expect(await says('webhook', 'set', id, '--broadcasts', 'off', '--events', 'email.delivered')).toBe(
      `0 ${receiver.url} was changed.\n`,
    )
    expect(await says('webhook', 'show', id)).toContain(
      'Events: email.delivered\nBroadcasts: no events of their emails\n',
    )
    expect(await says('webhook', 'set', id)).toBe('2 Use --url, --events or --broadcasts.\n')
    const other = await json<{ id: string; broadcasts: boolean }>(
      'webhook',
      'add',
      `${receiver.url}/other`,
      '--without-broadcasts',
    )
    expect(other.broadcasts).toBe(false)
    expect(await says('webhook', 'remove', other.id)).toMatch(/^0 /)
    expect(await says('webhook', 'rotate', id)).toMatch(
      /^0 Secret: whsec_\S+\nThe old secret stays valid for 24 hours\.\n$/,
    )
    expect(await says('webhook', 'show', id)).not.toContain(secret)
    expect(await says('webhook', 'disable', id)).toBe(
      `0 ${receiver.url} is disabled. Its pending events are kept.\n`,
    )
    expect(await says('webhook', 'enable', id)).toBe(
      `0 ${receiver.url} is enabled. To send missed events, run: posthaste webhook replay\n`,
    )
    expect(await says('webhook', 'list')).toContain(
      `${id}  ${receiver.url}\n  no requests yet  no requests\n`,
    )
    expect(await says('webhook', 'remove', id)).toBe('0 Removed. No more events are sent to it.\n')
    expect(await says('webhook', 'show', id)).toBe('1 Webhook not found. See: posthaste webhook list\n')
  })

  test('webhook ping reaches the endpoint, and exits with 1 and the reason if it fails', async () => {
    const { id } = await json<{ id: string }>('webhook', 'add', receiver.url)
    const before = receiver.received.length
    expect(await says('webhook', 'ping', id)).toMatch(/^0 The webhook returned status 200 after \d+ ms\.\n$/)
    expect(receiver.received).toHaveLength(before + 1)
    receiver.behave((_, response) => {
      response.statusCode = 503
      response.end()
    })
    expect(await says('webhook', 'ping', id)).toBe('1 The endpoint returned status 503.\n')
    receiver.behave()
    const shown = await says('webhook', 'show', id)
    const times = 'p50 \\d+ ms, p95 \\d+ ms'
    expect(shown).toMatch(new RegExp(`^Last 24 hours: 50% of 2 succeeded, ${times}$`, 'm'))
    const list = (await says('webhook', 'list')).replaceAll(/\n {2}/g, '  ')
    expect(list).toMatch(new RegExp(`${id}  .*  failing 50%  50% of 2 succeeded, ${times}\n$`))
    const { requests_last_day: day } = await json<{ requests_last_day: object }>('webhook', 'show', id)
    expect(day).toMatchObject({ count: 2, taken: 1 })
    expect(shown).toMatch(/SENT +STATUS +TOOK +EVENT\n {2}RESULT\n/)
    expect(shown).toMatch(/ 503 .*\n {2}The endpoint returned status 503\.\n/)
    expect(shown).toMatch(/ 200 .*\n {2}succeeded\n/)
    await says('webhook', 'remove', id)
  })

  test('webhook replay counts the events of the time range, and rejects an invalid range', async () => {
    const { id } = await json<{ id: string }>('webhook', 'add', receiver.url, '--events', 'email.delivered')
    const replay = (...options: string[]) => says('webhook', 'replay', id, ...options)
    expect(await replay('--since', '2020-01-01T00:00:00Z')).toBe('0 Sending 2 events.\n')
    expect(await replay('--since', '2020-01-01', '--until', '2020-01-02')).toBe('0 Sending 0 events.\n')
    expect(await replay('--since', 'yesterday')).toBe(
      '2 --since must be a time such as 2026-11-20T08:00:00Z.\n',
    )
    expect(await replay('--since', '2020-01-02', '--until', '2020-01-01')).toBe(
      '2 --until must be after --since.\n',
    )
    await says('webhook', 'remove', id)
  })

  test('webhook replay of selected events accepts only their IDs', async () => {
    const { id } = await json<{ id: string }>('webhook', 'add', receiver.url, '--events', 'email.delivered')
    const replay = (...options: string[]) => says('webhook', 'replay', id, ...options)
    await replay('--since', '2020-01-01')
    const db = new Database(join(place.dataDir, 'posthaste.db'))
    const select = db.prepare<[string], string>('select id from webhook_deliveries where webhook_id = ?')
    const events = select.pluck().all(id)
    db.close()
    expect(events).toHaveLength(2)
    expect(await replay('--event-ids', events.join(', '))).toBe('0 Sending 2 events.\n')
    expect(await replay('--event-ids', events[0]!)).toBe('0 Sending 1 event.\n')
    expect(await replay('--event-ids', 'msg_1')).toBe(
      '1 Invalid `event_ids` field: "msg_1" is not an event of this webhook.\n',
    )
    expect(await replay('--event-ids', 'msg_1', '--all')).toBe(
      '2 Use either --event-ids or a time range, not both.\n',
    )
    expect(await replay()).toBe('2 Select events with --since or --event-ids.\n')
    await says('webhook', 'remove', id)
  })

  test('rejects an invalid endpoint, event or ID with the reason', async () => {
    expect(await says('webhook', 'add', 'ftp://app.example.com')).toMatch(/^1 .*https:\/\//)
    expect(await says('webhook', 'add', receiver.url, '--events', 'email.read')).toMatch(/^1 .*email\.read/)
    expect(await says('webhook', 'show', 'nobody')).toMatch(/^2 .*An ID looks like/s)
  })
})

describe('metrics', () => {
  test('metrics show prints a table, or the object of the API', async () => {
    const shown = await says('metrics', 'show', '--metrics', 'sent,delivered,delivery_rate')
    expect(shown).toMatch(/^0 From \d{4}-\S+ to \S+\nSENT +DELIVERED +DELIVERY RATE\n2 +2 +1\n$/)
    const report = await json<{ totals: object; data: object[] }>(
      'metrics',
      'show',
      '--metrics',
      'delivered',
      '--by',
      'period',
      '--granularity',
      'monthly',
    )
    expect(report.totals).toEqual({ delivered: 2 })
    expect(report.data.reduce((sum, row) => sum + (row as { delivered: number }).delivered, 0)).toBe(2)
    expect(await says('metrics', 'show', '--timezone', 'Moon/Crater')).toMatch(/^2 .*timezone/)
  })

  test('metrics breakdown groups by one dimension', async () => {
    const by = (...options: string[]) =>
      says('metrics', 'breakdown', '--metrics', 'sent,delivered', ...options)
    expect(await by()).toMatch(
      /^0 From \d{4}-\S+ to \S+\nSENT +DELIVERED +DOMAIN\n2 +2 +\(removed\)\n2 +2 +total\n$/,
    )
    expect(await by('--domain', 'other.test')).toBe(
      '1 Domain other.test not found. See: posthaste domain list\n',
    )
    expect(await by('--by', 'colour')).toMatch(
      /^2 .*`by`.*one of period, domain, provider, tag, broadcast, bounce_category/,
    )
    expect(await by('--by', 'provider')).toMatch(
      /^2 --metrics sent is not available here; use all or one of delivered,/,
    )
    const report = await json<{ by: string; totals: object; data: { value: string; counts: object }[] }>(
      'metrics',
      'breakdown',
      '--by',
      'provider',
    )
    expect(report).toMatchObject({ by: 'provider', totals: { delivered: 2 } })
    expect(report.data).toHaveLength(1)
  })

  test('metrics recompute corrects wrong numbers and reports how many it changed', async () => {
    expect(await says('metrics', 'recompute')).toBe('0 All numbers were correct.\n')
    const db = new Database(join(place.dataDir, 'posthaste.db'))
    expect(db.prepare("update metrics set n = 7 where counter = 'delivered'").run().changes).toBe(1)
    db.close()
    expect(await says('metrics', 'show', '--metrics', 'delivered')).toContain('\n7\n')
    expect(await says('metrics', 'recompute')).toBe('0 Corrected 1 numbers.\n')
    expect(await says('metrics', 'show', '--metrics', 'delivered')).toContain('\n2\n')
  })
})
