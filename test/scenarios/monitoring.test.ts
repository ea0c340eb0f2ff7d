import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recomputeMetrics } from '../../appliance/events/metrics.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test', exchanger: {} }] } },
  })
  appliance = await startAppliance({ world, config: { metrics: { listen: ['127.0.0.1:0'] } } })
  const id = await appliance.send({ to: 'ada@customer.test' })
  await appliance.until(id, isFinal)
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const get = async (path: string) => {
  const response = await fetch(`${appliance.appliance.metrics[0]}${path}`)
  return { status: response.status, text: await response.text() }
}

describe('the metrics.listen listener', () => {
  test('exports metrics to Prometheus', async () => {
    const { status, text } = await get('/metrics')
    expect(status).toBe(200)
    expect(text).toContain('posthaste_accepted_emails_total{via="rest"} 1')
    expect(text).toContain('posthaste_attempted_deliveries_total{state="delivered",provider="other"} 1')
    expect(text).toContain('posthaste_deliveries_in_flight{provider="other"} 0')
    expect(text).toContain('posthaste_spool_deliveries{state="waiting"} 0')
    expect(text).toContain('posthaste_broadcasts{state="sending"} 0')
    expect(text).toContain('posthaste_last_success_timestamp_seconds{what="delivery"}')
    expect(text).toMatch(/posthaste_disk_bytes\{what="free"\} \d+/)
    expect(text).toMatch(
      /posthaste_http_request_seconds_count\{method="POST",route="\/emails",status="2xx"\} 1/,
    )
  })

  test('exports no recipient, address or email ID', async () => {
    const { text } = await get('/metrics')
    expect(text).not.toMatch(/customer\.test|ada@|[0-9a-f]{8}-[0-9a-f]{4}-7/)
  })

  test('serves nothing except metrics and the two health checks', async () => {
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' })
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ok\n' })
    expect((await get('/emails')).status).toBe(404)
  })
})

describe('GET /metrics on http.listen', () => {
  test('requires a key of the team that runs the server', async () => {
    expect((await fetch(`${appliance.url}/metrics`)).status).toBe(401)
    const headers = { authorization: `Bearer ${appliance.apiKey}` }
    const response = await fetch(`${appliance.url}/metrics`, { headers })
    expect(response.headers.get('content-type')).toContain('text/plain')
    expect(await response.text()).toContain('posthaste_info{version=')
  })
})

test('the roll-ups match the events', async () => {
  const { storage } = appliance.appliance
  expect(await recomputeMetrics(storage, world.clock.now())).toEqual({ changed: 0, left: 0 })
  const { body } = await appliance.call<{ totals: object }>('GET', '/emails/metrics?metrics=sent,delivered')
  expect(body.totals).toEqual({ sent: 1, delivered: 1 })
})

test('scheduled mail counts as neither old nor due; mail that is due but paused counts as both', async () => {
  const gauge = async (name: string) => {
    const { text } = await get('/metrics')
    return Number(new RegExp(`^posthaste_${name} (\\S+)$`, 'm').exec(text)![1])
  }
  const waits = 'spool_deliveries{state="waiting"}'.replaceAll(/[{}]/g, '\\$&')
  const scheduled_at = new Date(world.clock.now() + 24 * 3_600_000).toISOString()
  const id = await appliance.send({ to: 'later@customer.test', scheduled_at })
  await world.clock.advance(5 * 3_600_000)
  expect([await gauge(waits), await gauge('spool_oldest_seconds'), await gauge('spool_due_seconds')]).toEqual(
    [1, 0, 0],
  )

  const pause = await appliance.call('POST', '/lanes/auto~customer.test/pause', {})
  expect(pause.status).toBe(200)
  await world.clock.advance(20 * 3_600_000)
  expect(await gauge('spool_oldest_seconds')).toBeGreaterThanOrEqual(25 * 3600)
  expect(await gauge('spool_due_seconds')).toBeGreaterThanOrEqual(3600)
  await appliance.call('POST', '/lanes/auto~customer.test/resume', {})
  await world.clock.advance(60_000)
  await appliance.until(id, isFinal)
})
