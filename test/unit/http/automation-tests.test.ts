import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, startApi, type Api } from './harness.ts'
import { join } from './people.ts'
import { newId } from '../../../appliance/mail/ids.ts'

let api: Api
let automation: string
let contact: string
beforeAll(async () => {
  api = await startApi()
  await make('/templates', {
    name: 'Hi',
    alias: 'hi',
    from: 'Acme <hi@acme.example>',
    subject: 'Hi {{{FIRST_NAME}}}, you paid {{{SUM}}}',
    html: '<p>Hi</p>',
    variables: [{ key: 'SUM', type: 'string' }],
  })
  await api.call('POST', '/templates/hi/publish')
  await make('/contact-properties', { key: 'plan', type: 'string' })
  await make('/events', { name: 'paid', schema: { sum: 'string' } })
  contact = await make('/contacts', { email: 'ada@customer.example', first_name: 'Ada' })
  automation = await make('/automations', { name: 'Welcome', ...graph })
})
afterAll(() => api.close())

async function make(path: string, body: object): Promise<string> {
  const { json, text } = await api.call('POST', path, body)
  const { id } = json as { id?: string }
  if (id === undefined) throw new Error(text)
  return id
}

const hi = { template: { id: 'hi', variables: { SUM: { var: 'wait_events.paid.sum' } } } }
/** Waits for a payment, writes the plan to the contact, and sends an email; without a payment, it deletes the contact. */
const graph = {
  steps: [
    { key: 'start', type: 'trigger', config: { event_name: 'joined' } },
    { key: 'day', type: 'delay', config: { duration: '1 day' } },
    {
      key: 'wait',
      type: 'wait_for_event',
      config: {
        event_name: 'paid',
        timeout: '3 days',
        filter_rule: { type: 'rule', field: 'event.sum', operator: 'neq', value: '0' },
      },
    },
    {
      key: 'update',
      type: 'contact_update',
      config: { first_name: { var: 'event.name' }, properties: { plan: { var: 'event.plan' } } },
    },
    {
      key: 'pro',
      type: 'condition',
      config: { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' },
    },
    { key: 'mail', type: 'send_email', config: hi },
    { key: 'forget', type: 'contact_delete', config: {} },
  ],
  connections: [
    { from: 'start', to: 'day' },
    { from: 'day', to: 'wait' },
    { from: 'wait', to: 'update', type: 'event_received' },
    { from: 'wait', to: 'forget', type: 'timeout' },
    { from: 'update', to: 'pro' },
    { from: 'pro', to: 'mail', type: 'condition_met' },
  ],
}

interface Step {
  key: string
  status: string
  started_at: string | null
  completed_at: string | null
  output: object | null
  error: object | null
}
interface Run {
  status: string
  started_at: string
  completed_at: string
  steps: Step[]
}
const joined = { event: 'joined', payload: { name: 'Grace', plan: 'pro' } }
const run = async (body: object): Promise<Run> => {
  const { status, json, text } = await api.call('POST', `/automations/${automation}/test`, body)
  if (status !== 200) throw new Error(text)
  return json as Run
}
/** The steps that the run reached: key, status, hours from its start to the step's end, and output. */
const reached = ({ started_at: start, steps }: Run) =>
  steps.flatMap(({ key, status, completed_at: at, output, error }) =>
    at === null
      ? []
      : [[key, status, Math.round((Date.parse(at) - Date.parse(start)) / 3_600_000), error ?? output]],
  )

describe('an automation test run', () => {
  test('a test run executes each step at its time, with the contact as changed by earlier steps', async () => {
    const arrivals = [
      { event: 'paid', payload: { sum: '7' }, after: '2 hours' },
      { event: 'paid', payload: { sum: '0' }, after: '2 days' },
      { event: 'paid', payload: { sum: '9' }, after: '60 hours' },
    ]
    const found = await run({ ...joined, email: 'ada@customer.example', arrivals })
    expect(found.status).toBe('completed')
    const output = {
      to: 'ada@customer.example',
      from: 'Acme <hi@acme.example>',
      subject: 'Hi Grace, you paid 9',
      template: { id: 'hi', variables: { SUM: '9' } },
    }
    expect(reached(found)).toEqual([
      ['start', 'completed', 0, null],
      ['day', 'completed', 24, null],
      ['wait', 'completed', 60, { event: 'paid' }],
      ['update', 'completed', 60, null],
      ['pro', 'completed', 60, { result: true }],
      ['mail', 'completed', 60, output],
    ])
    expect(Date.parse(found.completed_at) - Date.parse(found.started_at)).toBe(60 * 3_600_000)
  })

  test('a test run takes the timeout branch if no event arrives', async () => {
    expect(reached(await run({ ...joined, contact_id: contact }))).toEqual([
      ['start', 'completed', 0, null],
      ['day', 'completed', 24, null],
      ['wait', 'completed', 96, { timed_out: true }],
      ['forget', 'completed', 96, null],
    ])
  })

  test('a test run shows why a step fails, and skips email to an unsubscribed contact', async () => {
    const steps = [graph.steps[0], { key: 'mail', type: 'send_email', config: hi }]
    const connections = [{ from: 'start', to: 'mail' }]
    const asked = { ...joined, email: 'new@customer.example' }
    const failed = await run({ ...asked, steps, connections })
    expect([failed.status, reached(failed)[1]]).toEqual([
      'failed',
      ['mail', 'failed', 0, { message: expect.stringContaining('SUM') as string }],
    ])
    const leave = { key: 'leave', type: 'contact_update', config: { unsubscribed: true } }
    const after = await run({
      ...asked,
      steps: [graph.steps[0], leave, steps[1]],
      connections: [
        { from: 'start', to: 'leave' },
        { from: 'leave', to: 'mail' },
      ],
    })
    expect(reached(after)[2]).toEqual(['mail', 'skipped', 0, { skipped: 'unsubscribed' }])
  })

  test('a test run changes nothing, and predicts the real run', async () => {
    const { json: before } = await api.call('GET', `/contacts/${contact}`)
    const asked = { ...joined, email: 'ada@customer.example' }
    await run({ ...asked, arrivals: [{ event: 'paid', payload: { sum: '9' }, after: '60 hours' }] })
    expect((await api.call('GET', `/contacts/${contact}`)).json).toEqual(before)
    expect((await api.call('GET', '/contacts/new@customer.example')).status).toBe(404)
    expect((await api.call('GET', '/emails')).json).toMatchObject({ data: [] })
    expect((await api.call('GET', `/automations/${automation}/runs`)).json).toMatchObject({ data: [] })

    const predicted = await run(asked)
    await api.call('PATCH', `/automations/${automation}`, { status: 'enabled' })
    api.automations.start()
    await api.call('POST', '/events/send', asked)
    const runs = async () =>
      ((await api.call('GET', `/automations/${automation}/runs`)).json as { data: { id: string }[] }).data
    await expect.poll(runs, { timeout: 60_000 }).toHaveLength(1)
    const [{ id }] = (await runs()) as [{ id: string }]
    const real = async () => (await api.call('GET', `/automations/${automation}/runs/${id}`)).json as Run
    const keysDone = async () => reached(await real()).map(([key]) => key)
    await expect.poll(keysDone, { timeout: 60_000 }).toEqual(['start'])
    await api.clock.advance(24 * 3_600_000)
    await expect.poll(keysDone, { timeout: 60_000 }).toEqual(['start', 'day'])
    await api.clock.advance(72 * 3_600_000)
    await expect.poll(async () => (await real()).status, { timeout: 60_000 }).toBe('completed')
    await api.automations.close()
    expect(reached(await real())).toEqual(reached(predicted))
  })
})

describe('rejected automation test runs', () => {
  const about = { email: 'ada@customer.example' }
  const arrival = { event: 'paid', after: '1 day' }
  test.each<[string, object, number, string]>([
    [
      "with an event that doesn't start the automation",
      { ...about, event: 'paid' },
      422,
      'starts the automation: joined',
    ],
    ['without a contact', joined, 422, 'contact_id'],
    ['with both a contact and an address', { ...joined, ...about, contact_id: 'x' }, 422, 'contact_id'],
    ['for an unknown contact', { ...joined, contact_id: newId(0) }, 404, 'Contact not found'],
    [
      'with an invalid time',
      { ...joined, ...about, arrivals: [{ ...arrival, after: 'soon' }] },
      422,
      'arrivals[0].after',
    ],
    [
      "with a payload that doesn't match the event schema",
      { ...joined, ...about, arrivals: [{ ...arrival, payload: { sum: 9 } }] },
      422,
      'sum',
    ],
    [
      'with too many arrivals',
      { ...joined, ...about, arrivals: Array.from({ length: 51 }, () => arrival) },
      422,
      'at most 50 events',
    ],
    [
      'with invalid steps',
      { ...joined, ...about, steps: [{ key: 'a', type: 'delay', config: { duration: '1 day' } }] },
      422,
      'trigger',
    ],
  ])('a test run is rejected %s', async (_what, body, status, message) => {
    const answer = await api.call('POST', `/automations/${automation}/test`, body)
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)])
  })

  test('a test run is rejected for other teams', async () => {
    const now = api.clock.now()
    const team = { id: newId(now), name: 'Other', createdAt: now }
    const user = {
      id: newId(now),
      email: 'o@other.example',
      passwordHash: null,
      provenAt: null,
      createdAt: now,
    }
    await api.storage.createOwner({ team, user }, now)
    const cookie = await join(api, { role: 'owner', team: team.id })
    const asked = { ...joined, ...about }
    const headers = { cookie, 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
    const answer = await ask(`${api.url}/automations/${automation}/test`, 'POST', asked, headers)
    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('Automation not found')])
  })
})
