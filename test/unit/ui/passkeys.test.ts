import { expect, test } from 'vitest'
import { whyNoPasskeys } from '../../../ui/src/state/passkeys.ts'

test.each(['mail.example.com', 'localhost', '3com.example', 'a1.b2'])('%s can have passkeys', (hostname) => {
  expect(whyNoPasskeys({ hostname, offered: true })).toBeNull()
})

test.each(['127.0.0.1', '192.0.2.44', '[2001:db8::1]'])('the address %s can have none', (hostname) => {
  expect(whyNoPasskeys({ hostname, offered: true })).toBe(
    `Passkeys need a host name. Open this page by its host name instead of ${hostname}.`,
  )
})

test('without a secure context there are none', () => {
  expect(whyNoPasskeys({ hostname: 'mail.example.com', offered: false })).toBe(
    'This browser supports passkeys only over HTTPS.',
  )
})
