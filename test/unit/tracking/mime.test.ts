import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { trackMessage } from '../../../appliance/tracking/tracking.ts'
import { trackHtml, type TrackingPlan } from '../../../appliance/tracking/rewrite.ts'
import { corpus } from './corpus.ts'

const plan: TrackingPlan = {
  secret: new Uint8Array(32).fill(9),
  emailId: '01980000-0000-7000-8000-000000000002',
  origin: 'https://links.shop.test',
  opens: true,
  clicks: true,
  leave: [],
}
const HTML = '<html><body><p>Gr\u00fc\u00dfe</p><a href="https://shop.test/?a=1&amp;b=2">x</a></body></html>'

const message = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'utf8')
const part = (encoding: string, body: string, type = 'text/html; charset=utf-8') => [
  `Content-Type: ${type}`,
  `Content-Transfer-Encoding: ${encoding}`,
  '',
  body,
]
const escapedQp = (html: string) =>
  [...Buffer.from(html)]
    .map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
    .replaceAll(/(?:=..){24}/g, '$&=\r\n')
const base64 = (html: string) => Buffer.from(html).toString('base64').replaceAll(/.{76}/g, '$&\r\n')

const htmlOf = async (raw: Uint8Array) =>
  (await PostalMime.parse(new Uint8Array(raw))).html!.replace(/\n$/, '')

describe('HTML in a transfer encoding', () => {
  test.each([
    ['8bit', HTML],
    ['Quoted-Printable', escapedQp(HTML)],
    ['BASE64', base64(HTML)],
  ])('tracks HTML in %s', async (encoding, body) => {
    const sent = message('Subject: x', 'MIME-Version: 1.0', ...part(encoding, body), '')
    const tracked = trackMessage(sent, plan)
    expect(await htmlOf(tracked)).toBe(trackHtml(HTML, plan))
    const head = sent.indexOf('\r\n\r\n')
    expect(Buffer.from(tracked).subarray(0, head).equals(sent.subarray(0, head))).toBe(true)
    const longest = Buffer.from(tracked)
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.length)
    expect(Math.max(...longest)).toBeLessThanOrEqual(encoding === '8bit' ? 998 : 76)
  })

  test('tracks encoded HTML like unencoded HTML in every corpus template', async () => {
    for (const html of corpus().filter((one) => !/[\0\r]|\n$/.test(one) && one.isWellFormed())) {
      const lines = html.replaceAll('\n', '\r\n')
      for (const body of [part('base64', base64(lines)), part('quoted-printable', escapedQp(lines))]) {
        const tracked = trackMessage(message('Subject: x', ...body), plan)
        expect((await htmlOf(tracked)).replaceAll('\r\n', '\n'), html).toBe(trackHtml(html, plan))
      }
    }
  })

  test('quoted-printable text is unchanged except for links', () => {
    const body = '<p>a=20b=\r\nc =3D =C3=BC</p><a href=3D"https://shop=\r\n.test/x">x</a>   \r\nend=20'
    const tracked = Buffer.from(
      trackMessage(message(...part('quoted-printable', body)), { ...plan, opens: false }),
    ).toString('latin1')
    expect(tracked).toContain('<p>a=20b=\r\nc =3D =C3=BC</p><a href=3D"=\r\nhttps://links.shop.test/l/')
    expect(tracked.endsWith('=\r\n">x</a>   \r\nend=20')).toBe(true)
  })
})

describe('tracking a multipart message', () => {
  const mixed = (kind: string, ...middle: string[]) =>
    message(
      'Subject: x',
      `Content-Type: multipart/${kind}; boundary="b 1"`,
      '',
      'preamble <a href="https://shop.test/no">x</a>',
      '--b 1',
      ...middle,
      '--b 1--',
      'epilogue',
      '',
    )

  test('changes only HTML parts of a multipart message at any depth, and adds the pixel to the first', async () => {
    const inner = [
      'Content-Type: multipart/alternative; boundary=inner',
      '',
      '--inner',
      ...part('7bit', 'See https://shop.test/x', 'text/plain'),
      '--inner',
      ...part('7bit', '<a href="https://shop.test/1">x</a>'),
      '--inner--',
    ]
    const second = part('7bit', '<a href="https://shop.test/2">x</a>')
    const attached = [
      'Content-Type: text/html',
      'Content-Disposition: attachment; filename=a.html',
      '',
      '<a href="https://shop.test/3">x</a>',
    ]
    const forwarded = [
      'Content-Type: message/rfc822',
      '',
      ...part('7bit', '<a href="https://shop.test/4">x</a>'),
    ]
    const sent = mixed(
      'mixed',
      ...[inner, second, attached, forwarded].flatMap((one, at) => (at > 0 ? ['--b 1', ...one] : one)),
    )
    const tracked = Buffer.from(trackMessage(sent, plan)).toString('latin1')
    const links = tracked.match(/https:\/\/links\.shop\.test\/l\/[\w-]+/g)
    expect(links).toHaveLength(2)
    expect(tracked.match(/<img /g)).toHaveLength(1)
    const back = tracked
      .replace(links![0], 'https://shop.test/1')
      .replace(links![1]!, 'https://shop.test/2')
      .replace(/<img [^>]*>/, '')
    expect(back).toBe(sent.toString('latin1'))
    await expect(PostalMime.parse(tracked)).resolves.toMatchObject({ subject: 'x' })
  })

  test.each(['signed; protocol="application/pkcs7-signature"', 'encrypted'])(
    'does not track multipart/%s',
    (kind) => {
      const sent = mixed(kind, ...part('7bit', HTML))
      expect(trackMessage(sent, plan)).toBe(sent)
    },
  )
})

describe('untracked content', () => {
  test.each([
    ['a text part', part('7bit', HTML, 'text/plain')],
    [
      'a message that the sender signed with DKIM',
      ['DKIM-Signature: v=1; a=rsa-sha256', ...part('7bit', HTML)],
    ],
    ['a charset that is not ASCII-compatible', part('7bit', HTML, 'text/html; charset=utf-16')],
    ['an unknown encoding', part('x-uuencode', HTML)],
    ['html with two Content-Type fields', ['Content-Type: text/plain', ...part('7bit', HTML)]],
    ['html of more than a megabyte', part('7bit', HTML + ' '.repeat(1024 * 1024))],
    ['a line that would be too long', part('7bit', `<p title="${'x'.repeat(900)}">${HTML}`)],
    [
      'a multipart without a closing delimiter',
      ['Content-Type: multipart/mixed; boundary=b', '', '--b', ...part('7bit', HTML)],
    ],
    ['a message without a body', ['Subject: x']],
  ])('tracking does not change %s', (_, lines) => {
    const sent = message(...lines)
    expect(trackMessage(sent, plan)).toBe(sent)
  })
})
