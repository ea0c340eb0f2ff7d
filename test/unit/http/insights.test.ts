import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type Api } from './harness.ts'

/** Tests the advice on emails that were sent, and on those that weren't. */

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const email = {
  from: 'Shop <shop@acme.example>',
  to: 'ada@customer.example',
  subject: 'Your order',
  html: '<p>Thank you!</p><a href="http://acme.example/">Order</a>',
  text: 'Thank you!',
}
interface Advice {
  insights: { id: string; verdict: string; note: string; fix: string | null; evidence: string[] }[]
}
const wrong = ({ insights }: Advice) =>
  insights.filter(({ verdict }) => verdict !== 'pass').map(({ id, verdict }) => `${verdict} ${id}`)

test('the insights of a sent email match those requested before sending', async () => {
  const { json: sent } = await api.call('POST', '/emails', email)
  const after = await api.call('GET', `/emails/${(sent as { id: string }).id}/insights`)
  expect([after.status, wrong(after.json as Advice)]).toEqual([200, ['attention http', 'advice subdomain']])
  expect((after.json as Advice).insights[0]).toEqual({
    id: 'http',
    verdict: 'attention',
    note: 'Some links or images use http: http://acme.example/.',
    why: 'Browsers warn about them, and some mail clients don’t load such images.',
    fix: 'Use https.',
    evidence: ['http://acme.example/'],
  })
  const before = await api.call('POST', '/insights', email)
  expect(before.json).toEqual(after.json)
})

test('requesting insights sends nothing, and generates the text part as sending does', async () => {
  const count = async () => ((await api.call('GET', '/emails')).json as { data: object[] }).data.length
  const emails = await count()
  const { text, ...html } = email
  expect(text).toBe('Thank you!')
  expect(wrong((await api.call('POST', '/insights', html)).json as Advice)).not.toContain('attention text')
  const without = await api.call('POST', '/insights', { ...html, text: '' })
  expect(wrong(without.json as Advice)).toContain('attention text')
  expect(await count()).toBe(emails)
})

test('insights block an unknown sender domain, and reject a body that cannot be sent', async () => {
  const foreign = await api.call('POST', '/insights', { ...email, from: 'a@elsewhere.example' })
  expect(wrong(foreign.json as Advice)[0]).toBe('block sender')
  const { status, json } = await api.call('POST', '/insights', { ...email, to: 'nobody' })
  expect([status, (json as { name: string }).name]).toEqual([422, 'validation_error'])
})

test('insights of an unknown email get a 404', async () => {
  const unknown = '0193a4a0-0000-7000-8000-000000000000'
  expect((await api.call('GET', `/emails/${unknown}/insights`)).status).toBe(404)
})
