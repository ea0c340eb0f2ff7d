import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BEHAVIOURS, DNS_BEHAVIOURS } from '../../appliance/sandbox/behaviours.ts'
import type { SandboxMessage, SandboxMessageList } from '../../appliance/http/schemas/sandbox.ts'
import type { Timeline } from '../../appliance/http/schemas/timeline.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/** The sandbox does what its tables promise. */

let appliance: TestAppliance

beforeAll(async () => {
  appliance = await startAppliance()
})
afterAll(() => appliance.close())

/** Sends to an address and waits for the outcome of the first attempt. */
async function firstAttempt(to: string): Promise<Timeline> {
  const id = await appliance.send({ to })
  return appliance.until(id, ({ attempts }) => attempts.length > 0)
}

/** State after the first attempt, and the code of the reply that decided. */
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

test('every row of the tables is tried here', () => {
  expect(Object.keys(LOCAL_PARTS)).toEqual(Object.keys(BEHAVIOURS))
  expect(Object.keys(DOMAINS)).toEqual(Object.keys(DNS_BEHAVIOURS))
})

describe('the local part chooses what the exchanger does', () => {
  test.concurrent.each(Object.entries(LOCAL_PARTS))('%s@', async (name, [state, code]) => {
    const { deliveries } = await firstAttempt(`${name}+1@customer-${name}.test`)
    expect(deliveries[0]!.state).toBe(state)
    expect(deliveries[0]!.cause!.reply?.code ?? null).toBe(code)
  })

  test('tls-broken@ arrives in plain text at the second exchanger', async () => {
    const { attempts } = await firstAttempt('tls-broken@elsewhere.test')
    expect(attempts[0]).toMatchObject({ host: 'mx2.elsewhere.test', tls: null })
  })
})

describe('the domain chooses what the DNS says', () => {
  test.concurrent.each(Object.entries(DOMAINS))('@%s.', async (name, state) => {
    const { deliveries } = await firstAttempt(`ada@${name}.test`)
    expect(deliveries[0]!.state).toBe(state)
  })
})

describe('the inbox', () => {
  test('shows what arrived, verified as a receiver would', async () => {
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
      mail_from: `bounce+${id.replaceAll('-', '')}@send.example.test`,
      tls: 'TLSv1.3',
      dkim: 'pass',
      spf: 'pass',
      dmarc: 'pass',
    })
    const one = await appliance.call<SandboxMessage>('GET', `/sandbox/messages/${found.id}`)
    expect(one.body.html?.trim()).toBe('<p>Größe</p>')
    expect(one.body.source).toMatch(/^DKIM-Signature:/m)
  })

  test('is still there after a restart, and so are key and sign-in', async () => {
    const before = (await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')).body.data
    await appliance.restart()
    const after = (await appliance.call<SandboxMessageList>('GET', '/sandbox/messages')).body.data
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(appliance.appliance.sandbox!.seed.apiKey).toBe(appliance.apiKey)
  })
})

test('a domain that is added is verified at once', async () => {
  const { senders } = appliance.appliance
  const domain = await senders.addDomain({ teamId: appliance.teamId, name: 'brand-new.test' })
  expect((await senders.verifyDomain({ teamId: appliance.teamId, id: domain.id })).status).toBe('verified')
})

test('a first start that was cut short is made good by the next', async () => {
  await rm(join(appliance.config.data_dir, 'seed.json'))
  await appliance.restart()
  const { seed } = appliance.appliance.sandbox!
  expect(seed.teamId).toBe(appliance.teamId)
  expect(seed.apiKey).not.toBe(appliance.apiKey)
  const { accounts } = appliance.appliance
  const signIn = { email: seed.email, password: seed.password, ip: null, userAgent: null }
  expect(await accounts.signIn(signIn)).toMatchObject({ token: expect.any(String) as string })
})
