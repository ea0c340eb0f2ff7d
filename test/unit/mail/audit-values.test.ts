import { describe, expect, test } from 'vitest'
import { redactSecrets } from '../../../appliance/mail/audit-values.ts'

describe('values in the audit log', () => {
  test('removes secrets from audit values by field name at any depth', () => {
    expect(
      redactSecrets({
        name: 'shop',
        password: 'sesame',
        list: [{ signing_secret: 'x', privateKey: new Uint8Array(3), code: '123456' }],
        password_set: true,
        token: null,
      }),
    ).toEqual({
      name: 'shop',
      password: '[secret]',
      list: [{ signing_secret: '[secret]', privateKey: '[secret]', code: '[secret]' }],
      password_set: true,
      token: null,
    })
  })

  test('removes secrets from audit values by pattern: keys, share links, PEM, URL passwords and tokens', () => {
    const pem = '-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----'
    expect(
      redactSecrets([
        're_0123456789abcdef is a key',
        'whsec_MfKQ9r8/+=',
        `see ${pem}`,
        'https://mail.example/shared/abc.def',
        'https://a:b@hooks.example/in?x=1&y=2',
      ]),
    ).toEqual([
      '[secret] is a key',
      '[secret]',
      'see [secret]',
      'https://mail.example/shared/[secret]',
      'https://secret@hooks.example/in?x=[secret]&y=[secret]',
    ])
  })

  test('truncates audit values with a note, and converts values that JSON cannot represent', () => {
    const long = redactSecrets('x'.repeat(2010)) as string
    expect(long.endsWith('xx [and 10 more characters]')).toBe(true)
    const many = redactSecrets(Array.from({ length: 60 }, (_, i) => i)) as unknown[]
    expect([many.length, many.at(-1)]).toEqual([51, '[and 10 more]'])
    expect(redactSecrets({ at: new Date(0), big: 5n, bytes: new Uint8Array(7), none: undefined })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      big: '5',
      bytes: '[7 bytes]',
    })
  })
})
