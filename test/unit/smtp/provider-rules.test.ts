import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadProviderRules } from '../../../appliance/config/config.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { change, leaseArgs, putEmail } from '../../contract/fixtures.ts'
import { sendWithNodemailer } from './clients.ts'
import { startDoor, type Door } from './harness.ts'

/** Tests the rules of mailbox providers for bulk mail that arrives over SMTP. */

const HALF_MINUTE = 30_000

let door: Door
beforeAll(async () => {
  const shipped = loadProviderRules()
  const providers = shipped.providers.map((one) => ({ ...one, bulk: 2 }))
  door = await startDoor({ rules: { ...shipped, providers } })
})
afterAll(() => door.close())

const domainId = async () => {
  const found = await door.storage.findDomain({ teamId: door.teamId, name: 'acme.example' }, 0)
  return found!.id
}

async function dmarcIs(status: 'verified' | 'pending'): Promise<void> {
  const checks = (['DKIM', 'SPF', 'DMARC'] as const).map((key) => ({
    key,
    status: key === 'DMARC' ? status : ('verified' as const),
    found: [],
    note: null,
    checkedAt: 0,
    since: 0,
  }))
  const check = { teamId: door.teamId, id: await domainId(), status: 'verified' as const, checks }
  await door.storage.saveDomainCheck(check, door.clock.now())
}

/** Stores a delivered email from the domain, so that it counts. */
async function deliver(address: string): Promise<void> {
  const { storage, teamId, clock } = door
  const now = clock.now()
  const { id } = await putEmail(storage, teamId, [address], now, { domainId: await domainId() })
  const leased = await storage.lease(leaseArgs({ leaseUntil: now + 3_600_000 }), now)
  const done = change(leased.find((one) => one.emailId === id)!.id, 'delivered', 'email.delivered')
  const event = { ...done.event!, id: newId(now) }
  await storage.settle({ owner: 'one', attempt: null, changes: [{ ...done, event }] }, now)
}

const setMode = (mode: 'block' | 'warn') => door.storage.setProviderRules({ id: door.teamId, mode }, 0)
const send = async (to: string | string[]) => (await sendWithNodemailer(door, { to })).text

test('rejects bulk mail that breaks a blocking provider rule after DATA, and stores nothing', async () => {
  await setMode('block')
  await dmarcIs('pending')
  // Below the number of a bulk sender.
  expect(await send('ada@gmail.com')).toMatch(/^250 /)
  await deliver('bob@gmail.com')
  await deliver('eve@gmail.com')
  await door.clock.advance(2 * HALF_MINUTE)
  const before = (await door.emails()).length
  const refused = await send('ada@gmail.com')
  expect(refused).toMatch(/^550 5\.7\.1 Your team blocks bulk mail that breaks rules of mailbox providers/)
  expect(refused).toContain('acme.example has no valid DMARC record')
  expect(await send(['ada@customer.example', 'ada@GMAIL.com'])).toMatch(/^550 5\.7\.1 /)
  expect((await door.emails()).length).toBe(before)
})

test('accepts other mail, and bulk mail that follows the rule or only causes a warning', async () => {
  expect(await send('ada@customer.example')).toMatch(/^250 /)
  expect(await send('ada@yahoo.com')).toMatch(/^250 /)
  await setMode('warn')
  await door.clock.advance(2 * HALF_MINUTE)
  expect(await send('ada@gmail.com')).toMatch(/^250 /)
  await setMode('block')
  await dmarcIs('verified')
  await door.clock.advance(2 * HALF_MINUTE)
  expect(await send('ada@gmail.com')).toMatch(/^250 /)
})
