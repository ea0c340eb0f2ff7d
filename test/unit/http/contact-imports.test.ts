import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
let hasRoom = true
beforeAll(async () => {
  api = await startApi({ hasRoom: () => hasRoom })
})
afterAll(() => api.close())

/** How long to wait for the end of an import, in milliseconds. */
const PATIENCE = 30_000

type Json = Record<string, unknown> & { id: string; message: string }

/** Sends a form with a file. */
async function upload(
  path: string,
  content: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, unknown> = {},
): Promise<{ status: number; json: Json }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  form.set('file', new Blob([content]), '../list.csv')
  const headers = { authorization: `Bearer ${api.full}` }
  const response = await fetch(`${api.url}${path}`, { method: 'POST', body: form, headers })
  return { status: response.status, json: (await response.json()) as Json }
}

const read = async (path: string): Promise<Json> => (await api.call('GET', path)).json as Json

/** Imports a file. Waits for the end. */
async function imported(content: string, fields: Record<string, unknown> = {}): Promise<Json> {
  const { status, json } = await upload('/contacts/imports', content, fields)
  expect([status, json]).toEqual([201, { object: 'contact_import', id: json.id }])
  return vi.waitFor(async () => {
    const found = await read(`/contacts/imports/${json.id}`)
    expect(found.status).toMatch(/completed|failed/)
    return found
  }, PATIENCE)
}

test('an import without enough disk space shows that it is waiting, and resumes when there is enough', async () => {
  const { json } = await upload('/contacts/imports/preview', 'email\nwait@room.example')
  hasRoom = false
  expect((await api.call('POST', `/contacts/imports/${json.id}/start`, {})).status).toBe(200)
  const waiting = 'The server has too little free disk space. The import goes on when there is more.'
  expect(await read(`/contacts/imports/${json.id}`)).toMatchObject({ completed_at: null, waiting })
  expect((await upload('/contacts/imports', 'email\nno@room.example')).status).toBe(507)
  hasRoom = true
  await vi.waitFor(async () => {
    expect(await read(`/contacts/imports/${json.id}`)).toMatchObject({ status: 'completed', waiting: null })
  }, PATIENCE)
})

test('undoing an import within a day deletes the contacts it created, and keeps those it changed', async () => {
  await api.call('POST', '/contacts', { email: 'known@undo.example' })
  const csv = [
    'email,first_name',
    'known@undo.example,Kim',
    ...Array.from({ length: 501 }, (_, n) => `u${n}@undo.example,U`),
  ]
  const done = await imported(csv.join('\n'))
  const ends = Date.parse(String(done.completed_at)) + 24 * 3_600_000
  expect(Date.parse(String(done.undo_until))).toBe(ends)
  const undo = () => api.call('POST', `/contacts/imports/${done.id}/undo`)
  expect((await undo()).json).toMatchObject({ object: 'contact_import_undone', contacts: 500, done: false })
  expect((await undo()).json).toMatchObject({ contacts: 1, done: true })
  const again = await undo()
  expect([again.status, (again.json as Json).message]).toEqual([
    409,
    'This import cannot be undone: it has not ended, ended more than 24 hours ago, or was undone already.',
  ])
  expect(await read(`/contacts/imports/${done.id}`)).toMatchObject({ undone: 501, undo_until: null })
  expect(await read('/contacts/known@undo.example')).toMatchObject({ first_name: 'Kim' })
  expect((await api.call('GET', '/contacts/u7@undo.example')).status).toBe(404)
  const nobody = await api.call('POST', `/contacts/imports/${newId(0)}/undo`)
  expect([nobody.status, (nobody.json as Json).message]).toEqual([404, 'Contact import not found'])
})

describe('the rows of an import', () => {
  test('the last row per address wins, empty cells change nothing, and invalid rows are listed with a reason', async () => {
    const csv = [
      'email,first_name,last_name,unsubscribed',
      'ada@rows.example,Ada,Lovelace,',
      '=cmd@@rows.example,x,,',
      'ADA@rows.example,Augusta,,no',
      ',,,',
      `bob@rows.example,${'b'.repeat(300)},,`,
      'carl@rows.example,"Carl, ""C""",,yes',
    ].join('\r\n')
    const done = await imported(csv)
    expect(done).toMatchObject({
      status: 'completed',
      duplicates: 1,
      rejects: 2,
      file_name: 'list.csv',
      unsubscribed_kept: 0,
      counts: { total: 5, created: 2, updated: 0, skipped: 1, failed: 2 },
    })
    expect(await read('/contacts/ada@rows.example')).toMatchObject({
      first_name: 'Augusta',
      last_name: 'Lovelace',
      unsubscribed: false,
      created_by: 'import',
    })
    expect(await read('/contacts/carl@rows.example')).toMatchObject({
      first_name: 'Carl, "C"',
      unsubscribed: true,
      unsubscribed_by: 'import',
    })
    const { text } = await api.call('GET', `/contacts/imports/${done.id}/rejects.csv`)
    expect(text.split('\r\n').slice(0, 2)).toEqual([
      'email,first_name,last_name,unsubscribed,line,reason',
      "'=cmd@@rows.example,x,,,3,not an email address",
    ])
  })

  test('rows never lift an opt-out, even of a deleted contact, and with skip change no existing contact', async () => {
    await api.call('POST', '/contacts', { email: 'out@optout.example', unsubscribed: true })
    await api.call('POST', '/contacts', { email: 'gone@optout.example', unsubscribed: true })
    await api.call('DELETE', '/contacts/gone@optout.example')
    const csv =
      'email,first_name,unsubscribed\nout@optout.example,Out,false\ngone@optout.example,Gone,false\n'
    expect(await imported(csv)).toMatchObject({
      unsubscribed_kept: 2,
      counts: { total: 2, created: 1, updated: 1, skipped: 0, failed: 0 },
    })
    expect(await read('/contacts/out@optout.example')).toMatchObject({
      unsubscribed: true,
      first_name: 'Out',
    })
    expect(await read('/contacts/gone@optout.example')).toMatchObject({
      unsubscribed: true,
      unsubscribed_by: 'api',
    })
    const again = await imported('email,first_name\nout@optout.example,New\n', { on_conflict: 'skip' })
    expect(again).toMatchObject({ counts: { total: 1, created: 0, updated: 0, skipped: 1, failed: 0 } })
    expect(await read('/contacts/out@optout.example')).toMatchObject({ first_name: 'Out' })
  })
})

test('an import stores its consent note, and the consent log refers to the import', async () => {
  const { id: topic } = (await api.call('POST', '/topics', { name: 'News', default_subscription: 'opt_out' }))
    .json as Json
  const topics = [{ id: topic, subscription: 'opt_in' }]
  const consent = ' Signed up at the fair, May 2026. '
  const done = await imported('email\nagreed@consent.example\n', { topics, consent })
  expect(done).toMatchObject({
    status: 'completed',
    consent: consent.trim(),
    file_sha256: expect.stringMatching(/^[\da-f]{64}$/) as string,
    created_by: expect.stringMatching(/^API key /) as string,
  })
  expect(await read('/contacts/agreed@consent.example/consents')).toMatchObject({
    data: [{ topic_id: topic, subscription: 'opt_in', origin: 'import', source_id: done.id }],
  })
  expect((await imported('email\nsilent@consent.example\n')).consent).toBeNull()
  const long = await upload('/contacts/imports', 'email\nx@consent.example\n', { consent: 'x'.repeat(501) })
  expect([long.status, long.json.message]).toEqual([422, expect.stringContaining('consent')])
})

describe('the preview of an import', () => {
  test('the preview detects separator, encoding and columns, and its summary matches the import', async () => {
    await api.call('POST', '/contacts', { email: 'known@preview.example', unsubscribed: true })
    const text =
      'E-Mail;Vorname;Müller;Punkte\nknown@preview.example;Käthe;x;1\nnew@preview.example;Jörg;y;2\nnew@preview.example;Jörg;z;3\nkaputt;;;\n'
    const { status, json } = await upload(
      '/contacts/imports/preview',
      Uint8Array.from(Buffer.from(text, 'latin1')),
    )
    expect(status).toBe(201)
    expect(json).toMatchObject({
      object: 'contact_import_preview',
      encoding: 'windows-1252',
      separator: ';',
      service: null,
      column_map: {
        email: 'E-Mail',
        first_name: 'Vorname',
        last_name: null,
        unsubscribed: null,
        properties: {
          muller: { column: 'Müller', type: 'string' },
          punkte: { column: 'Punkte', type: 'number' },
        },
      },
    })
    expect((json.rows as string[][])[0]).toEqual(['known@preview.example', 'Käthe', 'x', '1'])
    expect(await read(`/contacts/imports/${json.id}/preview`)).toEqual(json)
    const settings = { column_map: json.column_map }
    const summary = await api.call('POST', `/contacts/imports/${json.id}/summary`, settings)
    const counts = { total: 4, created: 1, updated: 1, skipped: 1, failed: 1 }
    expect(summary.json).toMatchObject({
      counts,
      unsubscribed_kept: 1,
      unsubscribed_new: 0,
      duplicates: 1,
      new_properties: ['muller', 'punkte'],
      rejects: [{ line: 5, reason: 'not an email address', text: 'kaputt, , , ' }],
    })
    expect((await read('/contact-properties')).data).toEqual([])
    expect((await api.call('POST', `/contacts/imports/${json.id}/start`, settings)).status).toBe(200)
    const done = await vi.waitFor(async () => {
      const found = await read(`/contacts/imports/${json.id}`)
      expect(found.status).toBe('completed')
      return found
    }, PATIENCE)
    expect(done).toMatchObject({ counts, unsubscribed_kept: 1, duplicates: 1 })
    expect(await read('/contacts/new@preview.example')).toMatchObject({
      first_name: 'Jörg',
      properties: { muller: { value: 'z' }, punkte: { value: 3 } },
    })
    expect((await api.call('DELETE', `/contacts/imports/${json.id}`)).status).toBe(409)
  })

  test('the preview reads UTF-8 with a byte order mark, and reads invalid UTF-8 as Windows-1252', async () => {
    const bom = await imported('\ufeffemail,first_name\nbom@rows.example,Zoë\n')
    expect(bom).toMatchObject({ status: 'completed', counts: { created: 1, failed: 0 } })
    expect(await read('/contacts/bom@rows.example')).toMatchObject({ first_name: 'Zoë' })
    const broken = Uint8Array.of(...Buffer.from('email,first_name\nbroken@rows.example,Zo'), 0xeb, 0x0a)
    const { json } = await upload('/contacts/imports/preview', broken)
    expect(json).toMatchObject({ encoding: 'windows-1252', rows: [['broken@rows.example', 'Zoë']] })
  })

  test('the preview recognizes an export from another service, and reads UTF-16', async () => {
    const csv =
      'Email Address\tFirst Name\tMEMBER_RATING\tLEID\tEUID\tUNSUB_TIME\nlé@mc.example\tZoë\t2\t1\t2\t2024-01-02 03:04:05\n'
    const bytes = Uint8Array.from(Buffer.from(`\ufeff${csv}`, 'utf16le'))
    const { json } = await upload('/contacts/imports/preview', bytes)
    expect(json).toMatchObject({
      encoding: 'utf-16le',
      separator: '\t',
      service: 'mailchimp',
      column_map: {
        email: 'Email Address',
        first_name: 'First Name',
        unsubscribed: 'UNSUB_TIME',
        properties: {},
      },
    })
    expect((await api.call('DELETE', `/contacts/imports/${json.id}`)).status).toBe(200)
    expect((await api.call('GET', `/contacts/imports/${json.id}`)).status).toBe(404)
  })
})

const LIST = 'email\na@b.example\n'
/** Encodes ASCII, with a byte order mark. */
const utf32 = (ascii: string): number[] => [
  0xff,
  0xfe,
  0,
  0,
  ...[...Buffer.from(ascii)].flatMap((byte) => [byte, 0, 0, 0]),
]

describe('import files', () => {
  test.each([
    ['an Excel workbook', 'PK\x03\x04xxxx', 'it is an Excel workbook'],
    ['NUL bytes', 'email\na@b.example\0\n', 'control characters'],
    ['an empty file', '', 'it is empty'],
    ['a file without an address column', 'name\nAda\n', 'CSV missing required email column'],
    ['an unclosed quotation mark', '"email\na@b.example\n', 'a quotation mark is not closed'],
    ['an endless first line', `email,${'x'.repeat(1_500_000)}`, 'longer than 1 MB'],
    ['a compressed file', Uint8Array.of(0x1f, 0x8b, 8, 0), 'it is compressed'],
    ['UTF-16 without a byte order mark', Uint8Array.from(Buffer.from(LIST, 'utf16le')), 'control characters'],
    ['UTF-32', Uint8Array.from(utf32(LIST)), 'it is in UTF-32'],
  ])('rejects %s', async (_, content, message) => {
    const { status, json } = await upload('/contacts/imports', content)
    expect([status, json.message]).toEqual([422, expect.stringContaining(message)])
  })

  test('rejects invalid UTF-16 after a UTF-16 byte order mark', async () => {
    const { status, json } = await upload(
      '/contacts/imports',
      Uint8Array.of(0xff, 0xfe, 0x61, 0x00, 0x00, 0xd8),
    )
    expect([status, json.message]).toEqual([422, expect.stringContaining('byte order mark of utf-16le')])
  })

  test('rejects a line of 1 GB before 300 MB are read, and stores no import', async () => {
    const MB = 1024 * 1024
    const boundary = 'x-1'
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\nemail\n`
    let sent = 0
    async function* line() {
      yield Buffer.from(part)
      const piece = Buffer.alloc(MB, 'x')
      for (; sent < 1024; sent++) yield Promise.resolve(piece)
    }
    const headers = {
      authorization: `Bearer ${api.full}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    }
    const request = { method: 'POST', headers, body: line(), duplex: 'half' as const }
    // The response may be lost with the connection. In that case, no more was read either.
    const answer = await fetch(`${api.url}/contacts/imports`, request as unknown as RequestInit).then(
      ({ status }) => status,
      () => 413,
    )
    expect(answer).toBe(413)
    expect(sent).toBeLessThan(300)
    expect(await read('/contacts/imports?status=queued')).toMatchObject({ data: [] })
  }, 120_000)

  test('skips an empty row of a million cells, and imports the other row', async () => {
    const done = await imported(`email\n${','.repeat(1_000_000)}\nok@bomb.example${','.repeat(900_000)}\n`)
    expect(done).toMatchObject({ status: 'completed', counts: { total: 1, created: 1, failed: 0 } })
  })

  test('rejects unknown columns, segments and topics, and fields that are not JSON', async () => {
    const refusal = async (fields: Record<string, unknown>): Promise<string> =>
      (await upload('/contacts/imports', 'email\na@b.example\n', fields)).json.message
    expect(await refusal({ column_map: { email: 'email', first_name: 'Nope' } })).toContain(
      'column_map.first_name',
    )
    expect(await refusal({ column_map: '{' })).toContain('it must be JSON')
    expect(await refusal({ on_conflict: 'merge' })).toContain('on_conflict')
    const id = '00000000-0000-4000-8000-000000000000'
    expect(await refusal({ segments: [{ id }] })).toBe('Audience not found')
    expect(await refusal({ topics: [{ id, subscription: 'opt_in' }] })).toBe('Topic not found')
  })

  test('an import fails with a reason at an overlong row, and keeps the rows before it', async () => {
    const done = await imported(`email\nbefore@long.example\n"${'x\n'.repeat(600_000)}`)
    expect(done).toMatchObject({ status: 'failed', counts: { total: 1, created: 1 } })
    expect(done.error).toContain('in line 3')
  })
})

test('the CSV export of contacts escapes formulas', async () => {
  await api.call('POST', '/contacts', { email: 'evil@export.example', first_name: '=HYPERLINK("x")' })
  const { text } = await api.call('GET', '/contacts/export.csv')
  expect(text).toContain(`evil@export.example,"'=HYPERLINK(""x"")",,false,`)
})
