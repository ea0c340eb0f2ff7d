import { expect, test } from 'vitest'
import { emailOfReturnPath, envelopeWords } from '../../../ui/src/state/envelope.ts'

test.each([
  ['shop@a.example', ['b@b.example'], 1, 'shop@a.example → b@b.example'],
  ['shop@a.example', ['b@b.example', 'c@b.example'], 20, 'shop@a.example → b@b.example +19'],
  ['', ['b@b.example'], 1, '<> → b@b.example'],
  ['shop@a.example', [], 0, 'shop@a.example → nobody'],
])('an envelope from “%s” to %j, %i of them, is told as “%s”', (mail_from, rcpt_to, recipients, words) => {
  expect(envelopeWords({ mail_from, rcpt_to, recipients })).toBe(words)
})

test('a message leads to the email that its return path names, and no other address does', () => {
  expect(emailOfReturnPath('Bounce+0193C3E25A7170008000000000000001@send.a.example')).toBe(
    '0193c3e2-5a71-7000-8000-000000000001',
  )
  for (const other of ['', 'bounce@send.a.example', 'bounce+12@send.a.example', 'ada@a.example'])
    expect(emailOfReturnPath(other)).toBe(null)
})
