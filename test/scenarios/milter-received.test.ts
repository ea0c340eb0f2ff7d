import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { number, startMilter } from '../world/milter.ts'

/** A milter from the configuration is asked about mail to a receiving domain, and about nothing else. */

let milter: Awaited<ReturnType<typeof startMilter>>
let appliance: TestAppliance

beforeAll(async () => {
  milter = await startMilter({
    answers: {
      E: [
        ['h', 'X-Filtered\0by a milter\0'],
        ['m', `${number(1)}Subject\0Changed\0`],
        ['q', 'looks odd\0'],
        ['c', ''],
      ],
    },
  })
  appliance = await startAppliance({ config: { inbound: { milters: [milter.address] } as never } })
})
afterAll(async () => {
  await appliance.close()
  await milter.close()
})

interface Received {
  id: string
  subject: string
  headers: Record<string, string>
  spam: { flagged: boolean; symbols: string[] } | null
}

test('a milter changes the header of a reply and quarantines it', async () => {
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
  await appliance.call('PATCH', `/domains/${body.data[0]!.id}`, { capabilities: { receiving: 'enabled' } })
  const id = await appliance.send({ to: 'reply@person.test', subject: 'A question' })
  const list = `/emails/receiving?in_reply_to_email_id=${id}`
  const replies = async () => (await appliance.call<{ data: { id: string }[] }>('GET', list)).body.data
  await expect.poll(async () => (await replies()).length, { timeout: 60_000 }).toBe(1)
  const [{ id: replyId }] = (await replies()) as [{ id: string }]
  const reply = (await appliance.call<Received>('GET', `/emails/receiving/${replyId}`)).body
  expect(reply.subject).toBe('Changed')
  expect(reply.headers).toMatchObject({ 'x-filtered': 'by a milter' })
  expect(reply.spam).toMatchObject({ flagged: true, symbols: ['quarantine: looks odd'] })
  const asked = milter.heard.filter(([letter]) => letter === 'M').map(([, data]) => data)
  expect(asked).toEqual(['<reply@person.test>\0'])
})
