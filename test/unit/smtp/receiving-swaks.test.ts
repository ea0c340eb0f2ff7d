import { afterAll, beforeAll, expect, test } from 'vitest'
import { runClient } from './clients.ts'
import { startDoor, type Door } from './harness.ts'

/** Tests the public MX with swaks, a client for testing mail servers. */

let door: Door
beforeAll(async () => {
  door = await startDoor()
  const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
  await door.senders.updateDomain({ teamId: door.teamId, id: acme!.id, settings: { receiving: true } })
})
afterAll(() => door.close())

const swaks = (to: string, ...more: string[]) =>
  runClient('swaks', [
    '--server',
    '127.0.0.1',
    '--port',
    String(door.ports.relay),
    '--from',
    'ada@customer.example',
    '--to',
    to,
    '--header',
    'Subject: From swaks',
    ...more,
  ])

test('swaks delivers in plain text, over STARTTLS and with pipelining', async () => {
  for (const more of [[], ['--tls'], ['--pipeline']]) {
    const { ok, text } = await swaks('box@acme.example', ...more)
    expect({ ok, text }).toMatchObject({
      ok: true,
      text: expect.stringContaining('2.0.0 Received as') as string,
    })
  }
  const { items } = await door.storage.listReceivedEmails(
    { teamId: door.teamId, limit: 10 },
    door.clock.now(),
  )
  expect(items.map(({ subject, tls }) => [subject, tls])).toEqual([
    ['From swaks', null],
    ['From swaks', 'TLSv1.3'],
    ['From swaks', null],
  ])
})

test('swaks is rejected with 554 5.7.1 when it tries to relay', async () => {
  const { ok, text } = await swaks('ada@elsewhere.example')
  expect(ok).toBe(false)
  expect(text).toMatch(/<\*\* 554 5\.7\.1/)
})
