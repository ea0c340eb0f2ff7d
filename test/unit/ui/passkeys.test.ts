import { expect, test } from 'vitest'
import { explainNoPasskeys } from '../../../ui/src/state/passkeys.ts'

test.each(['mail.example.com', 'localhost', '3com.example', 'a1.b2'])(
  'passkeys are available on the host name %s',
  (hostname) => {
    expect(explainNoPasskeys({ hostname, offered: true })).toBeNull()
  },
)

test.each(['127.0.0.1', '192.0.2.44', '[2001:db8::1]'])(
  'passkeys are unavailable on the IP address %s',
  (hostname) => {
    expect(explainNoPasskeys({ hostname, offered: true })).toBe(
      `Passkeys need a host name. Open this page by its host name instead of ${hostname}.`,
    )
  },
)

test('passkeys are unavailable without a secure context', () => {
  expect(explainNoPasskeys({ hostname: 'mail.example.com', offered: false })).toBe(
    'This browser supports passkeys only over HTTPS.',
  )
})
