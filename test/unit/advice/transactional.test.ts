import { expect, test } from 'vitest'
import { checkSingleEmail } from '../../../appliance/advice/advice.ts'
import { htmlToText } from '../../../appliance/intake/intake.ts'
import { TRANSACTIONAL } from './transactional.ts'

/** Tests that ordinary transactional emails get no false alarm. */

const FROM = 'Northwind Tools <orders@mail.northwind-tools.com>'
const domain = {
  name: 'mail.northwind-tools.com',
  checks: ['DMARC', 'SPF', 'DKIM ph1'].map((key) => ({ key, status: 'verified' })),
  openTracking: false,
  clickTracking: false,
  trackingSubdomain: null,
}

test('there are twenty different sample emails', () => {
  expect(TRANSACTIONAL).toHaveLength(20)
  expect(new Set(TRANSACTIONAL.map(({ name }) => name)).size).toBe(20)
  expect(new Set(TRANSACTIONAL.map(({ html }) => html)).size).toBe(20)
})

test.each(TRANSACTIONAL.map((sample) => [sample.name, sample] as const))(
  'the email "%s" needs no attention and is not blocked',
  async (_name, { subject, html, text }) => {
    // Posthaste generates the text part if an email has only HTML.
    const message = { from: FROM, subject, html, text: text ?? (await htmlToText(html)) }
    const found = checkSingleEmail(message, domain, Buffer.byteLength(html) * 2)
    const bad = found.filter(({ verdict }) => verdict === 'attention' || verdict === 'block')
    expect(bad.map(({ id, note, evidence }) => [id, note, evidence])).toEqual([])
    expect(found.length).toBeGreaterThan(15)
  },
)

test('sample emails with a placeholder and no text part need attention', () => {
  for (const { subject, html } of TRANSACTIONAL) {
    const wrong = html.replace('</p>', ' [FIRST NAME]</p>').replace('</div>', ' [FIRST NAME]</div>')
    const found = checkSingleEmail({ from: FROM, subject, html: wrong, text: null }, domain, 2000)
    const bad = found.filter(({ verdict }) => verdict === 'attention').map(({ id }) => id)
    expect(bad).toEqual(expect.arrayContaining(['text', 'placeholder']))
  }
})
