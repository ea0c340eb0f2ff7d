import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { startApi, type Api } from './harness.ts'

/** Set by a test: the next calls of the method fail as if the process was killed before the commit. */
const fault = { advances: 0 }
const faulty = (storage: Storage): Storage => ({
  ...storage,
  advanceAutomationRun(args, now) {
    if (args.result.output?.email_id === undefined || fault.advances-- <= 0)
      return storage.advanceAutomationRun(args, now)
    return Promise.reject(new Error('killed between the email and the next step'))
  },
})

let api: Api
beforeAll(async () => {
  api = await startApi({ storage: faulty })
  await make('/templates', {
    name: 'Hi',
    alias: 'hi',
    from: 'Acme <hi@acme.example>',
    subject: 'Hi {{{NAME}}}',
    html: '<p>{{{PLAN}}}</p>',
    variables: [{ key: 'PLAN', type: 'string', fallback_value: 'free' }],
  })
  await api.call('POST', '/templates/hi/publish')
  api.automations.start()
})
afterAll(async () => {
  await api.automations.close()
  await api.close()
})

async function make(path: string, body: object): Promise<string> {
  const { json, text } = await api.call('POST', path, body)
  const { id } = json as { id?: string }
  if (id === undefined) throw new Error(text)
  return id
}

const mail = (variables: object = {}) => ({
  template: { id: 'hi', variables: { NAME: 'you', ...variables } },
})
/** Connects steps one after the other. */
const line = (...steps: { key: string }[]) => ({
  steps,
  connections: steps.slice(1).map(({ key }, at) => ({ from: steps[at]!.key, to: key })),
})
const start = (event: string) => ({ key: 'start', type: 'trigger', config: { event_name: event } })
const enabled = (name: string, graph: object) => make('/automations', { name, status: 'enabled', ...graph })

interface Run {
  id: string
  status: string
  steps: {
    key: string
    status: string
    output: Record<string, string> | null
    error: { message: string } | null
  }[]
}
const runsOf = async (id: string, query = '') =>
  ((await api.call('GET', `/automations/${id}/runs?limit=100${query}`)).json as { data: Run[] }).data
const firstRun = async (id: string): Promise<Run> => {
  const [{ id: runId }] = (await runsOf(id)) as [Run]
  return (await api.call('GET', `/automations/${id}/runs/${runId}`)).json as Run
}
/** Waits until the runs of an automation have these statuses. */
const settled = (id: string, status: string, count = 1) =>
  expect.poll(async () => (await runsOf(id, `&status=${status}`)).length, { timeout: 60_000 }).toBe(count)
const emailsTo = async (address: string) =>
  (await api.storage.listEmails({ teamId: api.teamId, limit: 100_000 }, api.clock.now())).items.filter(
    ({ to }) => to.includes(address),
  )

test('an automation runs all kinds of steps for a new contact', async () => {
  const segment = await make('/segments', { name: 'Pro' })
  await make('/contact-properties', { key: 'plan', type: 'string' })
  const id = await enabled('All', {
    steps: [
      start('joined'),
      {
        key: 'check',
        type: 'condition',
        config: { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' },
      },
      { key: 'free', type: 'delay', config: { duration: '1 minute' } },
      { key: 'mail', type: 'send_email', config: mail({ PLAN: { var: 'event.plan' } }) },
      { key: 'paid', type: 'wait_for_event', config: { event_name: 'paid', timeout: '3 days' } },
      {
        key: 'update',
        type: 'contact_update',
        config: { first_name: { var: 'wait_events.paid.name' }, properties: { plan: { var: 'event.plan' } } },
      },
      { key: 'join', type: 'add_to_segment', config: { segment_id: segment } },
    ],
    connections: [
      { from: 'start', to: 'check' },
      { from: 'check', to: 'mail', type: 'condition_met' },
      { from: 'check', to: 'free', type: 'condition_not_met' },
      { from: 'mail', to: 'paid' },
      { from: 'paid', to: 'update', type: 'event_received' },
      { from: 'update', to: 'join' },
    ],
  })
  const email = 'grace@customer.example'
  await api.call('POST', '/events/send', { event: 'joined', email, payload: { plan: 'pro' } })
  await expect
    .poll(async () => (await firstRun(id)).steps.find(({ key }) => key === 'paid')?.status)
    .toBe('waiting')
  await api.call('POST', '/events/send', { event: 'paid', email, payload: { name: 'Grace' } })
  await settled(id, 'completed')
  const { steps } = await firstRun(id)
  expect(steps.map(({ key, status }) => [key, status])).toEqual([
    ['start', 'completed'],
    ['check', 'completed'],
    ['free', 'skipped'],
    ['mail', 'completed'],
    ['paid', 'completed'],
    ['update', 'completed'],
    ['join', 'completed'],
  ])
  const [sent] = await emailsTo(email)
  expect(sent).toMatchObject({ subject: 'Hi you', id: steps[3]!.output!.email_id })
  expect((await api.call('GET', `/emails/${sent!.id}`)).json).toMatchObject({
    html: '<p>pro</p>',
    tags: [{ name: 'automation', value: id }, { name: 'automation_run' }],
  })
  expect((await api.call('GET', `/contacts/${email}`)).json).toMatchObject({
    first_name: 'Grace',
    properties: { plan: { value: 'pro' } },
  })
  expect((await api.call('GET', `/segments/${segment}/contacts`)).json).toMatchObject({ data: [{ email }] })
  const { json } = await api.call('GET', `/contacts/${email}/automations`)
  const { data } = json as { data: Run[] }
  expect(data).toMatchObject([
    { automation_id: id, automation_name: 'All', event_name: 'joined', status: 'completed' },
  ])
  const ran = ['start', 'check', 'mail', 'paid', 'update', 'join']
  expect(data[0]!.steps.map(({ key }) => key).toSorted()).toEqual(ran.toSorted())
  expect((await api.call('GET', '/contacts/nobody@customer.example/automations')).status).toBe(404)
})

test('an automation sends an email once, even if it fails before the next step is stored', async () => {
  const id = await enabled(
    'Once',
    line(start('once'), { key: 'mail', type: 'send_email', config: mail() } as never),
  )
  fault.advances = 2
  const email = 'once@customer.example'
  await api.call('POST', '/events/send', { event: 'once', email })
  await expect.poll(() => fault.advances).toBeLessThan(2)
  // The worker pauses after a failed step.
  await expect
    .poll(async () => {
      await api.clock.advance(10_000)
      return (await runsOf(id, '&status=completed')).length
    })
    .toBe(1)
  expect(await emailsTo(email)).toHaveLength(1)
  expect((await firstRun(id)).steps[1]).toMatchObject({ status: 'completed', output: { to: email } })
})

test("an automation skips email to a contact who opted out, and can't lift the opt-out", async () => {
  const email = 'out@customer.example'
  await make('/contacts', { email, unsubscribed: true })
  const back = { key: 'back', type: 'contact_update', config: { unsubscribed: false } }
  const id = await enabled(
    'Out',
    line(start('out'), { key: 'mail', type: 'send_email', config: mail() } as never, back),
  )
  await api.call('POST', '/events/send', { event: 'out', email })
  await settled(id, 'completed')
  expect((await firstRun(id)).steps[1]).toMatchObject({
    status: 'skipped',
    output: { skipped: 'unsubscribed' },
  })
  expect(await emailsTo(email)).toEqual([])
  expect((await api.call('GET', `/contacts/${email}`)).json).toMatchObject({ unsubscribed: true })
})

test('stopping cancels waiting runs, runs keep their version, and errors name the invalid field', async () => {
  const wait = { key: 'wait', type: 'delay', config: { duration: '2 days' } }
  const id = await enabled('Stop', line(start('stop'), wait))
  await api.call('POST', '/events/send', { event: 'stop', email: 'stop@customer.example' })
  await settled(id, 'running')
  expect((await api.call('GET', `/automations/${id}/counts`)).json).toEqual({
    object: 'automation_counts',
    id,
    runs: { running: 1, completed: 0, failed: 0, cancelled: 0, most: 10_000 },
    steps: [
      { key: 'start', waiting: 0, completed: 1, failed: 0, skipped: 0 },
      { key: 'wait', waiting: 1, completed: 0, failed: 0, skipped: 0 },
    ],
  })
  const listed = (await api.call('GET', '/automations?limit=100&counts=true')).json as { data: object[] }
  expect(listed.data.find((one) => (one as { id: string }).id === id)).toMatchObject({
    runs: { running: 1, completed: 0, failed: 0, cancelled: 0, most: 1000 },
  })
  const { revision } = (await api.call('GET', `/automations/${id}`)).json as { revision: string }
  const changed = { ...line(start('other')), revision }
  expect((await api.call('PATCH', `/automations/${id}`, changed)).status).toBe(200)
  expect((await api.call('PATCH', `/automations/${id}`, changed)).json).toMatchObject({
    statusCode: 409,
    message: expect.stringContaining('Somebody else changed the steps') as string,
  })
  expect((await firstRun(id)).steps.map(({ key, status }) => [key, status])).toEqual([
    ['start', 'completed'],
    ['wait', 'waiting'],
  ])
  expect((await api.call('POST', `/automations/${id}/stop`)).json).toEqual({
    object: 'automation',
    id,
    status: 'disabled',
  })
  await settled(id, 'cancelled')
  const refusal = async (body: object) => {
    const { status, json } = await api.call('POST', '/automations', { name: 'Wrong', ...body })
    return [status, (json as { message: string }).message]
  }
  const send = (config: object) => ({ key: 'mail', type: 'send_email', config }) as never
  expect(await refusal(line(start('x'), send({ template: { id: 'nothing' } })))).toEqual([
    422,
    'Invalid `steps[1].config.template.id` field: a published template; `nothing` is none.',
  ])
  expect(
    await refusal(
      line(start('x'), { key: 'a', type: 'add_to_segment', config: { segment_id: 'x' } } as never),
    ),
  ).toEqual([422, 'Invalid `steps[1].config.segment_id` field: a segment that exists and has no rules.'])
  expect(await refusal({ steps: [start('x')], connections: [{ from: 'start', to: 'gone' }] })).toEqual([
    422,
    'Invalid `connections[0].to` field: the key of a step.',
  ])
})

test('a failed run is retried from the step that failed', async () => {
  const welcome = {
    name: 'Welcome',
    alias: 'welcome',
    from: 'Acme <hi@acme.example>',
    subject: 'Welcome',
    html: '<p>Hi</p>',
  }
  const publish = async () => {
    await make('/templates', welcome)
    expect((await api.call('POST', '/templates/welcome/publish')).status).toBe(200)
  }
  await publish()
  const letter = { key: 'mail', type: 'send_email', config: { template: { id: 'welcome' } } }
  const id = await enabled('Retry', line(start('retry'), letter))
  expect(await api.call('DELETE', '/templates/welcome')).toMatchObject({
    status: 409,
    json: {
      name: 'resource_locked',
      message:
        'The automation `Retry` sends this template. Disable the automation, or choose another template in it.',
    },
  })
  expect((await api.call('PATCH', '/templates/welcome', { alias: 'former' })).status).toBe(200)
  expect((await api.call('DELETE', '/templates/former')).status).toBe(200)
  const email = 'retry@customer.example'
  await api.call('POST', '/events/send', { event: 'retry', email })
  await settled(id, 'failed')
  const run = await firstRun(id)
  expect(run.steps[1]).toMatchObject({ key: 'mail', status: 'failed' })
  const path = `/automations/${id}/runs/${run.id}/retry`
  await publish()
  expect((await api.call('POST', path)).json).toEqual({
    object: 'automation_run',
    id: run.id,
    status: 'running',
  })
  await settled(id, 'completed')
  expect(await emailsTo(email)).toHaveLength(1)
  expect(await api.call('POST', path)).toMatchObject({
    status: 409,
    json: { message: 'Only a run that failed can be retried, and it has not failed.' },
  })
  expect((await api.call('POST', `/automations/${id}/runs/${id}/retry`)).status).toBe(404)
})

test('an automation is disabled with a reason when its last 20 runs fail', async () => {
  const set = { key: 'set', type: 'contact_update', config: { first_name: { var: 'event.name' } } }
  const id = await enabled('Fail', line(start('fail'), set))
  for (let n = 0; n < 20; n++) {
    const payload = { name: 'x'.repeat(3000) }
    await api.call('POST', '/events/send', { event: 'fail', email: `fail${n}@customer.example`, payload })
  }
  await settled(id, 'failed', 20)
  await expect
    .poll(async () => (await api.call('GET', `/automations/${id}`)).json)
    .toMatchObject({
      status: 'disabled',
      stop_reason: expect.stringContaining('20 of the last 20 runs failed.') as string,
    })
})

test('two thousand runs with a delay of five days all complete', async () => {
  const wait = { key: 'wait', type: 'delay', config: { duration: '5 days' } }
  const tag = { key: 'tag', type: 'contact_update', config: { last_name: { var: 'event.n' } } }
  const id = await enabled('Many', line(start('many'), wait, tag))
  const count = 2000
  const now = api.clock.now()
  const about = (n: number) => ({ email: `many${n}@customer.example` })
  const events = Array.from({ length: count }, (_, n) => ({
    name: 'many',
    about: about(n),
    payload: { n: String(n) },
  }))
  await Promise.all(
    events.map((event) => {
      const id = crypto.randomUUID()
      return api.storage.sendCustomEvent({ event: { ...event, id, teamId: api.teamId }, most: 100_000 }, now)
    }),
  )
  api.automations.wake()
  const counted = async (status: string) => {
    const all = { teamId: api.teamId, automationId: id, limit: count + 1 }
    return (await api.storage.listAutomationRuns({ ...all, statuses: [status as 'running'] }, 0)).items.length
  }
  const waits = { timeout: 120_000, interval: 200 }
  await expect.poll(() => counted('running'), waits).toBe(count)
  await api.clock.advance(5 * 86_400_000)
  await expect.poll(() => counted('completed'), waits).toBe(count)
  expect((await api.call('GET', '/contacts/many1999@customer.example')).json).toMatchObject({
    last_name: '1999',
  })
}, 240_000)
