import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests events.* and automations.* */
export function automationsPart(suite: () => Suite): void {
  test('events: creates, reads by ID and name, lists, updates and removes', async () => {
    const { events } = suite().client
    const schema = { plan: 'string', seats: 'number', trial: 'boolean', until: 'date' } as const
    const created = await taken(events.create({ name: 'user.signed up/ä', schema }))
    const { id } = created
    expect(created).toEqual({ object: 'event', id })
    const read = await taken(events.get(id))
    expect(read).toMatchObject({ object: 'event', id, name: 'user.signed up/ä', schema, updated_at: null })
    expect(await taken(events.get('user.signed up/ä'))).toEqual(read)
    expect((await taken(events.list({ limit: 5 }))).data.map((one) => one.id)).toContain(id)
    expect(await taken(events.update('user.signed up/ä', { schema: null }))).toEqual(created)
    expect((await taken(events.get(id))).schema).toBeNull()
    expect(await refused(events.create({ name: 'user.signed up/ä' }))).toMatchObject({
      statusCode: 409,
      message: 'An event with the name `user.signed up/ä` already exists.',
    })
    expect(await refused(events.create({ name: 'resend:x' }))).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message: 'Invalid `name` field: a name that does not start with `resend:`.',
    })
    expect(await taken(events.remove(id))).toEqual({ object: 'event', id, deleted: true })
    expect(await refused(events.get(id))).toMatchObject({
      statusCode: 404,
      name: 'not_found',
      message: 'Event not found',
    })
  })

  test('events: sends for a contact or an address, with a payload that fits the schema', async () => {
    const { contacts, events } = suite().client
    const { id: contactId } = await taken(contacts.create({ email: 'eve@customer.test' }))
    const schema = { plan: 'string', until: 'date' } as const
    await taken(events.create({ name: 'order.placed', schema }))
    const event = 'order.placed'
    const payload = { plan: 'pro', until: '2026-12-01', more: [1] }
    const sent = { object: 'event', event }
    expect(await taken(events.send({ event, contactId, payload }))).toEqual(sent)
    expect(await taken(events.send({ event, email: 'new@customer.test' }))).toEqual(sent)
    expect(await taken(events.send({ event: 'undefined.yet', contactId, payload: { a: 1 } }))).toEqual({
      object: 'event',
      event: 'undefined.yet',
    })
    const { body } = await suite().appliance.call('GET', '/events/order.placed/sent')
    expect(body).toMatchObject({
      data: [
        { event, contact_id: null, email: 'new@customer.test', payload: {} },
        { event, contact_id: contactId, email: 'eve@customer.test', payload },
      ],
    })
    const wrong = { event, contactId, payload: { until: 'soon' } }
    expect(await refused(events.send(wrong))).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message:
        'Invalid `payload.until` field: the schema of the event has a date in ISO 8601, such as `2026-05-01` or `2026-05-01T12:00:00Z`.',
    })
    const both = { event, contactId, email: 'eve@customer.test' } as never
    const about = 'Exactly one of `contact_id` or `email` must be provided.'
    expect(await refused(events.send(both))).toMatchObject({ statusCode: 422, message: about })
    expect(await refused(events.send({ event } as never))).toMatchObject({ statusCode: 422, message: about })
    expect(await refused(events.send({ event, contactId: NOBODY }))).toMatchObject({
      statusCode: 404,
      message: 'Contact not found',
    })
  })

  test('automations: creates, reads, lists, updates, duplicates, runs, stops and removes', async () => {
    const { automations, events, segments } = suite().client
    const { id: segmentId } = await taken(segments.create({ name: 'Joined' }))
    const rule = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' } as const
    const created = await taken(
      automations.create({
        name: 'Welcome',
        status: 'enabled',
        steps: [
          { key: 'start', type: 'trigger', config: { eventName: 'signed.up' } },
          { key: 'check', type: 'condition', config: rule },
          { key: 'join', type: 'add_to_segment', config: { segmentId } },
          { key: 'wait', type: 'delay', config: { duration: '3 days' } },
        ],
        connections: [
          { from: 'start', to: 'check' },
          { from: 'check', to: 'join', type: 'condition_met' },
          { from: 'check', to: 'wait', type: 'condition_not_met' },
        ],
      }),
    )
    const { id } = created
    expect(created).toEqual({ object: 'automation', id })
    expect(await taken(automations.get(id))).toMatchObject({
      object: 'automation',
      id,
      name: 'Welcome',
      status: 'enabled',
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
        { key: 'check', type: 'condition', config: rule },
        { key: 'join', type: 'add_to_segment', config: { segment_id: segmentId } },
        { key: 'wait', type: 'delay', config: { duration: '3 days' } },
      ],
      connections: [
        { from: 'start', to: 'check', type: 'default' },
        { from: 'check', to: 'join', type: 'condition_met' },
        { from: 'check', to: 'wait', type: 'condition_not_met' },
      ],
    })
    expect((await taken(automations.list({ status: 'enabled' }))).data.map((one) => one.id)).toContain(id)
    await taken(events.send({ event: 'signed.up', email: 'joe@customer.test', payload: { plan: 'pro' } }))
    const status = ['completed', 'failed'] as const
    const ended = () => automations.runs.list({ automationId: id, status: [...status] })
    await expect.poll(async () => (await taken(ended())).data.length, { timeout: 30_000 }).toBe(1)
    const runId = (await taken(ended())).data[0]!.id
    expect(await taken(automations.runs.get({ automationId: id, runId }))).toMatchObject({
      object: 'automation_run',
      id: runId,
      status: 'completed',
      steps: [
        { key: 'start', status: 'completed' },
        { key: 'check', status: 'completed', output: { result: true } },
        { key: 'join', status: 'completed', output: { segment_id: segmentId } },
        { key: 'wait', status: 'skipped', started_at: null },
      ],
    })
    expect(await taken(automations.update(id, { name: 'Hello', status: 'disabled' }))).toEqual({
      ...created,
      revision: expect.any(String) as string,
    })
    const copy = await taken(automations.duplicate(id))
    expect(await taken(automations.get(copy.id))).toMatchObject({ name: 'Hello (copy)', status: 'disabled' })
    expect(await taken(automations.stop(id))).toEqual({ object: 'automation', id, status: 'disabled' })
    expect(await taken(automations.remove(id))).toEqual({ object: 'automation', id, deleted: true })
    expect(await refused(automations.get(id))).toMatchObject({
      statusCode: 404,
      name: 'not_found',
      message: 'Automation not found',
    })
  })
}
