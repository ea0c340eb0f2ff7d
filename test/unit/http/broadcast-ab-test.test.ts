import { afterAll, beforeAll, expect, test } from 'vitest'
import { BLOCK_SAMPLES } from '../document/samples.ts'
import { startApi, type Api } from './harness.ts'

/** Tests how A/B tests of drafts are written, checked and reviewed. */

let api: Api
let segment: string
const made = async (path: string, body: object): Promise<string> => {
  const { status, json } = await api.call('POST', path, body)
  expect([status, json]).toMatchObject([201, {}])
  return (json as { id: string }).id
}
beforeAll(async () => {
  api = await startApi()
  segment = await made('/segments', { name: 'Readers' })
  for (const name of ['ada', 'eva'])
    await made('/contacts', { email: `${name}@customer.example`, segments: [segment] })
  await tracking(true)
})
afterAll(() => api.close())

const tracking = (on: boolean) => api.call('PATCH', `/domains/${api.domain.id}`, { click_tracking: on })
const HTML = '<a href="https://shop.example/">Shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>'
const about = () => ({
  segment_id: segment,
  from: 'Shop <shop@acme.example>',
  subject: 'Spring',
  html: HTML,
})
const draft = (ab_test: object | null, more: object = {}) =>
  made('/broadcasts', { ...about(), ab_test, ...more })
const read = async (id: string) =>
  (await api.call('GET', `/broadcasts/${id}`)).json as Record<string, unknown> & { edits: number }
const OTHER = { subject: 'Summer' }
const SAME = { from_name: null, subject: null, preview_text: null, html: null, text: null, document: null }

test('a draft has no test by default; one can be set, replaced, copied and removed', async () => {
  const id = await draft(null)
  expect(await read(id)).toMatchObject({ ab_test: null, edits: 0 })
  const change = async (body: object) =>
    expect((await api.call('PATCH', `/broadcasts/${id}`, body)).status).toBe(200)
  await change({ ab_test: { variants: [OTHER] } })
  const test20 = { share: 20, wait_hours: 4, variants: [{ ...SAME, variant: 'B', subject: 'Summer' }] }
  expect(await read(id)).toMatchObject({ ab_test: test20, edits: 1, subject: 'Spring' })
  await change({ subject: 'Fall' })
  expect(await read(id)).toMatchObject({ ab_test: test20, edits: 2, subject: 'Fall' })
  const copy = (await api.call('POST', `/broadcasts/${id}/duplicate`)).json as { id: string }
  expect(await read(copy.id)).toMatchObject({ ab_test: test20 })
  const wide = {
    share: 100,
    variants: [{ from_name: 'Eva' }, { html: HTML, text: '' }, { preview_text: '' }],
  }
  await change({ ab_test: wide })
  expect(await read(id)).toMatchObject({
    ab_test: {
      share: 100,
      wait_hours: null,
      variants: [
        { ...SAME, variant: 'B', from_name: 'Eva' },
        { ...SAME, variant: 'C', html: HTML, text: '' },
        { ...SAME, variant: 'D', preview_text: '' },
      ],
    },
  })
  await change({ ab_test: null })
  expect(await read(id)).toMatchObject({ ab_test: null, edits: 4 })
})

test('a version of the draft has its test, and restoring it brings the test back', async () => {
  const id = await draft({ variants: [OTHER] })
  await api.clock.set(api.clock.now() + 3_600_000)
  await api.call('PATCH', `/broadcasts/${id}`, { ab_test: null })
  const { data } = (await api.call('GET', `/broadcasts/${id}/versions`)).json as { data: { id: string }[] }
  expect(data).toHaveLength(2)
  const path = `/broadcasts/${id}/versions/${data[1]!.id}`
  expect((await api.call('GET', path)).json).toMatchObject({ ab_test: { variants: [{ subject: 'Summer' }] } })
  expect((await api.call('POST', `${path}/restore`)).status).toBe(200)
  expect(await read(id)).toMatchObject({ ab_test: { share: 20 } })
  const now = (await api.call('GET', `/broadcasts/${id}/versions`)).json as { data: { id: string }[] }
  await api.call('POST', `/broadcasts/${id}/versions/${now.data[1]!.id}/restore`)
  expect(await read(id)).toMatchObject({ ab_test: null })
})

test('a variant can be made of blocks, whose preheader is its preview text', async () => {
  const document = {
    version: 1,
    preheader: 'Look',
    content: [BLOCK_SAMPLES.paragraph!, BLOCK_SAMPLES.footer!],
  }
  const given = await api.call('POST', '/broadcasts', { ...about(), ab_test: { variants: [{ document }] } })
  expect([given.status, given.json]).toMatchObject([201, {}])
  const found = await read((given.json as { id: string }).id)
  expect(found).toMatchObject({
    ab_test: { variants: [{ preview_text: 'Look', html: expect.stringContaining('<html') as string }] },
  })
})

const refusals: [string, object, string][] = [
  ['a small share', { share: 9, variants: [OTHER] }, '`ab_test.share`'],
  ['a share between 50 and 100', { share: 51, variants: [OTHER] }, '`ab_test.share`'],
  ['a wait of 0 hours', { wait_hours: 0, variants: [OTHER] }, '`ab_test.wait_hours`'],
  ['a wait of 73 hours', { wait_hours: 73, variants: [OTHER] }, '`ab_test.wait_hours`'],
  ['a wait without a rest', { share: 100, wait_hours: 4, variants: [OTHER] }, '`ab_test.wait_hours`'],
  ['no variant', { variants: [] }, '`ab_test.variants`'],
  ['five variants', { variants: [OTHER, OTHER, OTHER, OTHER] }, '3 variants'],
  ['no list of variants', { share: 20 }, '`ab_test.variants`'],
  ['a share that is a word', { share: 'all', variants: [OTHER] }, 'share'],
  ['an empty subject', { variants: [{ subject: '' }] }, '`ab_test.variants[0].subject`'],
  ['two lines of subject', { variants: [OTHER, { subject: 'a\nb' }] }, '`ab_test.variants[1].subject`'],
  [
    'a name with a line break',
    { variants: [{ from_name: 'a\r\nBcc: b' }] },
    '`ab_test.variants[0].from_name`',
  ],
  ['a name with a tag', { variants: [{ from_name: '{{{FIRST_NAME}}}' }] }, '`ab_test.variants[0].from_name`'],
  ['text alone', { variants: [{ text: 'Hi' }] }, '`ab_test.variants[0].text`'],
  ['a broken tag', { variants: [{ html: '<p>{{{a</p>' }] }, '`ab_test.variants[0].html`'],
  ['a broken document', { variants: [{ document: {} }] }, 'document'],
]
test.each(refusals)('%s is refused by name', async (_, ab_test, named) => {
  const answer = await api.call('POST', '/broadcasts', { ...about(), ab_test })
  expect(answer).toMatchObject({ status: 422, json: { message: expect.stringContaining(named) as string } })
})

const unsendable: [string, object, string][] = [
  ['the same as A', { variants: [{ preview_text: '' }] }, '`ab_test.variants[0]`'],
  ['the same as B', { variants: [OTHER, OTHER] }, '`ab_test.variants[1]`'],
  [
    'without a link to count',
    { variants: [{ html: '<a href="{{{UNSUBSCRIBE_URL}}}">x</a>' }] },
    '`ab_test.variants[0].html`',
  ],
  [
    'without an unsubscribe link',
    { variants: [{ html: '<a href="https://a.example/">x</a>' }] },
    '`ab_test.variants[0].html`',
  ],
]
test.each(unsendable)('a variant %s is blocked in the review and when sending', async (_, ab_test, named) => {
  const id = await draft(ab_test)
  const message = expect.stringContaining(named) as string
  expect(await api.call('POST', `/broadcasts/${id}/send`)).toMatchObject({ status: 422, json: { message } })
  expect(await findings(id)).toContainEqual(
    expect.objectContaining({ id: 'ab_test', verdict: 'block', note: message }),
  )
})

interface Finding {
  id: string
  verdict: string
  note: string
  fix: string | null
}
const findings = async (id: string) =>
  ((await api.call('GET', `/broadcasts/${id}/review`)).json as { findings: Finding[] }).findings

test('without click tracking, the test is refused, and the draft without it is not', async () => {
  await tracking(false)
  const id = await draft({ variants: [OTHER] })
  const later = { scheduled_at: 'in 1 hour' }
  const refused = await api.call('POST', `/broadcasts/${id}/send`, later)
  expect(refused).toMatchObject({
    status: 422,
    json: { message: 'Invalid `ab_test` field: a domain that tracks clicks: turn it on for acme.example.' },
  })
  expect(await findings(id)).toContainEqual(expect.objectContaining({ id: 'ab_test', verdict: 'block' }))
  await api.call('PATCH', `/broadcasts/${id}`, { ab_test: null })
  expect((await api.call('POST', `/broadcasts/${id}/send`, later)).status).toBe(200)
  await tracking(true)
})

test('the review says that too few contacts get a variant, and names problems that only a variant has', async () => {
  const html = `<p>{{{contact.shoe_size}}}</p>${HTML}`
  const found = await findings(await draft({ share: 20, variants: [{ html }] }))
  expect(found.find(({ id }) => id === 'ab_test')).toMatchObject({ verdict: 'pass' })
  expect(found.find(({ id }) => id === 'ab_test_size')).toMatchObject({
    verdict: 'attention',
    note: 'About 0 contacts get each variant of the test. Their clicks may say little.',
    fix: 'Test with at least 500 contacts for each variant: with this share, a segment of 5,000.',
  })
  expect(found.map(({ id }) => id)).toContain('tags')
  expect((await findings(await draft(null))).map(({ id }) => id)).not.toContain('ab_test')
  const bare = '<a href="https://shop.example/">x</a>'
  const own = await findings(await draft({ variants: [{ html: bare }] }))
  expect(own).toContainEqual(
    expect.objectContaining({ id: 'unsubscribe_B', note: 'Variant B: The email has no unsubscribe link.' }),
  )
})

test('a test email shows one variant', async () => {
  const id = await draft({ variants: [OTHER] })
  const sendTest = (variant?: string) =>
    api.call('POST', `/broadcasts/${id}/test`, { to: 'ada@customer.example', variant })
  const subjectOf = async (variant?: string) => {
    const { email_ids: ids } = (await sendTest(variant)).json as { email_ids: string[] }
    return ((await api.call('GET', `/emails/${ids[0]!}`)).json as { subject: string }).subject
  }
  expect([await subjectOf(), await subjectOf('B')]).toEqual(['[Test] Spring', '[Test] Summer'])
  expect(await sendTest('C')).toMatchObject({
    status: 422,
    json: { message: 'Invalid `variant` field: A, B.' },
  })
})

test('a winner needs a test that waits for one, a known variant, and the right of the team', async () => {
  const id = await draft({ variants: [OTHER] })
  const choose = (body: object, of = id) => api.call('POST', `/broadcasts/${of}/ab-test/winner`, body)
  expect((await choose({ variant: 'B' })).status).toBe(403)
  expect(await choose({})).toMatchObject({ status: 422, json: { name: 'missing_required_field' } })
  expect(await choose({ variant: 'C' })).toMatchObject({
    status: 422,
    json: { message: 'Invalid `variant` field: A, B.' },
  })
  expect((await choose({ variant: 'A' }, await draft(null))).status).toBe(403)
  expect((await choose({ variant: 'A' }, '0199c0de-0000-7000-8000-000000000000')).status).toBe(404)
  expect((await api.call('POST', `/broadcasts/${id}/send`)).status).toBe(200)
  expect((await choose({ variant: 'B' })).status).toBe(200)
  expect((await choose({ variant: 'A' })).status).toBe(403)
  const { json } = await api.call('GET', `/broadcasts/${id}/results`)
  expect(json).toMatchObject({
    ab_test: { phase: 'decided', winner: 'B', variants: [{ subject: 'Spring' }, { subject: 'Summer' }] },
  })
  const { data } = (await api.call('GET', '/audit?action=broadcast.choose_variant')).json as {
    data: object[]
  }
  expect(data[1]).toMatchObject({
    sentence: expect.stringContaining('chose variant B for the rest of the broadcast') as string,
  })
})
