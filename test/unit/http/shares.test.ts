import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, errorText, hello, startApi, type Api } from './harness.ts'

const HOUR = 3_600_000
const ORIGIN = 'https://mail.acme.example'
let api: Api
let id: string
beforeAll(async () => {
  api = await startApi({ publicUrl: ORIGIN })
  id = await send({
    subject: '<b>Hi</b> & "you"',
    bcc: 'secret@example.org',
    html: '<script>alert(1)</script><img src="https://track.example/x.gif"><p>Body</p>',
  })
})
afterAll(() => api.close())

const send = async (more: object) =>
  ((await api.call('POST', '/emails', { ...hello, ...more })).json as { id: string }).id
const share = async (body?: unknown, of = id) => {
  const answer = await api.call('POST', `/emails/${of}/share`, body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json as { object: string; id: string; url: string }
}
/** Visits a page without a key. */
const visit = (url: string) => ask(url.replace(ORIGIN, api.url), 'GET')

describe('a shared email', () => {
  test('the link to a shared email is at the public URL', async () => {
    const shared = await share()
    expect(shared).toEqual({
      object: 'email',
      id,
      url: expect.stringMatching(/^https:\/\/mail\.acme\.example\/shared\/[\w-]+\.[\w-]+$/) as string,
    })
  })

  test('a shared email is shown without its Bcc, with its header fields escaped', async () => {
    const { url } = await share({ expires_in: '1 day' })
    const { status, headers, text } = await visit(url)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(text).toContain('<h1>&lt;b&gt;Hi&lt;/b&gt; &amp; &quot;you&quot;</h1>')
    expect(text).toContain('Acme &lt;hi@acme.example&gt;')
    expect(text).not.toContain('secret@example.org')
    expect(text).not.toContain('alert(1)')
    expect(text).toContain(`src="${new URL(url).pathname}/content"`)
    expect(text).toContain('sandbox="allow-popups allow-popups-to-escape-sandbox"')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-robots-tag')).toBe('noindex, nofollow')
  })

  test('a shared email is shown in a sandboxed frame that loads no external content', async () => {
    const { url } = await share()
    const { headers, text } = await visit(`${url}/content`)
    expect(text).toContain('<p>Body</p>')
    const policy = headers.get('content-security-policy')!.split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain('img-src data:')
    expect(policy).toContain('sandbox allow-popups allow-popups-to-escape-sandbox')
    expect(policy.join()).not.toMatch(/script|allow-same-origin|https?:/)
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
  })

  test('a shared email without HTML shows its text', async () => {
    const { url } = await share(undefined, await send({ text: 'a < b' }))
    expect((await visit(`${url}/content`)).text).toContain('a &lt; b</pre>')
  })

  test('an expired share link returns 410', async () => {
    const short = await share({ expires_in: '10m' })
    const long = await share({ expires_in: '48h' })
    await api.clock.advance(10 * 60_000)
    for (const path of ['', '/content']) {
      const { status, text } = await visit(short.url + path)
      expect(status).toBe(410)
      expect(text).toContain('This link has expired')
      expect(text).not.toContain('Body')
    }
    await api.clock.advance(47 * HOUR)
    expect((await visit(long.url)).status).toBe(200)
    await api.clock.advance(HOUR)
    expect((await visit(long.url)).status).toBe(410)
  })

  test('a forged link or a download token does not show the email', async () => {
    const { url } = await share()
    const withFile = await send({ attachments: [{ filename: 'a', content: 'QQ==' }] })
    const list = (await api.call('GET', `/emails/${withFile}/attachments`)).json as {
      data: [{ download_url: string }]
    }
    const download = list.data[0].download_url.split('/').at(-1)!
    const tampered = url.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    for (const path of [tampered, `${ORIGIN}/shared/x`, `${ORIGIN}/shared/${download}`]) {
      const { status, text } = await visit(path)
      expect([status, text.includes('This link does not work')]).toEqual([404, true])
    }
  })

  test.each([
    ['3 days', '`expires_in` must not exceed 48 hours.'],
    ['49h', '`expires_in` must not exceed 48 hours.'],
    ['soon', 'Invalid `expires_in` field: a duration such as `10m`, `2 hours` or `1 day`.'],
    ['0m', 'Invalid `expires_in` field: a duration such as `10m`, `2 hours` or `1 day`.'],
    [5, 'Invalid `expires_in` field: it must be a string.'],
  ])('rejects a share link with expires_in %j', async (expires_in, message) => {
    const answer = await api.call('POST', `/emails/${id}/share`, { expires_in })
    expect(answer.text).toBe(errorText(422, 'validation_error', message))
  })

  test('a share link cannot be created for an unknown email, or with a sending key', async () => {
    const answer = await api.call('POST', `/emails/${newId(0)}/share`)
    expect(answer.text).toBe(errorText(404, 'not_found', 'Email not found'))
    const headers = { authorization: `Bearer ${api.sending}` }
    expect((await api.call('POST', `/emails/${id}/share`, undefined, headers)).status).toBe(401)
  })
})

test('the secret of shared links is stored once and reused', async () => {
  const fresh = () => ({ name: 'links', fresh: new Uint8Array(32) })
  const first = await api.storage.secret(fresh(), 0)
  expect(await api.storage.secret(fresh(), 0)).toEqual(first)
  expect(Buffer.from(first).equals(Buffer.alloc(32))).toBe(false)
})
