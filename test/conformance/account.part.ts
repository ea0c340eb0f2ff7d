import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests logs.* and usage.* */
export function accountPart(suite: () => Suite): void {
  test('logs: lists and returns a request just made', async () => {
    const { client, from } = suite()
    const email = { from, to: 'ada@customer.test', subject: 'Logged', text: 'x' }
    const { id: emailId } = await taken(client.emails.send(email))
    const { data } = await taken(client.logs.list({ limit: 5 }))
    const entry = data.find(({ endpoint, method }) => method === 'POST' && endpoint === '/emails')!
    expect(entry).toMatchObject({ response_status: 200, user_agent: 'resend-node:6.38.0' })
    const log = await taken(client.logs.get(entry.id))
    expect(log).toMatchObject({
      object: 'log',
      request_body: { from, subject: 'Logged' },
      response_body: { id: emailId },
    })
    const next = await taken(client.logs.list({ limit: 1, after: data[0]!.id }))
    expect(next.data[0]!.id).toBe(data[1]!.id)
  })

  test('logs: stores rejected requests as well', async () => {
    const { client, from } = suite()
    await refused(client.emails.send({ from, to: 'nobody', subject: 'x', text: 'x' }))
    const [{ id } = { id: '' }] = (await taken(client.logs.list({ limit: 1 }))).data
    expect(await taken(client.logs.get(id))).toMatchObject({
      response_status: 422,
      response_body: { statusCode: 422, name: 'validation_error' },
    })
  })

  test('logs: rejects unknown and invalid IDs', async () => {
    const { logs } = suite().client
    expect(await refused(logs.get(NOBODY))).toMatchObject({ statusCode: 404, message: 'Log not found' })
    expect(await refused(logs.get('x'))).toMatchObject({
      statusCode: 422,
      message: 'The `logId` must be a valid UUID.',
    })
  })

  test('usage.get: counts sent emails', async () => {
    const { client, from } = suite()
    const before = await taken(client.usage.get())
    await taken(
      client.emails.send({ from, to: ['a@customer.test', 'b@customer.test'], subject: 'x', text: 'x' }),
    )
    const after = await taken(client.usage.get())
    expect(after.emails.monthly.used).toBe(before.emails.monthly.used + 2)
  })
}
