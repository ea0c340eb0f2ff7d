import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { errorText, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Receipt {
  id: string
  status: string
  address_hash: string
  counts: Record<string, number>
}

async function finished(id: string): Promise<Receipt> {
  for (;;) {
    const receipt = (await api.call('GET', `/erasures/${id}`)).json as Receipt
    if (receipt.status === 'done') return receipt
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe('an erasure', () => {
  test('an erasure is counted in a dry run, then executed, and its receipt and the request log contain no address', async () => {
    const email = { from: `app@${api.domain.name}`, to: 'ada@x.example', subject: 'hello', text: 'hi' }
    expect((await api.call('POST', '/emails', email)).status).toBe(200)
    const dry = (await api.call('POST', '/erasures', { address: 'ada@x.example', dry_run: true })).json
    expect(dry).toMatchObject({
      object: 'erasure',
      id: null,
      status: 'dry_run',
      address_hash: null,
      actor: null,
      counts: { deliveries: 1, emails: 1, recipients: 1 },
    })
    expect((await api.storage.listQueue({ limit: 10 }, api.clock.now())).items).toHaveLength(1)

    const made = (await api.call('POST', '/erasures', { address: 'Ada@X.example' })).json as Receipt
    const receipt = await finished(made.id)
    expect(receipt.counts).toMatchObject({ deliveries: 1, emails: 1, recipients: 1, bodies: 1 })
    expect((await api.call('GET', '/erasures')).json).toMatchObject({ has_more: false, data: [receipt] })
    expect((await api.storage.listQueue({ limit: 10 }, api.clock.now())).items).toEqual([])
    const pages = await Promise.all(
      ['/emails', '/erasures', '/audit', '/suppressions'].map((path) => api.call('GET', path)),
    )
    for (const { text } of pages) expect(text.toLowerCase()).not.toContain('ada@')
    const { data } = (await api.call('GET', '/logs')).json as { data: { id: string; endpoint: string }[] }
    const asked = data.filter(({ endpoint }) => endpoint === '/erasures')
    expect(asked.length).toBeGreaterThan(1)
    for (const { id } of asked)
      expect((await api.call('GET', `/logs/${id}`)).text.toLowerCase()).not.toContain('ada@')
  })

  test('rejects an erasure of an invalid address, and returns 404 for an unknown erasure', async () => {
    expect((await api.call('POST', '/erasures', { address: 'nobody' })).text).toContain('`address`')
    expect((await api.call('GET', `/erasures/${newId(0)}`)).text).toBe(
      errorText(404, 'not_found', 'Erasure not found'),
    )
  })
})

describe('retention', () => {
  test('retention shows the periods, disk usage and domains that do not store bodies', async () => {
    const path = `/domains/${api.domain.id}/bodies`
    const bodies = (keep: boolean) => ({ object: 'domain_bodies', domain_id: api.domain.id, keep })
    expect((await api.call('GET', path)).json).toEqual(bodies(true))
    expect((await api.call('PUT', path, { keep: false })).json).toEqual(bodies(false))
    expect((await api.call('GET', path)).json).toEqual(bodies(false))
    expect((await api.call('GET', '/retention')).json).toMatchObject({
      object: 'retention',
      bodies_days: 30,
      attempts_days: 90,
      events_days: 90,
      emails_days: 365,
      logs_days: 30,
      disk: { files: 0, budget: null, full_in_days: null },
      domains_without_bodies: [api.domain.name],
    })
    expect((await api.call('PUT', path, { keep: true })).json).toEqual(bodies(true))
    expect((await api.call('PUT', `/domains/${newId(0)}/bodies`, { keep: true })).status).toBe(404)
    expect((await api.call('PUT', path, { keep: 'no' })).text).toContain('`keep`')
  })
})
