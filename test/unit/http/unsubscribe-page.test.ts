import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { join } from './people.ts'
import { ask, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** Returns the German page of someone who isn't a contact. */
async function germanPage(): Promise<string> {
  const person = { contactId: null, address: 'ada@customer.example', topicId: null, sourceId: null }
  const token = api.tokens.sign({ teamId: api.teamId, ...person })
  return (await ask(`${api.url}/u/${token}`, 'GET', undefined, { 'accept-language': 'de' })).text
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the settings of the unsubscribe page', () => {
  test('the settings of the page can be changed in part and reset, and the page shows them', async () => {
    const read = async () => (await api.call('GET', '/unsubscribe-page')).json
    await api.call('PATCH', '/unsubscribe-page', {
      words: { de: { title: ' Tschüss? ', text: null } },
      accent_color: '#B3261E',
      logo: PIXEL,
      postal_address: 'Acme\r\n1 Main St',
    })
    expect(await read()).toMatchObject({
      object: 'unsubscribe_page',
      words: { de: { title: 'Tschüss?', text: null } },
      background_color: '#ffffff',
      accent_color: '#b3261e',
      logo: PIXEL,
      postal_address: 'Acme\n1 Main St',
      default_language: 'en',
    })
    const text = await germanPage()
    expect(text).toContain('<h1>Tschüss?</h1>')
    expect(text).toContain(`<img src="${PIXEL}" alt="Acme">`)
    expect(text).toContain('Acme\n1 Main St</address>')
    expect(text).toContain('--accent:#b3261e')
    const cleared = { words: { de: null }, accent_color: '#4353d6', logo: null, postal_address: '' }
    await api.call('PATCH', '/unsubscribe-page', cleared)
    expect(await read()).toMatchObject({ words: {}, logo: null, postal_address: null })
  })

  test.each([
    [
      { text_color: '#999999' },
      '`text_color` field: a color with a contrast of at least 4.5:1 to the background',
    ],
    [{ accent_color: '#ffff00' }, '`accent_color` field: a color with a contrast of at least 3:1'],
    [{ background_color: '#000000' }, '`text_color` field: a color with a contrast'],
    [{ background_color: 'red;}' }, '`background_color` field: a color such as `#1b1c1f`'],
    [{ logo: 'data:image/svg+xml;base64,PHN2Zz4=' }, '`logo` field: a PNG, JPEG, GIF or WebP image'],
    [{ logo: 'https://acme.example/logo.png' }, '`logo` field: a PNG'],
    [{ logo: `data:image/png;base64,${'A'.repeat(100)}` }, '`logo` field: a PNG'],
    [{ words: { tlh: { title: 'x', text: null } } }, '`words` field: languages: en, de, fr, es'],
    [
      { words: { en: { title: 'x'.repeat(101), text: null } } },
      '`words.en.title` field: at most 100 characters',
    ],
    [{ postal_address: 'a\u0000b' }, '`postal_address` field: at most 300 characters'],
  ])('rejects the page settings %j', async (body, message) => {
    const before = (await api.call('GET', '/unsubscribe-page')).json
    const { status, json } = await api.call('PATCH', '/unsubscribe-page', body)
    expect([status, (json as { message: string }).message]).toEqual([422, expect.stringContaining(message)])
    expect((await api.call('GET', '/unsubscribe-page')).json).toEqual(before)
  })

  test('viewers can read the page settings, developers can change them, sending keys cannot, and changes are audited', async () => {
    const as = async (role: 'viewer' | 'developer', method: string, body?: unknown) =>
      ask(`${api.url}/unsubscribe-page`, method, body, {
        cookie: await join(api, { role }),
        'x-requested-with': 'dashboard',
        'sec-fetch-site': 'same-origin',
      })
    expect((await as('viewer', 'GET')).status).toBe(200)
    expect((await as('viewer', 'PATCH', { postal_address: 'x' })).status).toBe(403)
    expect((await as('developer', 'PATCH', { postal_address: 'Audited St' })).status).toBe(200)
    const sending = { authorization: `Bearer ${api.sending}` }
    expect((await api.call('GET', '/unsubscribe-page', undefined, sending)).status).toBe(401)
    const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 1 }, api.clock.now())
    expect(items[0]).toMatchObject({
      action: 'unsubscribe_page.update',
      actorKind: 'user',
      before: { postal_address: null },
      after: { postal_address: 'Audited St' },
    })
  })
})
