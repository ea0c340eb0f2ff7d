import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broadcast } from '../../../appliance/api/broadcasts.ts'
import { PATIENCE } from '../../world/patience.ts'
import { startApi, type Api } from './harness.ts'

/** Tests the rules of mailbox providers when the time of a scheduled broadcast comes. */

const HOUR = 3_600_000

let api: Api
let segment: string
const made = async (path: string, body: object): Promise<string> => {
  const { status, json } = await api.call('POST', path, body)
  expect([status, json]).toMatchObject([201, {}])
  return (json as { id: string }).id
}
beforeAll(async () => {
  api = await startApi()
  segment = await made('/segments', { name: 'Readers' })
  await made('/contacts', { email: 'ada@customer.example', segments: [segment] })
  api.broadcasts.start()
})
afterAll(() => api.close())

const dmarcIs = (status: 'verified' | 'pending') => {
  const checks = (['DKIM', 'SPF', 'DMARC'] as const).map((key) => ({
    key,
    status: key === 'DMARC' ? status : ('verified' as const),
    found: [],
    note: null,
    checkedAt: 0,
    since: 0,
  }))
  const { teamId, domain, storage, clock } = api
  return storage.saveDomainCheck({ teamId, id: domain.id, status: 'verified', checks }, clock.now())
}

async function schedule(subject: string, inHours: number): Promise<string> {
  const id = await made('/broadcasts', {
    segment_id: segment,
    from: 'Shop <shop@acme.example>',
    subject,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const at = new Date(api.clock.now() + inHours * HOUR).toISOString()
  expect((await api.call('POST', `/broadcasts/${id}/send`, { scheduled_at: at })).status).toBe(200)
  return id
}

const statusOf = async (id: string) =>
  ((await api.call('GET', `/broadcasts/${id}`)).json as Broadcast).status as string

const setMode = async (mode: 'block' | 'warn') =>
  expect((await api.call('PUT', '/provider-rules', { mode })).status).toBe(200)

test('a scheduled broadcast fails at its time with a reason if its domain breaks a blocking rule', async () => {
  await setMode('block')
  await dmarcIs('verified')
  const id = await schedule('Spring', 1)
  await dmarcIs('pending')
  expect(await statusOf(id)).toBe('scheduled')
  await api.clock.advance(HOUR + 1000)
  await expect.poll(() => statusOf(id), { timeout: PATIENCE }).toBe('failed')
  const stored = await api.storage.getBroadcast({ teamId: api.teamId, id }, api.clock.now())
  expect(stored?.problem).toContain('Your team blocks bulk mail that breaks rules of mailbox providers')
  expect(stored?.problem).toContain('acme.example has no valid DMARC record')
  expect(await api.count()).toBe(0)
})

test('a scheduled broadcast is sent if its domain follows the rules, or the team gets only warnings', async () => {
  await dmarcIs('verified')
  const kept = await schedule('Summer', 1)
  await api.clock.advance(HOUR + 1000)
  await expect.poll(() => api.count(), { timeout: PATIENCE }).toBe(1)
  expect(await statusOf(kept)).not.toBe('failed')
  const warned = await schedule('Autumn', 1)
  await dmarcIs('pending')
  await setMode('warn')
  await api.clock.advance(HOUR + 1000)
  await expect.poll(() => api.count(), { timeout: PATIENCE }).toBe(2)
  expect(await statusOf(warned)).not.toBe('failed')
})
