import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../../world/appliance.ts'
import { refusal, startHosted, type HostedWorld } from '../../world/hosted.ts'
import { createWorld, type World } from '../../world/world.ts'
import { installation, posthaste, type Run } from './program.ts'

/** A target installation with an owner. */
interface Place {
  run: (...args: string[]) => Promise<Run>
  json: <T>(...args: string[]) => Promise<T>
  key: string
}

async function place(key: string): Promise<Place> {
  const { config } = installation('[dns]\nservers = ["127.0.0.1:9"]\n')
  const file = join(mkdtempSync(join(tmpdir(), 'posthaste-audience-')), 'key')
  writeFileSync(file, key)
  const run = (...args: string[]) => posthaste([...args, '--config', config])
  await posthaste(['setup', '--email', 'owner@here.test', '--config', config], { input: 'a long password\n' })
  return {
    run,
    key: file,
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await run(...args, '--json')
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout) as T
    },
  }
}

interface Tally {
  there: number
  added: number
  present: number
  updated: number
  left_out: number
  reasons: { what: string; text: string }[]
  notes: { what: string; text: string }[]
}
type Printed = Record<string, Tally> & { failure: string | null }
const tally = (there: number, added: number, present = 0, left_out = 0, updated = 0) =>
  expect.objectContaining({ there, added, present, left_out, updated }) as Tally

const AUDIENCE = 'properties,segments,topics,contacts,templates,broadcasts,events,automations'

describe('import from another server', () => {
  let world: World
  let there: TestAppliance
  let here: Place
  const bring = (...args: string[]): string[] => {
    const from = ['import', '--from', there.url, '--key-file', here.key]
    return [...from, '--only', AUDIENCE, ...args]
  }
  const make = async (path: string, body: object): Promise<string> => {
    const { status, body: made } = await there.call<{ id: string }>('POST', path, body)
    expect(status, JSON.stringify(made)).toBeLessThan(300)
    return made.id
  }

  beforeAll(async () => {
    world = await createWorld({ domains: {} })
    there = await startAppliance({ world })
    here = await place(there.apiKey)
    await make('/contact-properties', { key: 'plan', type: 'string', fallback_value: 'free' })
    await make('/contact-properties', { key: 'orders', type: 'number' })
    const news = await make('/segments', { name: 'News' })
    await make('/segments', { name: 'Empty' })
    const updates = await make('/topics', {
      name: 'Updates',
      default_subscription: 'opt_in',
      description: 'What is new',
      visibility: 'public',
    })
    const offers = await make('/topics', { name: 'Offers', default_subscription: 'opt_out' })
    await make('/contacts', {
      email: 'ada@customer.test',
      first_name: 'Ada',
      last_name: 'Lovelace',
      properties: { plan: 'pro', orders: 7 },
      segments: [news],
      topics: [
        { id: updates, subscription: 'opt_out' },
        { id: offers, subscription: 'opt_in' },
      ],
    })
    await make('/contacts', { email: 'bob@customer.test', unsubscribed: true })
    for (let at = 0; at < 120; at++)
      await make('/contacts', { email: `many${at}@customer.test`, segments: [news] })
    const welcome = await make('/templates', {
      name: 'Welcome',
      alias: 'welcome',
      from: 'Ada <ada@sender.test>',
      subject: 'Hello {{{NAME}}}',
      html: '<p>Hello {{{NAME|there}}}</p>',
      variables: [{ key: 'NAME', type: 'string', fallback_value: 'friend' }],
    })
    await there.call('POST', `/templates/${welcome}/publish`)
    await make('/templates', { name: 'Unfinished', html: '<p>Soon</p>' })
    await make('/broadcasts', {
      name: 'Spring',
      segment_id: news,
      topic_id: updates,
      from: 'Ada <ada@sender.test>',
      subject: 'Spring',
      preview_text: 'It is here',
      reply_to: 'ada@sender.test',
      html: '<p>Hi {{{contact.first_name|you}}}, <a href="{{{UNSUBSCRIBE_URL}}}">leave</a></p>',
    })
    await make('/events', { name: 'signed.up', schema: { plan: 'string' } })
    await make('/automations', {
      name: 'Onboarding',
      status: 'enabled',
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
        { key: 'mail', type: 'send_email', config: { template: { id: welcome }, topic_id: updates } },
        { key: 'wait', type: 'delay', config: { duration: '2 days' } },
        { key: 'add', type: 'add_to_segment', config: { segment_id: news } },
      ],
      connections: [
        { from: 'start', to: 'mail' },
        { from: 'mail', to: 'wait' },
        { from: 'wait', to: 'add' },
      ],
    })
  })
  afterAll(async () => {
    await there.close()
    await world.close()
  })

  const whole = {
    properties: tally(2, 2),
    segments: tally(2, 2),
    topics: tally(2, 2),
    contacts: tally(122, 122),
    templates: tally(2, 2),
    broadcasts: tally(1, 1),
    events: tally(1, 1),
    automations: tally(1, 1),
    failure: null,
  }

  test('--dry-run counts all objects to import and creates nothing', async () => {
    expect(await here.json<Printed>(...bring('--dry-run'))).toMatchObject(whole)
    expect((await here.json<{ data: [] }>('segment', 'list')).data).toEqual([])
    expect(await here.json<Printed>(...bring('--dry-run'))).toMatchObject(whole)
  })

  test('imports the audience, templates, drafts and automations with their references', async () => {
    const printed = await here.json<Printed>(...bring())
    expect(printed).toMatchObject(whole)
    expect(printed.automations!.notes).toEqual([
      { what: 'Onboarding', text: expect.stringContaining('disabled here') as string },
    ])

    const ada = await here.json<object>('contact', 'show', 'ada@customer.test')
    expect(ada).toMatchObject({
      first_name: 'Ada',
      last_name: 'Lovelace',
      unsubscribed: false,
      properties: { plan: { type: 'string', value: 'pro' }, orders: { type: 'number', value: 7 } },
    })
    expect((await here.run('contact', 'show', 'ada@customer.test')).stdout).toMatch(
      /Segments +News\nTopics +Offers \(opt_in\), Updates \(opt_out\)\n/,
    )
    expect(await here.json('contact', 'show', 'bob@customer.test')).toMatchObject({
      unsubscribed: true,
      unsubscribed_by: 'import',
    })
    const { data: segments } = await here.json<{ data: object[] }>('segment', 'list')
    expect(segments).toMatchObject([
      { name: 'Empty', contacts: 0 },
      { name: 'News', contacts: 121 },
    ])
    expect(await here.json('template', 'show', 'welcome')).toMatchObject({
      name: 'Welcome',
      status: 'published',
      subject: 'Hello {{{NAME}}}',
      variables: [{ key: 'NAME', type: 'string', fallback_value: 'friend' }],
    })
    const { data: drafts } = await here.json<{ data: { id: string }[] }>('broadcast', 'list')
    expect(drafts).toMatchObject([{ name: 'Spring', status: 'draft', scheduled_at: null, sent_at: null }])
    expect(await here.json('broadcast', 'show', drafts[0]!.id)).toMatchObject({
      from: 'Ada <ada@sender.test>',
      subject: 'Spring',
    })
    const { data: automations } = await here.json<{ data: { id: string }[] }>('automation', 'list')
    expect(automations).toMatchObject([{ name: 'Onboarding', status: 'disabled' }])

    const audit = await here.json<{ data: { action: string }[] }>('audit', '--limit', '100')
    const count = (action: string) => audit.data.filter((act) => act.action === action).length
    expect(
      ['segment.create', 'topic.create', 'template.create', 'template.publish', 'broadcast.create'].map(
        count,
      ),
    ).toEqual([2, 2, 2, 1, 1])
    expect(['contact.import', 'automation.create', 'event.create'].map(count)).toEqual([1, 1, 1])
    expect(JSON.stringify(audit)).not.toContain('customer.test')
    expect(JSON.stringify(audit)).not.toContain(there.apiKey)
  })

  test('a second run adds nothing and keeps local changes; --overwrite replaces them except opt-outs', async () => {
    await there.call('PATCH', '/contacts/ada@customer.test', { first_name: 'Augusta' })
    await there.call('PATCH', '/contacts/many3@customer.test', { unsubscribed: true })
    const again = await here.json<Printed>(...bring())
    expect(again).toMatchObject({
      segments: tally(2, 0, 2),
      contacts: tally(122, 0, 122, 0, 1),
      templates: tally(2, 0, 2),
      broadcasts: tally(1, 0, 1),
      automations: tally(1, 0, 1),
    })
    expect(await here.json('contact', 'show', 'ada@customer.test')).toMatchObject({ first_name: 'Ada' })
    expect(await here.json('contact', 'show', 'many3@customer.test')).toMatchObject({ unsubscribed: true })

    await there.call('PATCH', '/contacts/many3@customer.test', { unsubscribed: false })
    const { data } = (await there.call<{ data: { id: string; name: string }[] }>('GET', '/topics')).body
    const updates = data.find(({ name }) => name === 'Updates')!.id
    await there.call('PATCH', '/contacts/ada@customer.test/topics', [{ id: updates, subscription: 'opt_in' }])
    const forced = await here.json<Printed>(...bring('--overwrite'))
    expect(forced).toMatchObject({ contacts: tally(122, 0, 122, 0, 122), templates: tally(2, 0, 2, 0, 2) })
    expect(await here.json('contact', 'show', 'ada@customer.test')).toMatchObject({ first_name: 'Augusta' })
    expect(await here.json('contact', 'show', 'many3@customer.test')).toMatchObject({ unsubscribed: true })
    // An opt-out here is never lifted.
    expect((await here.run('contact', 'show', 'ada@customer.test')).stdout).toContain('Updates (opt_out)')
  })
})

describe('import from the hosted service', () => {
  let hosted: HostedWorld
  let here: Place
  beforeAll(async () => {
    hosted = await startHosted()
  })
  afterAll(() => hosted.close())
  beforeEach(async () => {
    here = await place(hosted.key)
    hosted.instead = () => undefined
    hosted.content = {}
    hosted.asked.length = 0
  })
  const bring = (only: string, ...args: string[]): Promise<Run> =>
    here.run('import', '--from', hosted.url, '--key-file', here.key, '--only', only, '--json', ...args)
  const result = ({ stdout }: Run): Printed => JSON.parse(stdout) as Printed

  test('skips invalid objects and reports the reasons', async () => {
    hosted.content = {
      '/segments': [{ id: 's1', name: 'All' }, { id: 's2' }],
      '/topics': [{ id: 't1', name: 'No default' }],
      '/segments/s1/contacts': [{ id: 'c1' }],
      '/contacts': [
        { id: 'c1', email: 'one@acme.example', first_name: 'One' },
        { id: 'c2', email: 'no address' },
        { id: 'c3', email: null },
        { id: 'c4', email: 'long@acme.example', first_name: 'x'.repeat(300) },
      ],
      '/templates': [{ id: 'p1', name: 'Broken' }],
      '/templates/p1': { id: 'p1', name: 'Broken', html: '<p>{{{not closed</p>' },
      '/broadcasts': [
        { id: 'b1', name: null },
        { id: 'b2', name: 'Lost' },
        { id: 'b3', name: 'With topic' },
      ],
      '/broadcasts/b1': {
        id: 'b1',
        segment_id: 's1',
        from: 'a@acme.example',
        subject: 'Named by its subject',
        html: '<p>Hi</p>',
        status: 'sent',
      },
      '/broadcasts/b2': { id: 'b2', name: 'Lost', segment_id: 's9', from: 'a@acme.example', subject: 'x' },
      '/broadcasts/b3': {
        id: 'b3',
        name: 'With topic',
        segment_id: 's1',
        topic_id: 't1',
        from: 'a@acme.example',
        subject: 'x',
      },
      '/automations': [
        { id: 'a1', name: 'Mails' },
        { id: 'a2', name: 'Future' },
      ],
      '/automations/a1': {
        id: 'a1',
        name: 'Mails',
        steps: [
          { key: 'on', type: 'trigger', config: { event_name: 'x' } },
          { key: 'mail', type: 'send_email', config: { template: { id: 'p1' } } },
        ],
        connections: [{ from: 'on', to: 'mail' }],
      },
      '/automations/a2': { id: 'a2', name: 'Future', steps: [{ key: 'on', type: 'teleport', config: {} }] },
    }
    const run = await bring(AUDIENCE)
    expect(run.code).toBe(1)
    const printed = result(run)
    expect(printed).toMatchObject({
      properties: tally(0, 0),
      segments: tally(2, 1, 0, 1),
      topics: tally(1, 0, 0, 1),
      contacts: tally(4, 1, 0, 3),
      templates: tally(1, 0, 0, 1),
      broadcasts: tally(3, 1, 0, 2),
      automations: tally(2, 0, 0, 2),
    })
    expect(printed.properties!.notes).toEqual([
      { what: '/contact-properties', text: 'the hosted API has no such list for this key' },
    ])
    const reasons = (kind: string) => printed[kind]!.reasons.map(({ what, text }) => `${what}: ${text}`)
    expect(reasons('topics')[0]).toMatch(/^No default: .*default_subscription/)
    expect(reasons('contacts')).toEqual([
      'no address: it is not an email address',
      'a contact: the hosted API returned no ID or address for it',
      expect.stringMatching(/^long@acme.example: .*first_name/),
    ])
    expect(reasons('templates')[0]).toMatch(/^Broken: .*`html`/)
    expect(reasons('broadcasts')).toEqual([
      expect.stringMatching(/^With topic: .*topic_id.*a topic that exists here/),
      expect.stringMatching(/^Lost: .*segment_id.*a segment that exists here/),
    ])
    expect(printed.broadcasts!.notes).toEqual([
      { what: '1 broadcast', text: 'sent in the hosted service; here a draft, which is not sent' },
    ])
    expect(reasons('automations')).toEqual([
      expect.stringMatching(/^Future: .*steps\[0\]\.type/),
      expect.stringMatching(/^Mails: .*steps\[1\]\.config\.template\.id.*a template that exists here/),
    ])
    const { data } = await here.json<{ data: object[] }>('broadcast', 'list')
    expect(data).toMatchObject([{ name: 'Named by its subject', status: 'draft' }])
  })

  test('resumes an interrupted run without requesting the imported contacts again', async () => {
    const people = Array.from({ length: 150 }, (_, at) => ({ id: `c${at}`, email: `p${at}@acme.example` }))
    hosted.content = {
      '/contact-properties': [{ id: 'k1', key: 'city', type: 'string' }],
      '/segments': [],
      '/topics': [{ id: 't1', name: 'News', default_subscription: 'opt_in' }],
      '/contacts': people,
    }
    for (const { id, email } of people) {
      hosted.content[`/contacts/${id}`] = { id, email, properties: { city: `Town ${id}`, unknown: 'x' } }
      hosted.content[`/contacts/${id}/topics`] = [{ id: 't1', name: 'News', subscription: 'opt_in' }]
    }
    hosted.content['/contacts/c140/topics'] = [{ id: 't1', name: 'News', subscription: 'opt_out' }]
    const kinds = 'properties,segments,topics,contacts'
    hosted.instead = (path) => (path === '/contacts/c90' ? { status: 200, raw: '{"properties":' } : undefined)
    const broken = await bring(kinds)
    expect(broken.code).toBe(1)
    expect(broken.stderr).toContain('did not return JSON')
    expect(result(broken).contacts).toMatchObject({ added: 90, notes: [{ what: 'unknown' }] })

    hosted.asked.length = 0
    let slow = 0
    hosted.instead = (path) => {
      if (path !== '/contacts/c100' || slow++ > 0) return undefined
      return { ...refusal(429, 'rate_limit_exceeded', 'Too many.'), headers: { 'retry-after': '1' } }
    }
    const rest = await bring(kinds)
    expect(rest).toMatchObject({ code: 0, stderr: '' })
    expect(result(rest).contacts).toMatchObject(tally(150, 60, 90))
    expect(hosted.asked.filter((one) => /\/contacts\/c\d+\?|\/contacts\/c\d+$/.test(one))).toHaveLength(61)
    expect((await here.run('contact', 'show', 'p140@acme.example')).stdout).toContain('News (opt_out)')
    expect(await here.json('contact', 'show', 'p100@acme.example')).toMatchObject({
      properties: { city: { type: 'string', value: 'Town c100' } },
    })
    expect(hosted.asked.every((one) => one.startsWith('GET '))).toBe(true)
  })

  test('skips objects deleted at the source during the import', async () => {
    hosted.content = {
      '/contact-properties': [{ id: 'k1', key: 'city', type: 'string' }],
      '/contacts': [
        { id: 'c1', email: 'deleted@acme.example' },
        { id: 'c2', email: 'stays@acme.example' },
      ],
      '/contacts/c2': { id: 'c2', properties: { city: 'Oslo' } },
      '/templates': [{ id: 'p1', name: 'Deleted' }],
    }
    const run = await bring('properties,contacts,templates')
    expect(run.code).toBe(1)
    const { contacts, templates } = result(run)
    expect(contacts).toMatchObject({
      there: 2,
      added: 1,
      left_out: 1,
      reasons: [{ what: 'deleted@acme.example', text: 'the hosted API no longer has it' }],
    })
    expect(templates).toMatchObject(tally(1, 0, 0, 1))
    expect(await here.json('contact', 'show', 'stays@acme.example')).toMatchObject({
      properties: { city: { value: 'Oslo' } },
    })
  })
})
