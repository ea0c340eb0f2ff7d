import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { newDomain } from '../../contract/fixtures.ts'
import { installation, posthaste, type Run } from './program.ts'

let config: string
const [going, draft, ready, tested] = [newId(1), newId(2), newId(4), newId(5)]

beforeAll(async () => {
  const made = installation()
  config = made.config
  await run(['setup', '--email', 'owner@sender.test'], 'a long password\n')
  expect(await run(['broadcast', 'list'])).toMatchObject({ code: 0, stdout: 'No broadcasts.\n' })
  const storage = await openSqlite({ dataDir: made.dataDir })
  const { id: teamId } = (await storage.firstTeam({}, 0))!
  const about = { teamId, createdAt: 0 }
  const segmentId = newId(0)
  const segment = { ...about, updatedAt: 0, id: segmentId, name: 'Readers', filter: null }
  await storage.createSegment({ segment, most: 9 }, 0)
  const { domain } = newDomain(teamId, 'sender.test')
  await storage.createDomain({ domain: { ...domain, status: 'verified' }, keys: [] }, 0)
  const texts = { from: 'Ada <ada@sender.test>', replyTo: [], previewText: null, html: null }
  for (const [id, name] of [
    [going, 'Autumn'],
    [draft, 'Winter'],
    [ready, 'Spring'],
    [tested, 'Summer'],
  ] as const) {
    const text = name === 'Spring' ? 'Leave: {{{UNSUBSCRIBE_URL}}}' : 'Hello'
    const content = { ...texts, text, subject: `${name} news` }
    const broadcast = { ...about, id, name, segmentId, exclude: [], topicId: null, content, document: null }
    await storage.createBroadcast({ broadcast }, 0)
  }
  const variant = { fromName: null, subject: 'Other news', previewText: null, body: null }
  const abTest = { share: 20, waitHours: 4, variants: [variant] }
  const change = { content: { abTest } }
  expect(await storage.updateBroadcast({ teamId, id: tested, change }, 0)).toBe('done')
  const [first, second] = [
    { id: newId(0), content: '{}' },
    { id: newId(0), content: '{}' },
  ]
  const starting = { teamId, id: tested, edits: 1, revision: first, variants: [second] }
  expect(await storage.startBroadcast(starting, 0)).toBe('done')
  const revision = { id: newId(0), content: '{}' }
  expect(await storage.startBroadcast({ teamId, id: going, edits: 0, revision }, 0)).toBe('done')
  const held = { google: { count: 12, of: 40 } }
  expect(await storage.holdProviders({ teamId, id: going, held }, 0)).toBe('done')
  await storage.close()
})

const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })

test('lists, shows, pauses, resumes and cancels a broadcast', async () => {
  const status = async () => /^Status +(\w+)$/m.exec((await run(['broadcast', 'show', going])).stdout)?.[1]
  expect((await run(['broadcast', 'list'])).stdout).toMatch(/ queued +0 +\S+\s+Autumn\n/)
  expect((await run(['broadcast', 'list', '--status', 'draft'])).stdout).not.toContain('Autumn')
  expect(await status()).toBe('queued')
  expect(await run(['broadcast', 'pause', going])).toMatchObject({ code: 0, stdout: 'Paused Autumn.\n' })
  expect((await run(['broadcast', 'show', going])).stdout).toMatch(/^Why paused: Somebody paused it\.$/m)
  expect(await status()).toBe('paused')
  expect(await run(['broadcast', 'resume', going])).toMatchObject({ code: 0, stdout: 'Resumed Autumn.\n' })
  expect(await status()).toBe('queued')
  expect((await run(['broadcast', 'show', going])).stdout).toMatch(
    /^Paused for Google: Google refused 12 of the last 40 emails as spam/m,
  )
  const part = ['broadcast', 'resume', going, '--provider', 'google']
  expect(await run(part)).toMatchObject({ code: 0, stdout: 'Resumed Autumn for google.\n' })
  expect((await run(part)).stderr).toContain('This broadcast is not paused for google.')
  const rate = (value: string) => run(['broadcast', 'rate', going, value])
  expect(await rate('500')).toMatchObject({ code: 0, stdout: 'Autumn: at most 500 emails per hour.\n' })
  expect((await run(['broadcast', 'show', going])).stdout).toMatch(/^Emails per hour +at most 500$/m)
  expect(await rate('none')).toMatchObject({ code: 0, stdout: 'Autumn has no rate of its own.\n' })
  expect((await run(['broadcast', 'show', going])).stdout).not.toContain('Emails per hour')
  expect((await rate('0')).stderr).toContain('Expected a whole number from 1 to 1000000, or none.')
  const head =
    'email,contact_id,email_id,status,reason,sent_at,opens,clicks,unsubscribed,bounce_type,variant\n'
  expect(await run(['broadcast', 'export', going])).toMatchObject({ code: 0, stdout: head })
  expect(await run(['broadcast', 'cancel', going])).toMatchObject({ code: 0, stdout: 'Canceled Autumn.\n' })
  expect(await status()).toBe('canceled')
  expect(await rate('5')).toMatchObject({ code: 1, stderr: expect.stringContaining('its rate') as string })
})

test('sends or schedules a draft only if confirmed with --yes', async () => {
  const send = (id: string, ...options: string[]) => run(['broadcast', 'send', id, ...options])
  const state = async () =>
    JSON.parse((await run(['broadcast', 'show', ready, '--json'])).stdout) as Record<string, unknown>
  expect(await send(ready)).toMatchObject({
    code: 1,
    stderr: 'This sends email to all contacts of a segment. Confirm with --yes.\n',
  })
  expect(await state()).toMatchObject({ status: 'draft', scheduled_at: null })
  expect(await send(ready, '--yes', '--at', '2999-01-01T00:00:00Z')).toMatchObject({ code: 1 })
  expect(await state()).toMatchObject({ status: 'draft' })
  expect(await send(ready, '--yes', '--at', 'in 1 hour')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Spring is scheduled for \S+ \S+\.\n$/) as string,
  })
  expect(await state()).toMatchObject({ status: 'scheduled' })
  expect(await send(ready, '--yes')).toMatchObject({
    code: 0,
    stdout: `Sending Spring. Follow it with: posthaste broadcast show ${ready}\n`,
  })
  const { scheduled_at: at } = await state()
  expect(Date.parse(String(at))).toBeLessThanOrEqual(Date.now())
  expect(await send(draft, '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('{{{UNSUBSCRIBE_URL}}}') as string,
  })
})

test('broadcast review shows the problems of a draft, its recipients and the expected duration', async () => {
  const { code, stdout } = await run(['broadcast', 'review', draft])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Recipients: 0 of 0 contacts\n\nblock: /)
  expect(stdout).toMatch(
    /^block: +Nobody would get this broadcast\. Choose another segment, or add contacts to it\.$/m,
  )
  expect(stdout).toMatch(
    /^block: +Nobody could open the unsubscribe link\. Set `http\.public_url` in the configuration\./m,
  )
})

test('rejects pausing a draft, and an unknown broadcast with a hint', async () => {
  expect(await run(['broadcast', 'pause', draft])).toMatchObject({ code: 1 })
  expect(await run(['broadcast', 'show', newId(3)])).toMatchObject({
    code: 1,
    stderr: 'Broadcast not found. See: posthaste broadcast list\n',
  })
  expect(await run(['broadcast', 'list', '--limit', '101'])).toMatchObject({ code: 1 })
})

test('an A/B test is shown with its variants, and its winner can be chosen once', async () => {
  const shown = async () => (await run(['broadcast', 'show', tested])).stdout
  expect(await shown()).toMatch(/^VARIANT +SENT +DELIVERED +CLICKED +UNSUBSCRIBED +COMPLAINED +SUBJECT$/m)
  expect(await shown()).toMatch(/^B +0 +0 +0 +0 +0 +Other news$/m)
  const winner = (id: string, variant: string) => run(['broadcast', 'winner', id, variant])
  expect((await winner(tested, 'E')).stderr).toContain('Allowed choices are A, B, C, D.')
  expect((await winner(tested, 'C')).stderr).toContain('Invalid `variant` field: A, B.')
  expect((await winner(going, 'A')).stderr).toContain('no A/B test that waits for a winner')
  const stdout = 'The rest of Summer gets variant B.\n'
  expect(await winner(tested, 'B')).toMatchObject({ code: 0, stdout })
  expect(await winner(tested, 'A')).toMatchObject({ code: 1 })
  expect(await shown()).toContain('Somebody chose variant B. Clicks: A 0 of 0, B 0 of 0.')
})
