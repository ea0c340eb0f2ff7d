import { expect, test } from 'vitest'
import { checkDraft } from '../../../appliance/broadcasts/checks.ts'

const LINK = '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>'
const good = {
  from: 'Ada <ada@example.com>',
  subject: 'News',
  replyTo: [],
  previewText: 'Books',
  html: `<p>Hello, these are the new books of the season, and some words on each of them.</p>${LINK}<p>1 Quay St</p>`,
  text: null,
}
const facts = {
  sender: null,
  unknownTags: [],
  bareTags: [],
  eligible: 3,
  topic: true,
  postalAddress: '1 Quay St',
  tested: true,
  repeats: undefined,
  emptyArchiveLink: false,
  domain: {
    name: 'news.example.com',
    openTracking: false,
    clickTracking: false,
    trackingSubdomain: null,
    checks: ['DMARC', 'SPF'].map((key) => ({ key, status: 'verified' })),
  },
}
const wrong = (content: object, more: object = {}) =>
  checkDraft({ ...good, ...content }, { ...facts, ...more })
    .filter(({ verdict }) => verdict !== 'pass')
    .map(({ id, verdict }) => `${verdict} ${id}`)
const body = (html: string) => ({ html: good.html + html })

test('a good draft passes, and every failed check has a fix', () => {
  expect(wrong({})).toEqual([])
  const all = checkDraft({ ...good, html: '<img>', text: '' }, { ...facts, eligible: 0 })
  for (const { verdict, fix } of all) expect(fix === null).toBe(verdict === 'pass')
})

test('serious problems block sending; a plain text part without an unsubscribe link needs attention', () => {
  expect(wrong({}, { sender: 'Not verified.' })).toEqual(['block sender'])
  expect(wrong({}, { eligible: 0 })).toEqual(['block recipients'])
  expect(wrong({ subject: ' ' })).toEqual(['block subject'])
  expect(wrong({ html: '<p>1 Quay St</p>' })).toEqual(['block unsubscribe'])
  expect(wrong({ text: 'Hello, 1 Quay St' })).toEqual(['attention unsubscribe'])
})

test.each([
  [{ text: '' }, 'text'],
  [{ previewText: null }, 'preview'],
  [{ subject: 'BUY NOW TODAY' }, 'subject'],
  [{ from: 'no-reply@example.com' }, 'reply'],
  [body('x'.repeat(102_400)), 'size'],
  [body('{{name}}'), 'placeholder'],
  [body('<a href="">x</a>'), 'links'],
  [body('<a href="#">x</a>'), 'links'],
  [body('<a href="example.com">x</a>'), 'links'],
  [body('<a href="https://localhost:3000/">x</a>'), 'links'],
  [body('<a href="https://shop.test/x">x</a>'), 'link-domain'],
  [body('<a href="http://example.com/">x</a>'), 'http'],
  [body('<img alt="" src="file:///logo.png">'), 'images'],
  [body('<img src="https://example.com/logo.png">'), 'alt'],
])('content %j needs attention: %s', (content, id) => {
  expect(wrong(content)).toEqual([`attention ${id}`])
})

test('missing domain authentication and an untested draft need attention', () => {
  const checks = (...all: object[]) => ({ domain: { ...facts.domain, checks: all } })
  expect(wrong({}, checks({ key: 'DMARC', status: 'failed' }))).toEqual(['attention dmarc'])
  expect(wrong({}, checks({ key: 'DMARC', status: 'verified' }))).toEqual(['attention dmarc'])
  expect(wrong({}, checks())).toEqual([])
  expect(wrong({}, { domain: undefined })).toEqual([])
  expect(wrong({}, { tested: false })).toEqual(['attention tested'])
})

test.each([
  [
    { segment: true, subject: true, ago: 10_000 },
    '“Spring” has the same segment and subject, and was sent 1 min ago.',
  ],
  [
    { segment: true, subject: false, ago: 59 * 60_000 },
    '“Spring” has the same segment, and was sent 59 min ago.',
  ],
  [
    { segment: false, subject: true, ago: 3 * 3_600_000 },
    '“Spring” has the same subject, and was sent 3 h ago.',
  ],
])('a broadcast similar to a recent one needs attention: %j', (like, note) => {
  const all = checkDraft(good, { ...facts, repeats: { name: 'Spring', ...like } })
  expect(all.find(({ verdict }) => verdict !== 'pass')).toMatchObject({ id: 'repeat', note })
})

test('unknown tags and tags without a fallback need attention', () => {
  expect(wrong({}, { unknownTags: ['SHOE'] })).toEqual(['attention tags'])
  expect(wrong({}, { bareTags: ['FIRST_NAME'] })).toEqual(['attention fallback'])
})

test('a link to the archive that would be empty gets attention', () => {
  expect(wrong({}, { emptyArchiveLink: true })).toEqual(['attention archive'])
})

test('web, mail, phone, anchor and variable links pass', () => {
  const links = ['https://example.com/a', 'mailto:a@example.com', 'tel:1', '#top', '{{{LINK}}}/x']
  expect(wrong(body(links.map((href) => `<a href="${href}">x</a>`).join('')))).toEqual([])
})
