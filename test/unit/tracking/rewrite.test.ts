import { describe, expect, test } from 'vitest'
import {
  listNumberedLinks,
  normalizeLink,
  trackHtml,
  listUnsubscribeLinks,
  type TrackingPlan,
} from '../../../appliance/tracking/rewrite.ts'
import { verifyRecipientToken, verifyToken, signRecipientToken } from '../../../appliance/tracking/tokens.ts'
import { costOf } from '../../world/cost.ts'

const EMAIL = '01980000-0000-7000-8000-00000000abcd'
const secret = new Uint8Array(32).fill(7)
const plan = (more: Partial<TrackingPlan> = {}): TrackingPlan => ({
  secret,
  emailId: EMAIL,
  origin: 'https://links.shop.test',
  opens: false,
  clicks: true,
  leave: [],
  ...more,
})

/** Returns the HTML with each tracked link as `<target>`, and the pixel as `[pixel]`. */
function shown(html: string, more: Partial<TrackingPlan> = {}): string {
  return trackHtml(html, plan(more))
    .replaceAll(
      /https:\/\/links\.shop\.test\/l\/([\w-]+)/g,
      (_, token: string) => `<${verifyToken(secret, 'click', token)?.link ?? 'not ours'}>`,
    )
    .replaceAll(/<img src="https:\/\/links\.shop\.test\/o\/[\w-]+\.gif"[^>]*>/g, '[pixel]')
}

describe('rewritten links', () => {
  const rows: [html: string, shown: string][] = [
    ['<a href="https://a.test/x?y=1#z">go</a>', '<a href="<https://a.test/x?y=1#z>">go</a>'],
    ["<A HREF = 'http://a.test'>go</A>", "<A HREF = '<http://a.test>'>go</A>"],
    ['<a href=https://a.test/x class=b>go</a>', '<a href=<https://a.test/x> class=b>go</a>'],
    ['<a href=https://a.test/x>go</a>', '<a href=<https://a.test/x>>go</a>'],
    ['<a href="https://a.test/?a=1&amp;b=2">go</a>', '<a href="<https://a.test/?a=1&b=2>">go</a>'],
    ['<a href="&#104;ttps://a.test/">go</a>', '<a href="<https://a.test/>">go</a>'],
    ['<a href="https://a.test/?a=1&copy=2">go</a>', '<a href="<https://a.test/?a=1&copy=2>">go</a>'],
    ['<a href="https://a.test/grüße?q=✓">go</a>', '<a href="<https://a.test/grüße?q=✓>">go</a>'],
    ['<a href=" https://a.test/\n  long">go</a>', '<a href="<https://a.test/  long>">go</a>'],
    ['<area shape="rect" href="https://a.test/map" />', '<area shape="rect" href="<https://a.test/map>" />'],
    ['<a href="https://a.test" href="https://b.test">', '<a href="<https://a.test>" href="https://b.test">'],
    ['<a\n title="a > b"\n href="https://a.test">', '<a\n title="a > b"\n href="<https://a.test>">'],
    ['<!--[if !mso]><!--><a href="https://a.test">', '<!--[if !mso]><!--><a href="<https://a.test>">'],
  ]
  test.each(rows)('%s', (html, expected) => {
    expect(shown(html)).toBe(expected)
  })
})

describe('untracked links', () => {
  test.each([
    '<a href="mailto:a@b.test">x</a>',
    '<a href="tel:+123">x</a>',
    '<a href="sms:+123">x</a>',
    '<a href="#top">x</a>',
    '<a href="/relative">x</a>',
    '<a href="//a.test/">x</a>',
    '<a href>x</a>',
    '<a href="">x</a>',
    '<a name="x">x</a>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="data:text/html,https://a.test">x</a>',
    '<a href="https://">x</a>',
    '<a href="{{link}}">x</a>',
    '<a href="https://a.test/{{{id}}}">x</a>',
    '<a href="https://a.test/*|ID|*">x</a>',
    '<a href="https://a.test" data-posthaste-track="off">x</a>',
    '<a data-posthaste-track=false href="https://a.test">x</a>',
    '<a clicktracking=off href="https://a.test">x</a>',
    '<a href="https://a.test" data-pm-no-track>x</a>',
    '<a ses:no-track href="https://a.test">x</a>',
    '<a href="https://a.test" mc:disable-tracking>x</a>',
    `<a href="https://a.test/${'x'.repeat(2000)}">x</a>`,
    '<link href="https://a.test/style.css" rel="stylesheet">',
    '<base href="https://a.test/">',
    '<img src="https://a.test/a.png" srcset="https://a.test/b.png 2x">',
    '<!-- <a href="https://a.test">x</a> -->',
    '<!--[if mso]><v:rect href="https://a.test"><a href="https://a.test">x</a></v:rect><![endif]-->',
    '<style>a[href="https://a.test"] { color: red } /* <a href="https://a.test"> */</style>',
    '<script>"<a href=\'https://a.test\'>"</script>',
    '<textarea><a href="https://a.test">x</a></textarea>',
    '<title><a href="https://a.test">x</a></title>',
    '<p title="<a href=\'https://a.test\'>">x</p>',
    '<a href="https://a.test',
    'https://a.test is text',
  ])('%s', (html) => {
    expect(trackHtml(html, plan())).toBe(html)
  })

  test('tracking does not change links that are in List-Unsubscribe', () => {
    const leave = listUnsubscribeLinks([
      { name: 'List-Unsubscribe', value: '<mailto:u@a.test>, <https://a.test/u?id=1&x=2>' },
    ])
    expect(leave).toEqual(['mailto:u@a.test', 'https://a.test/u?id=1&x=2'])
    const html = '<a href="https://a.test/u?id=1&amp;x=2">Unsubscribe</a>'
    expect(trackHtml(html, plan({ leave }))).toBe(html)
    expect(trackHtml(html, plan())).not.toBe(html)
  })

  test('tracking does not change links that are already tracked', () => {
    const once = trackHtml('<a href="https://a.test">x</a>', plan())
    expect(trackHtml(once, plan())).toBe(once)
  })
})

describe('the tracking pixel', () => {
  const opens = { opens: true, clicks: false }
  test.each([
    ['<html><body><p>x</p></body></html>', '<html><body><p>x</p>[pixel]</body></html>'],
    ['<p>x</p></html>\n', '<p>x</p>[pixel]</html>\n'],
    ['<p>x</p>', '<p>x</p>[pixel]'],
    ['plain', 'plain[pixel]'],
    ['<body>x</body><!-- </body> -->', '<body>x[pixel]</body><!-- </body> -->'],
    ['<p>x</p><!-- not closed', '<p>x</p><!-- not closed'],
    ['<p>x</p><style>a {', '<p>x</p><style>a {'],
    ['<p>x</p><a href="', '<p>x</p><a href="'],
  ])('places the tracking pixel correctly in %s', (html, expected) => {
    expect(shown(html, opens)).toBe(expected)
  })

  test('places the tracking pixel correctly between links', () => {
    const html = '<a href="https://a.test">a</a></body><a href="https://b.test">b</a>'
    expect(shown(html, { opens: true })).toBe(
      '<a href="<https://a.test>">a</a>[pixel]</body><a href="<https://b.test>">b</a>',
    )
  })
})

describe('a tracking token', () => {
  const html = trackHtml('<a href="https://a.test/x">x</a>', plan({ opens: true }))
  const click = /\/l\/([\w-]+)/.exec(html)![1]!
  const open = /\/o\/([\w-]+)\.gif/.exec(html)![1]!

  test('a tracking token is decoded to the email and link that it was signed for', () => {
    expect(verifyToken(secret, 'click', click)).toEqual({ emailId: EMAIL, link: 'https://a.test/x' })
    expect(verifyToken(secret, 'open', open)).toEqual({ emailId: EMAIL, link: '' })
    expect(open).toHaveLength(43)
  })

  test('a tracking token is rejected for another purpose or key, and after any change', () => {
    expect(verifyToken(secret, 'open', click)).toBeUndefined()
    expect(verifyToken(secret, 'click', open)).toBeUndefined()
    expect(verifyToken(new Uint8Array(32), 'click', click)).toBeUndefined()
    const bytes = Buffer.from(click, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = changed[at]! ^ 1
      expect(verifyToken(secret, 'click', changed.toString('base64url'))).toBeUndefined()
    }
    for (const token of ['', 'x', click.slice(0, -4), `${click}AAAA`, 'A'.repeat(43)])
      expect(verifyToken(secret, 'click', token)).toBeUndefined()
  })
})

describe('broadcast links', () => {
  const revisionId = '01980000-0000-7000-8000-0000000000c3'
  const html =
    '<a href="https://a.test/x">x</a><a href="https://a.test/{{{CODE}}}">y</a><a href="https://b.test/?a=1&amp;b=2">z</a><a href="https://a.test/x">x</a>'

  test('broadcast links that are the same for all readers are numbered once each', () => {
    expect(listNumberedLinks(html)).toEqual(['https://a.test/x', 'https://b.test/?a=1&b=2'])
  })

  test('broadcast links share one token with the pixel, and links per reader have the URL in their token', () => {
    const numbers = new Map(listNumberedLinks(html).map((link, n) => [link, n]))
    const mine = html.replace('{{{CODE}}}', '7')
    const tracked = trackHtml(mine, plan({ opens: true, numbered: { revisionId, numbers } }))
    const links = [...tracked.matchAll(/\/l\/([\w-]+)(?:\/(\d+))?"/g)].map(([, token, n]) => [token!, n])
    const token = links[0]![0]!
    expect(verifyRecipientToken(secret, token)).toEqual({ revisionId, emailId: EMAIL })
    expect(links).toEqual([
      [token, '0'],
      [expect.any(String), undefined],
      [token, '1'],
      [token, '0'],
    ])
    expect(verifyToken(secret, 'click', links[1]![0]!)).toEqual({ emailId: EMAIL, link: 'https://a.test/7' })
    expect(tracked).toContain(`/o/${token}.gif`)
  })

  test('broadcast links cannot be forged', () => {
    const token = signRecipientToken(secret, { revisionId, emailId: EMAIL })
    expect(token).toHaveLength(64)
    expect(verifyRecipientToken(new Uint8Array(32), token)).toBeUndefined()
    expect(verifyToken(secret, 'click', token)).toBeUndefined()
    const bytes = Buffer.from(token, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = changed[at]! ^ 1
      expect(verifyRecipientToken(secret, changed.toString('base64url'))).toBeUndefined()
    }
  })
})

test('readLink parses a URL as browsers do', () => {
  expect(normalizeLink('\t https://a.test/\n ')).toBe('https://a.test/')
  expect(normalizeLink('HTTPS://A.test')).toBe('HTTPS://A.test')
  expect(normalizeLink('ftp://a.test')).toBeUndefined()
  expect(normalizeLink('https://a.test/\ud800')).toBeUndefined()
  expect(normalizeLink(undefined)).toBeUndefined()
})

test('the cost of tracking grows linearly with the number of links', async () => {
  const page = (links: number) =>
    Array.from({ length: links }, (_, i) => `<p><a href="https://a.test/${i}">x</a></p>`).join('')
  const cost = (links: number) =>
    costOf(() => expect(trackHtml(page(links), plan()).match(/\/l\//g)).toHaveLength(links))
  const few = await cost(1000)
  expect((await cost(10_000)) / few).toBeLessThan(40)
})
