import { expect, test } from 'vitest'
import { getTestOutcome } from '../../../appliance/mail/address.ts'

const DOMAINS = ['resend.dev', 'test.posthaste.invalid']

test.each([
  ['delivered@resend.dev', 'delivered'],
  ['Bounced@Resend.DEV', 'bounced'],
  ['complained+order-7@test.posthaste.invalid', 'complained'],
  ['suppressed+a+b@resend.dev', 'suppressed'],
  ['onboarding@resend.dev', 'unknown'],
  ['delivered.+x@resend.dev', 'unknown'],
  ['+delivered@resend.dev', 'unknown'],
  ['delivered@resend.dev.example', null],
  ['delivered@mail.resend.dev', null],
  ['resend.dev@example.com', null],
])('the test address %s has the outcome %s', (address, outcome) => {
  expect(getTestOutcome(address, DOMAINS)).toBe(outcome)
})

test('without test domains, no address is a test address', () => {
  expect(getTestOutcome('delivered@resend.dev', [])).toBeNull()
})
