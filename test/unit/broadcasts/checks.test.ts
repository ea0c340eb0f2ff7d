import { expect, test } from 'vitest'
import { checkContent } from '../../../appliance/broadcasts/checks.ts'

const LINK = '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>'
const good = {
  ...{ from: 'Ada <ada@example.com>', subject: 'News', replyTo: [], previewText: 'Books' },
  ...{ html: `<p>Hello</p>${LINK}<p>1 Quay St</p>`, text: null },
}
const facts = {
  ...{ sender: null, unknownTags: [], bareTags: [], eligible: 3, topic: true, postalAddress: '1 Quay St' },
  ...{ dmarc: { domain: 'example.com', by: 'both' as const }, tested: true, repeats: undefined },
}
const wrong = (content: object, more: object = {}) =>
  checkContent({ ...good, ...content }, { ...facts, ...more })
    .filter(({ verdict }) => verdict !== 'pass')
    .map(({ id, verdict }) => `${verdict} ${id}`)
const body = (html: string) => ({ html: good.html + html })

test('a good draft passes, and each finding that does not says what to do', () => {
  expect(wrong({})).toEqual([])
  const all = checkContent({ ...good, html: '<img>', text: '' }, { ...facts, eligible: 0 })
  for (const { verdict, fix } of all) expect(fix === null).toBe(verdict === 'pass')
})

test('what must not be sent is blocked, and a plain text without a link deserves a look', () => {
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
  [body('<a href="https://bit.ly/x">x</a>'), 'shortener'],
  [body('<a href="http://example.com/">x</a>'), 'http'],
  [body('<img alt="" src="file:///logo.png">'), 'images'],
  [body('<img src="https://example.com/logo.png">'), 'alt'],
])('what deserves a look: %j', (content, id) => {
  expect(wrong(content)).toEqual([`attention ${id}`])
})

test('a domain that receivers cannot check, and a text that nobody has tested', () => {
  const dmarc = (by: string) => ({ dmarc: { domain: 'example.com', by } })
  expect(wrong({}, dmarc('unpublished'))).toEqual(['attention dmarc'])
  expect(wrong({}, dmarc('signature'))).toEqual(['attention dmarc'])
  expect(wrong({}, { dmarc: undefined })).toEqual([])
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
])('a broadcast like one that was just sent: %j', (like, note) => {
  const all = checkContent(good, { ...facts, repeats: { name: 'Spring', ...like } })
  expect(all.find(({ verdict }) => verdict !== 'pass')).toMatchObject({ id: 'repeat', note })
})

test('tags that nobody has, and tags that would leave a gap', () => {
  expect(wrong({}, { unknownTags: ['SHOE'] })).toEqual(['attention tags'])
  expect(wrong({}, { bareTags: ['FIRST_NAME'] })).toEqual(['attention fallback'])
})

test('links of all kinds that lead somewhere pass', () => {
  const links = ['https://example.com/a', 'mailto:a@example.com', 'tel:1', '#top', '{{{LINK}}}/x']
  expect(wrong(body(links.map((href) => `<a href="${href}">x</a>`).join('')))).toEqual([])
})
