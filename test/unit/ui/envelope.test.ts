import { expect, test } from 'vitest'
import { formatEnvelope } from '../../../ui/src/state/envelope.ts'

test.each([
  ['shop@a.example', ['b@b.example'], 1, 'shop@a.example → b@b.example'],
  ['shop@a.example', ['b@b.example', 'c@b.example'], 20, 'shop@a.example → b@b.example +19'],
  ['', ['b@b.example'], 1, '<> → b@b.example'],
  ['shop@a.example', [], 0, 'shop@a.example → no recipient'],
])(
  'shows an envelope from “%s” to %j with %i recipients as “%s”',
  (mail_from, rcpt_to, recipients, words) => {
    expect(formatEnvelope({ mail_from, rcpt_to, recipients })).toBe(words)
  },
)
