import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startHosted, type HostedWorld } from '../../world/hosted.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../storage/postgres/cluster.ts'
import { installation, posthaste } from './program.ts'

const KINDS = 'suppressions,properties,segments,topics,contacts,templates,broadcasts,events,automations'

const trigger = { key: 'on', type: 'trigger', config: { event_name: 'signed.up' } }
const steps = [
  trigger,
  { key: 'mail', type: 'send_email', config: { template: { id: 'p1' }, topic_id: 't1' } },
  { key: 'add', type: 'add_to_segment', config: { segment_id: 's1' } },
]
const connections = [
  { from: 'on', to: 'mail' },
  { from: 'mail', to: 'add' },
]
const template = {
  id: 'p1',
  name: 'Welcome',
  alias: 'welcome',
  status: 'published',
  from: 'ada@acme.example',
  html: '<p>{{{NAME}}}</p>',
  variables: [{ key: 'NAME', type: 'string', fallback_value: 'you' }],
}
const broadcast = {
  id: 'b1',
  name: 'Spring',
  status: 'scheduled',
  segment_id: 's1',
  topic_id: 't1',
  from: 'ada@acme.example',
  subject: 'Spring',
  html: '<p>Hi</p>',
}

/** A bit of everything. */
const content = {
  '/suppressions': [{ id: 'x1', email: 'gone@acme.example', origin: 'bounce' }],
  '/contact-properties': [{ id: 'k1', key: 'city', type: 'string' }],
  '/segments': [{ id: 's1', name: 'News' }],
  '/segments/s1/contacts': [{ id: 'c1' }],
  '/topics': [{ id: 't1', name: 'Updates', default_subscription: 'opt_in' }],
  '/contacts': [
    { id: 'c1', email: 'ada@acme.example', first_name: 'Ada' },
    { id: 'c2', email: 'out@acme.example', unsubscribed: true },
  ],
  '/contacts/c1': { id: 'c1', properties: { city: { type: 'string', value: 'London' } } },
  '/contacts/c1/topics': [{ id: 't1', subscription: 'opt_out' }],
  '/contacts/c2': { id: 'c2', properties: {} },
  '/contacts/c2/topics': [],
  '/templates': [{ id: 'p1', name: 'Welcome', alias: 'welcome' }],
  '/templates/p1': template,
  '/broadcasts': [{ id: 'b1', name: 'Spring' }],
  '/broadcasts/b1': broadcast,
  '/events': [{ id: 'e1', name: 'signed.up', schema: { plan: 'string' } }],
  '/automations': [{ id: 'a1', name: 'Onboarding' }],
  '/automations/a1': { id: 'a1', name: 'Onboarding', status: 'enabled', steps, connections },
}

let cluster: Cluster
let hosted: HostedWorld
beforeAll(async () => {
  cluster = await startCluster(findPostgresPrograms(), { safe: true })
  hosted = await startHosted(content)
})
afterAll(async () => {
  await hosted?.close()
  await cluster?.close()
})

describe.each(['sqlite', 'postgres'])('import with %s', (engine) => {
  test('imports all objects once, keeps opt-outs, and leaves broadcasts and automations inactive', async () => {
    const storage =
      engine === 'sqlite' ? '' : `[storage]\nengine = "postgres"\nurl = "${await cluster.createDatabase()}"\n`
    const { config } = installation(`${storage}[dns]\nservers = ["127.0.0.1:9"]\n`)
    const key = join(mkdtempSync(join(tmpdir(), 'posthaste-engines-')), 'key')
    writeFileSync(key, hosted.key)
    const run = (...args: string[]) => posthaste([...args, '--config', config])
    const json = async (...args: string[]): Promise<Record<string, unknown>> => {
      const { code, stdout, stderr } = await run(...args, '--json')
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout) as Record<string, unknown>
    }
    await posthaste(['setup', '--email', 'owner@here.test', '--config', config], {
      input: 'a long password\n',
    })
    const bring = (...args: string[]) =>
      json('import', '--from', hosted.url, '--key-file', key, '--only', KINDS, ...args)
    const counted = (added: number, present: number, updated = 0) => {
      const one = { there: 1, added, present, updated, left_out: 0 }
      const kinds = KINDS.split(',').map((kind) => [kind, one])
      const two = { ...one, there: 2, added: 2 * added, present: 2 * present, updated: 2 * updated }
      return { ...Object.fromEntries(kinds), contacts: two } as object
    }
    expect(await bring('--dry-run')).toMatchObject(counted(1, 0))
    expect(await bring()).toMatchObject(counted(1, 0))
    expect(await bring()).toMatchObject(counted(0, 1))
    expect(await bring('--overwrite')).toMatchObject({
      contacts: { present: 2, updated: 2 },
      templates: { present: 1, updated: 1 },
      broadcasts: { present: 1, updated: 1 },
      automations: { present: 1, updated: 1 },
    })

    expect(await json('contact', 'show', 'ada@acme.example')).toMatchObject({
      first_name: 'Ada',
      properties: { city: { value: 'London' } },
    })
    expect((await run('contact', 'show', 'ada@acme.example')).stdout).toMatch(
      /Segments +News\nTopics +Updates \(opt_out\)\n/,
    )
    expect(await json('contact', 'show', 'out@acme.example')).toMatchObject({ unsubscribed: true })
    expect((await json('broadcast', 'list')).data).toMatchObject([{ name: 'Spring', status: 'draft' }])
    expect((await json('automation', 'list')).data).toMatchObject([
      { name: 'Onboarding', status: 'disabled' },
    ])
    expect((await json('template', 'list')).data).toMatchObject([{ alias: 'welcome', status: 'published' }])
  })
})
