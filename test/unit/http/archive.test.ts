import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { makeTeam } from '../../contract/fixtures.ts'
import { ask, startApi, type Answer, type Api } from './harness.ts'

/** Tests the settings of public archives, their pages and their feeds. */

const ORIGIN = 'https://links.acme.example'
const UNSUBSCRIBE = '<a class="x" href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>'

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
  await made('/contact-properties', { key: 'city', type: 'string', fallback_value: 'your city' })
  await made('/contacts', { email: 'ada@reader.example', first_name: 'Ada', segments: [segment] })
  await set({ status: 'enabled', slug: 'acme' })
})
afterAll(() => api.close())

interface ArchiveJson {
  url: string | null
  feed_url: string | null
  updated_at: string
  [name: string]: unknown
}
const set = async (body: object): Promise<ArchiveJson> => {
  const { status, json } = await api.call('PATCH', '/archive', body)
  expect([status, json]).toMatchObject([200, { object: 'archive' }])
  return json as ArchiveJson
}
const draft = (more: object = {}) =>
  made('/broadcasts', {
    segment_id: segment,
    from: 'Shop <shop@acme.example>',
    subject: 'Spring',
    html: `<p>Books</p>${UNSUBSCRIBE}`,
    archive: true,
    ...more,
  })
/** Creates a broadcast and sends it, each a minute after the one before. */
async function sent(more: object = {}): Promise<string> {
  const id = await draft(more)
  await api.clock.set(api.clock.now() + 60_000)
  expect(await api.call('POST', `/broadcasts/${id}/send`)).toMatchObject({ status: 200 })
  await end(id)
  return id
}
async function end(id: string): Promise<void> {
  const ending = { id, was: 'queued', status: 'sent', problem: null } as const
  expect(await api.storage.endBroadcast(ending, api.clock.now())).toBe(true)
}
const publish = (id: string, archive: boolean) => api.call('PATCH', `/broadcasts/${id}`, { archive })
const visit = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  ask(`${api.url}${path}`, method, undefined, headers)
const statusOf = async (path: string): Promise<number> => (await visit(path)).status
/** Returns the email of a broadcast as strangers see it. */
const contentOf = async (id: string): Promise<string> => {
  const { status, text } = await visit(`/a/acme/${id}/content`)
  expect(status).toBe(200)
  return text
}

describe('the settings', () => {
  test('change in parts, and name the URLs while it is enabled', async () => {
    expect((await api.call('GET', '/archive')).json).toMatchObject({ object: 'archive', slug: 'acme' })
    const changed = await set({ title: ' News & more ', description: 'One.\r\nTwo.', indexed: false })
    expect(changed).toMatchObject({
      status: 'enabled',
      title: 'News & more',
      description: 'One.\nTwo.',
      domain: null,
      form_id: null,
      indexed: false,
      url: `${ORIGIN}/a/acme`,
      feed_url: `${ORIGIN}/a/acme/feed.xml`,
    })
    expect(await set({ status: 'disabled' })).toMatchObject({ slug: 'acme', url: null, feed_url: null })
    expect(await set({ status: 'enabled', title: '', description: null, indexed: true })).toMatchObject({
      title: null,
      description: null,
    })
  })

  test.each([
    [{ slug: 'a' }, 422, '`slug`'],
    [{ slug: 'Acme' }, 422, '`slug`'],
    [{ slug: 'acme--news' }, 422, '`slug`'],
    [{ slug: '../x' }, 422, '`slug`'],
    [{ slug: 'x'.repeat(51) }, 422, '`slug`'],
    [{ title: 'x'.repeat(101) }, 422, '`title`'],
    [{ title: 'a\nb' }, 422, '`title`'],
    [{ description: 'a\u0000' }, 422, '`description`'],
    [{ status: 'on' }, 422, '`status`'],
    [{ indexed: 'yes' }, 422, '`indexed`'],
    [{ domain: 'other.example' }, 404, 'Domain not found'],
    [{ form_id: newId(0) }, 404, 'Form not found'],
    [{ form_id: 'x' }, 422, '`form_id`'],
  ])('are refused with %j', async (body, status, words) => {
    const answer = await api.call('PATCH', '/archive', body)
    expect([answer.status, (answer.json as { message: string }).message]).toEqual([
      status,
      expect.stringContaining(words),
    ])
  })

  test('the slug of another team is refused, and one is made from the name of the team', async () => {
    const { team } = await makeTeam(api.storage)
    const others = { teamId: team.id, change: { slug: 'theirs', status: 'enabled' } } as const
    await api.storage.updateArchive(others, api.clock.now())
    const answer = await api.call('PATCH', '/archive', { slug: 'theirs' })
    const message = 'The archive of another team already has the slug `theirs`.'
    expect([answer.status, answer.json]).toMatchObject([409, { message }])
    const fresh = await makeTeam(api.storage)
    await api.storage.updateArchive({ teamId: fresh.team.id, change: { slug: 'archive' } }, 0)
    const third = (await makeTeam(api.storage)).team.id
    await api.storage.renameTeam({ id: third, name: 'Éclair & Söhne' }, 0)
    const enabled = await api.archive.update({ teamId: third, input: { status: 'enabled' } })
    expect(enabled).toMatchObject({ slug: 'eclair-sohne', url: `${ORIGIN}/a/eclair-sohne` })
    const fourth = (await makeTeam(api.storage)).team.id
    await api.storage.renameTeam({ id: fourth, name: '日本' }, 0)
    expect(await api.archive.update({ teamId: fourth, input: { status: 'enabled' } })).toMatchObject({
      slug: 'archive-2',
    })
  })
})

describe('a broadcast', () => {
  test('appears once it is sent, and disappears at once when it is withdrawn or the archive is disabled', async () => {
    const id = await draft({ subject: 'Appears' })
    const [page, content] = [`/a/acme/${id}`, `/a/acme/${id}/content`]
    const listed = async () => (await visit('/a/acme')).text.includes('Appears')
    const fed = async () => (await visit('/a/acme/feed.xml')).text.includes(id)
    const found = async () => (await api.call('GET', `/broadcasts/${id}`)).json
    expect(await found()).toMatchObject({ archive: true, archive_url: null })
    expect([await statusOf(page), await statusOf(content), await listed(), await fed()]).toEqual([
      404,
      404,
      false,
      false,
    ])
    expect((await api.call('POST', `/broadcasts/${id}/send`)).status).toBe(200)
    // Its emails may link to the page.
    expect([await statusOf(page), await listed(), await fed()]).toEqual([200, false, false])
    await end(id)
    expect(await found()).toMatchObject({ archive: true, archive_url: `${ORIGIN}${page}` })
    expect([await statusOf(page), await statusOf(content), await listed(), await fed()]).toEqual([
      200,
      200,
      true,
      true,
    ])
    expect((await publish(id, false)).status).toBe(200)
    expect(await found()).toMatchObject({ archive: false, archive_url: null, status: 'sent' })
    expect([await statusOf(page), await statusOf(content), await listed(), await fed()]).toEqual([
      404,
      404,
      false,
      false,
    ])
    await publish(id, true)
    expect(await statusOf(page)).toBe(200)
    await set({ status: 'disabled' })
    for (const path of ['/a/acme', '/a/acme/feed.xml', page, content]) expect(await statusOf(path)).toBe(404)
    await set({ status: 'enabled' })
    expect(await statusOf(page)).toBe(200)
  })

  test('is published only when asked, and a copy is not published', async () => {
    const plain = await draft({ archive: undefined })
    expect((await api.call('GET', `/broadcasts/${plain}`)).json).toMatchObject({ archive: false })
    const id = await sent({ subject: 'Original' })
    const copy = (await api.call('POST', `/broadcasts/${id}/duplicate`)).json as { id: string }
    expect((await api.call('GET', `/broadcasts/${copy.id}`)).json).toMatchObject({ archive: false })
    expect((await api.call('PATCH', `/broadcasts/${id}`, { archive: 'yes' })).status).toBe(422)
  })

  test('shows fallbacks, and nothing of a recipient', async () => {
    const id = await sent({
      subject: 'Hello {{{FIRST_NAME|reader}}} in {{{city}}}{{{LAST_NAME}}}',
      preview_text: 'For {{{contact.first_name|you}}}',
      html: `<p>Dear {{{FIRST_NAME|reader}}}, {{{contact.email}}} in {{{contact.city}}}</p>
        <a href="https://acme.example/?who={{{EMAIL}}}">Shop</a> ${UNSUBSCRIBE} <a href='{{{ RESEND_UNSUBSCRIBE_URL }}}&x=1'>Leave</a>`,
      text: 'Leave: {{{UNSUBSCRIBE_URL}}}',
    })
    const content = await contentOf(id)
    expect(content).toContain('<p>Dear reader,  in your city</p>')
    expect(content).toContain('<a href="https://acme.example/?who=">Shop</a>')
    expect(content).toContain('<a class="x">Unsubscribe</a> <a>Leave</a>')
    for (const text of ['Ada', 'ada@', '/u/', '/l/', '/o/', '{{{']) expect(content).not.toContain(text)
    const list = (await visit('/a/acme')).text
    expect(list).toContain('Hello reader in your city')
    expect(list).toContain('<p>For you</p>')
  })

  test('text without HTML is shown as text', async () => {
    const id = await sent({ html: null, text: 'Hi <b>{{{FIRST_NAME|you}}}</b>\n{{{UNSUBSCRIBE_URL}}}' })
    expect(await contentOf(id)).toContain('Hi &lt;b&gt;you&lt;/b&gt;')
  })

  test('of another team is not in this archive, and its old URL leads to the new one', async () => {
    const id = await sent({ subject: 'Ours' })
    const { team } = await makeTeam(api.storage)
    const change = { slug: 'neighbor', status: 'enabled' } as const
    await api.storage.updateArchive({ teamId: team.id, change }, 0)
    expect((await visit('/a/neighbor')).text).not.toContain('Ours')
    expect((await visit('/a/neighbor/feed.xml')).text).not.toContain(id)
    const other = await visit(`/a/neighbor/${id}`)
    expect([other.status, other.headers.get('location')]).toEqual([302, `/a/acme/${id}`])
    await set({ slug: 'acme-2' })
    expect((await visit(`/a/acme/${id}`)).headers.get('location')).toBe(`/a/acme-2/${id}`)
    expect(await statusOf('/a/acme')).toBe(404)
    await set({ slug: 'acme' })
    for (const path of [`/a/acme/${newId(0)}`, '/a/acme/x', '/a/nobody', `/a/acme/${id}/other`, '/a/'])
      expect([path, await statusOf(path)]).toEqual([path, 404])
  })
})

describe('a page', () => {
  test('escapes everything from teams, runs nothing and loads only images', async () => {
    const evil = '</title><script>alert(1)</script>"\'&'
    const html = `<script>alert(2)</script><form action="https://evil.example"></form><img src="https://acme.example/a.png">${UNSUBSCRIBE}`
    const id = await sent({ subject: evil, preview_text: evil, html })
    await set({ title: evil, description: evil })
    for (const path of ['/a/acme', `/a/acme/${id}`]) {
      const page = await visit(path)
      expect(page.text).not.toContain('<script')
      expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;')
      const policy = page.headers.get('content-security-policy')!
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy.includes("frame-src 'self'")).toBe(path !== '/a/acme')
      expect(page.headers.getSetCookie()).toEqual([])
    }
    const page = await visit(`/a/acme/${id}`)
    expect(page.text).toContain(' sandbox="allow-popups allow-popups-to-escape-sandbox"')
    expect(page.text).toContain(` src="/a/acme/${id}/content"`)
    const content = await visit(`/a/acme/${id}/content`)
    const policy = content.headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'; img-src data: https: http:;")
    expect(policy).toContain("form-action 'none'")
    expect(policy).toMatch(/sandbox allow-popups allow-popups-to-escape-sandbox$/)
    expect(policy).not.toContain('script-src')
    expect(content.headers.get('x-frame-options')).toBe('SAMEORIGIN')
    expect(content.headers.get('x-robots-tag')).toBe('noindex, nofollow')
    await set({ title: null, description: null })
  })

  test('links to the sign-up form while it is enabled, and to the feed', async () => {
    const form = await made('/forms', { name: 'Newsletter', from: 'Acme <news@acme.example>' })
    await set({ form_id: form })
    expect((await visit('/a/acme')).text).toContain(`<a href="/f/${form}" class="main">Subscribe</a>`)
    await api.call('PATCH', `/forms/${form}`, { status: 'disabled' })
    const { text } = await visit('/a/acme', { 'accept-language': 'de' })
    expect(text).not.toContain('/f/')
    expect(text).toContain('<html lang="de">')
    expect(text).toContain(`type="application/atom+xml" title="Acme" href="${ORIGIN}/a/acme/feed.xml"`)
    await api.call('DELETE', `/forms/${form}`)
    expect(await statusOf('/a/acme')).toBe(200)
    await set({ form_id: '' })
  })

  test('search engines may list the first page and broadcasts, if the team wants that', async () => {
    const id = await sent()
    const robots = async (path: string) => {
      const { headers, text } = await visit(path)
      return [headers.get('x-robots-tag') !== null, text.includes('<meta name="robots"')]
    }
    expect(await robots('/a/acme')).toEqual([false, false])
    expect(await robots(`/a/acme/${id}`)).toEqual([false, false])
    await set({ indexed: false })
    expect(await robots('/a/acme')).toEqual([true, true])
    expect(await robots(`/a/acme/${id}`)).toEqual([true, true])
    await set({ indexed: true })
  })

  test('has 20 broadcasts, and a cursor for the next ones', async () => {
    for (let n = 0; n < 22; n++) await sent({ subject: `Number ${n}.` })
    const subjects = (text: string) => [...text.matchAll(/Number (\d+)\./g)].map(([, n]) => Number(n))
    const first = (await visit('/a/acme')).text
    expect(subjects(first)).toEqual(Array.from({ length: 20 }, (_, at) => 21 - at))
    const next = /href="(\/a\/acme\?after=[^"]+)" rel="next"/.exec(first)![1]!
    const second = await visit(next)
    expect(subjects(second.text)).toEqual([1, 0])
    expect(second.text).toContain('<a href="/a/acme">Newest</a>')
    expect(second.headers.get('x-robots-tag')).toBe('noindex, nofollow')
    for (const after of ['x', '', `zzzzzzzzzzz.${newId(0)}`, 'a&after=b'])
      expect([after, await statusOf(`/a/acme?after=${after}`)]).toEqual([after, 404])
  })

  test('is sent again only when it changed', async () => {
    const id = await sent()
    for (const path of ['/a/acme', `/a/acme/${id}`, `/a/acme/${id}/content`, '/a/acme/feed.xml']) {
      const page = await visit(path)
      expect(page.headers.get('cache-control')).toBe('public, no-cache')
      const tag = page.headers.get('etag')!
      const known = await visit(path, { 'if-none-match': tag })
      expect([path, known.status, known.text]).toEqual([path, 304, ''])
      expect((await visit(path, { 'if-none-match': '"other"' })).status).toBe(200)
      expect(await visit(path, {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
    }
    const feed = await visit('/a/acme/feed.xml')
    const since = feed.headers.get('last-modified')!
    expect((await visit('/a/acme/feed.xml', { 'if-modified-since': since })).status).toBe(304)
    await sent()
    expect((await visit('/a/acme/feed.xml', { 'if-modified-since': since })).status).toBe(200)
    await publish(id, false)
    const gone = await visit(`/a/acme/${id}`, { 'if-none-match': '*' })
    expect([gone.status, gone.headers.get('cache-control')]).toEqual([404, 'no-store'])
  })
})

describe('the feed', () => {
  test('is an Atom feed with absolute URLs, whatever the subject', async () => {
    const subject = 'A ]]> <b> & \u{1f600}'
    const id = await sent({ subject, preview_text: 'Zero\u0007\ufffewidth', html: `<p>x</p>${UNSUBSCRIBE}` })
    await set({ title: ']]>\u2060 & <News>', description: 'About' })
    const { headers, text } = await visit('/a/acme/feed.xml')
    expect(headers.get('content-type')).toBe('application/atom+xml; charset=utf-8')
    expect(text).toMatch(
      /^<\?xml version="1\.0" encoding="utf-8"\?>\n<feed xmlns="http:\/\/www\.w3\.org\/2005\/Atom">/,
    )
    expect(text).toContain(`<id>urn:uuid:${id}</id>\n<title>A ]]&gt; &lt;b&gt; &amp; \u{1f600}</title>`)
    expect(text).toContain('<summary>Zero width</summary>')
    expect(text).toContain(`href="${ORIGIN}/a/acme/${id}"/>`)
    expect(text).toContain(`<link rel="self" type="application/atom+xml" href="${ORIGIN}/a/acme/feed.xml"/>`)
    expect(text).toContain(`<id>urn:uuid:${api.teamId}</id>`)
    expect(text).toContain('<author><name>Acme</name></author>')
    expect(text).toMatch(/<published>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z<\/published>/)
    // XML 1.0 §2.2: no control characters but tab and line ends, and no U+FFFE.
    expect(text).not.toMatch(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/u)
    await set({ title: null, description: null })
  })
})

describe('the link to the page', () => {
  const LINK = '<a href="{{{POSTHASTE_ARCHIVE_URL}}}">Read it online</a>'
  const noteOf = async (id: string) => {
    const { json } = await api.call('GET', `/broadcasts/${id}/review`)
    return (json as { findings: { id: string; note: string }[] }).findings.find((one) => one.id === 'archive')
      ?.note
  }
  const frozen = async (id: string) => {
    const { revisionId } = (await api.storage.getBroadcast({ teamId: api.teamId, id }, 0))!
    return JSON.parse((await api.storage.getRevision({ id: revisionId! }, 0))!) as {
      archiveUrl: string | null
    }
  }

  test('is that of the broadcast, if it is published when sending begins', async () => {
    const html = `${LINK}${UNSUBSCRIBE}`
    const id = await draft({ html, subject: 'Link' })
    expect(await noteOf(id)).toBeUndefined()
    const tags = (await api.call('GET', `/broadcasts/${id}/review`)).json as { tags: unknown[] }
    expect(tags.tags).toEqual([])
    expect((await api.call('POST', `/broadcasts/${id}/send`)).status).toBe(200)
    expect(await frozen(id)).toMatchObject({ archiveUrl: `${ORIGIN}/a/acme/${id}` })
    await end(id)
    expect(await contentOf(id)).toContain(`<a href="${ORIGIN}/a/acme/${id}">Read it online</a>`)
  })

  test('is empty otherwise, or the fallback, and the review says so', async () => {
    const html = `${LINK}<a href="{{{POSTHASTE_ARCHIVE_URL|https://acme.example/}}}">Or here</a>${UNSUBSCRIBE}`
    const id = await draft({ html, subject: 'No link', archive: false })
    expect(await noteOf(id)).toBe(
      'The link {{{POSTHASTE_ARCHIVE_URL}}} would be empty: this broadcast won’t be in the public archive.',
    )
    expect((await api.call('POST', `/broadcasts/${id}/send`)).status).toBe(200)
    expect(await frozen(id)).toMatchObject({ archiveUrl: null })
    await end(id)
    await publish(id, true)
    const content = await contentOf(id)
    expect(content).toContain('<a>Read it online</a><a href="https://acme.example/">Or here</a>')
  })

  test('no property or variable can have its name', async () => {
    const property = { key: 'POSTHASTE_ARCHIVE_URL', type: 'string' }
    expect((await api.call('POST', '/contact-properties', property)).status).toBe(422)
  })
})
