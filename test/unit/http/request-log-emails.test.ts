import Database from 'better-sqlite3'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hello, startApi, type Answer, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const idOf = ({ json }: Answer) => (json as { id: string }).id
const logged = async ({ headers }: Answer) => {
  const log = (await api.call('GET', `/logs/${headers.get('x-request-id')!}`)).json
  return (log as { request_body: Record<string, unknown> }).request_body
}

/** Counts occurrences of a phrase in the database, in all columns of all rows. */
function occurrences(phrase: string): number {
  const db = new Database(join(api.dataDir, 'posthaste.db'), { readonly: true })
  const tables = db.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[]
  const rows = tables.flatMap((name) => db.prepare(`select * from "${name}"`).raw().all() as unknown[][])
  db.close()
  const texts = rows
    .flat()
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
  return texts.join('\n').split(phrase).length - 1
}

const many = { ...hello, html: '<p>heron in html</p>\n', text: 'heron in text' }

test('the content of an email is stored once, and shown in the email and the request log', async () => {
  const sent = await api.call('POST', '/emails', many)
  expect(await logged(sent)).toEqual(many)
  expect((await api.call('GET', `/emails/${idOf(sent)}`)).json).toMatchObject({
    html: many.html,
    text: many.text,
  })
  expect([occurrences('heron in html'), occurrences('heron in text')]).toEqual([1, 1])
})

test('a long text is truncated in the log, for sent emails and rejected requests alike', async () => {
  const html = 'é'.repeat(3000)
  const sent = await api.call('POST', '/emails', { ...hello, html, text: '' })
  const refused = await api.call('POST', '/emails', { ...hello, html, to: 'nobody' })
  const cut = `${'é'.repeat(2048)}[cut: 952 more characters]`
  expect(await logged(sent)).toEqual({ ...hello, html: cut, text: '' })
  expect(await logged(refused)).toMatchObject({ html: cut })
})

test('the log of a batch shows the content of its emails up to the size limit', async () => {
  const long = 'words '.repeat(1000)
  const batch = Array.from({ length: 9 }, (_, n) => ({ ...hello, text: `${n} ${long}` }))
  const { data } = (await logged(await api.call('POST', '/emails/batch', batch))) as { data: object[] }
  const texts = data.map((element) => (element as { text: string }).text)
  expect(texts.map((text) => text.slice(0, 6))).toEqual([
    '0 word',
    '1 word',
    '2 word',
    '3 word',
    ...Array<string>(5).fill('[cut: '),
  ])
  expect(texts[3]).toMatch(/\[cut: \d+ more characters\]$/)
  expect(texts.at(-1)).toBe('[cut: shown with the email itself]')
  expect(data.map((element) => Object.keys(element))).toEqual(batch.map((element) => Object.keys(element)))
})

test('the log keeps a rejected element of a batch unchanged, even if it resembles a stored one', async () => {
  const known = idOf(await api.call('POST', '/emails', hello))
  const bad = { ...hello, '[email]': known, html: true, text: 'a bittern' }
  const headers = { 'x-batch-validation': 'permissive' }
  const sent = await api.call('POST', '/emails/batch', [bad, many], headers)
  expect((sent.json as { data: unknown[] }).data).toHaveLength(1)
  expect(await logged(sent)).toEqual({ data: [bad, many] })
})

test('the log keeps a request body unchanged if no email was created from it', async () => {
  const id = idOf(await api.call('POST', '/emails', hello))
  const sent = await api.call('POST', `/emails/${id}/resend`, { html: 'a bittern' })
  expect(sent.status).toBe(200)
  expect(await logged(sent)).toEqual({ html: 'a bittern' })
})

test('the log shows that the content is no longer stored', async () => {
  const sent = await api.call('POST', '/emails', { ...many, scheduled_at: 'in 1 hour' })
  await api.call('POST', `/emails/${idOf(sent)}/cancel`)
  const before = api.clock.now() + 3_600_000
  await api.storage.purgeBodies({ before, most: 1000 }, api.clock.now())
  const gone = '[removed: the content of this email is no longer stored]'
  expect(await logged(sent)).toEqual({ ...many, scheduled_at: 'in 1 hour', html: gone, text: gone })
})
