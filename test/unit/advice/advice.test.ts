import { expect, test } from 'vitest'
import { checkSingleEmail } from '../../../appliance/advice/advice.ts'

/** Tests the checks of a single email. Those that broadcasts share are in test/unit/broadcasts/checks.test.ts. */

const WORDS =
  'Your order number 1234 has left our warehouse today and arrives on Friday at the latest, the shop says.'
const good = {
  from: 'Shop <orders@mail.acme.com>',
  subject: 'Your order is on its way',
  html: `<html lang="en"><p>${WORDS}</p><a href="https://acme.com/orders/1234">Your order</a></html>`,
  text: `${WORDS}\nhttps://acme.com/orders/1234`,
}
const records = (...keys: string[]) => keys.map((key) => ({ key, status: 'verified' }))
const domain = {
  name: 'mail.acme.com',
  checks: records('DMARC', 'SPF', 'DKIM ph1'),
  openTracking: false,
  clickTracking: false,
  trackingSubdomain: null,
}
const judged = (more: object, about: object | null = {}, size = 2000) =>
  checkSingleEmail({ ...good, ...more }, about === null ? undefined : { ...domain, ...about }, size)
const wrong = (...given: Parameters<typeof judged>) =>
  judged(...given)
    .filter(({ verdict }) => verdict !== 'pass')
    .map(({ id, verdict }) => `${verdict} ${id}`)
const html = (part: string) => ({ html: good.html + part })

test('an order confirmation passes every check', () => {
  expect(wrong({})).toEqual([])
  for (const { why, fix, evidence } of judged({})) expect([why, fix, evidence]).toEqual([null, null, []])
})

test('findings have a reason and a fix, the most urgent first', () => {
  const all = judged({ ...html('<a href="http://other.com/">x</a>'), subject: ' ' }, { name: 'acme.com' })
  const found = all.filter(({ verdict }) => verdict !== 'pass')
  expect(found.map(({ verdict }) => verdict)).toEqual(['block', 'attention', 'advice', 'advice'])
  for (const { why, fix } of found) expect([typeof why, typeof fix]).toEqual(['string', 'string'])
  expect(found.find(({ id }) => id === 'http')?.evidence).toEqual(['http://other.com/'])
})

test.each([
  [{ text: null }, 'attention text'],
  [{ from: 'noreply@mail.acme.com' }, 'attention reply'],
  [{ from: 'do-not-reply@mail.acme.com' }, 'attention reply'],
  [{ from: '"ceo@bank.com" <orders@mail.acme.com>' }, 'attention display-name'],
  [{ html: good.html.replace(' lang="en"', '') }, 'advice language'],
  [html('[FIRST NAME]'), 'attention placeholder'],
  [html('<script>1</script>'), 'attention elements'],
  [html('<form></form>'), 'attention elements'],
  [html('<a href="https://other.com/">Elsewhere</a>'), 'advice link-domain'],
  [html('<a href="https://youtu.be/x">Film</a>'), 'attention shortener'],
  [html('<img alt="" src="data:image/png;base64,AA">'), 'attention embedded'],
  [html('<a href="https://acme.com/">https://bank.com/login</a>'), 'attention link-text'],
  [html(`<a href="https://${'\u0430'}cme.acme.com/">x</a>`), 'attention lookalike'],
  [{ html: '<img alt="Sale" src="https://acme.com/a.png">' }, 'attention image-only'],
  [
    {
      text: 'Completely different sentences about something else, which nobody could ever find inside that other part of this message, whatever they search; promise, really, truly, honestly.',
    },
    'attention alike',
  ],
])('reports a finding for %j: %s', (more, expected) => {
  expect(wrong(more)).toContain(expected)
})

test('links only to other domains need attention; cid: images and words with dots do not', () => {
  const link = (href: string, text = 'x') => ({ html: `<p>${WORDS}</p><a href="${href}">${text}</a>` })
  expect(wrong(link('https://other.com/'))).toEqual(['attention link-domain'])
  expect(wrong(link('https://www.acme.com/', 'node.js'))).toEqual([])
  expect(wrong(link('https://www.acme.com/', 'www.acme.com/shop'))).toEqual([])
  expect(wrong(html('<img alt="" src="cid:logo">'))).toEqual([])
})

test('missing records and settings of the sending domain are reported', () => {
  expect(wrong({}, null)).toEqual(['block sender'])
  expect(wrong({}, { checks: records('SPF', 'DMARC ') })).toEqual([])
  expect(wrong({}, { checks: [{ key: 'DMARC', status: 'failed' }] })).toEqual(['attention dmarc'])
  expect(wrong({}, { checks: records('DMARC') })).toEqual(['attention dmarc'])
  expect(wrong({ from: 'shop@acme.com' }, { name: 'acme.com' })).toEqual(['advice subdomain'])
  expect(wrong({}, { clickTracking: true })).toEqual(['advice tracking'])
  const tracking = { openTracking: true, trackingSubdomain: 'go' }
  expect(wrong({}, tracking)).toEqual(['advice tracking'])
  const own = records('DMARC', 'SPF', 'Tracking go.mail.acme.com')
  expect(wrong({}, { ...tracking, checks: own })).toEqual([])
})

test('a message larger than 10 MB needs attention', () => {
  expect(wrong({}, {}, 10 * 1024 * 1024)).toEqual([])
  expect(wrong({}, {}, 10 * 1024 * 1024 + 1)).toEqual(['attention weight'])
})

test('very large hostile HTML is checked in less than a second', () => {
  const deep = '<a href="https://x.example/">'.repeat(400_000)
  const begun = process.cpuUsage()
  expect(wrong({ html: deep })).toContain('attention size')
  // Far more than it takes, far less than all of it would.
  expect(process.cpuUsage(begun).user).toBeLessThan(1_000_000)
})
