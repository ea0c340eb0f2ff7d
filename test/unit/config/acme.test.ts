import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../appliance/config/config.ts'

/** Returns the error message, or the section. */
function read(settings: Record<string, string>): unknown {
  const env: Record<string, string> = { POSTHASTE_HOSTNAME: 'mail.sender.test' }
  for (const [key, value] of Object.entries(settings)) env[`POSTHASTE_${key.toUpperCase()}`] = value
  const loaded = loadConfig({ env, defaultFile: '/nonexistent' })
  return 'complaints' in loaded ? loaded.complaints.map(({ message }) => message) : loaded.config.acme
}

describe('[acme]', () => {
  test('[acme] is off unless agree_terms is true', () => {
    expect(read({})).toMatchObject({ agree_terms: false, directory: 'letsencrypt', challenge: 'http-01' })
  })
  test('rejects acme.email without agree_terms', () => {
    expect(read({ acme__email: 'you@sender.test' })).toEqual([
      'acme.email has no effect until acme.agree_terms is true. Read the terms of the certificate authority, then set it.',
    ])
  })
  test('[acme] requires the settings of its challenge type', () => {
    const agreed = { acme__agree_terms: 'true' }
    expect(read({ ...agreed, acme__challenge: 'dns-01' })).toEqual([
      'acme.challenge "dns-01" requires acme.hook.',
    ])
    expect(read({ ...agreed, acme__challenge: 'tls-alpn-01' })).toEqual([
      'acme.challenge "tls-alpn-01" requires http.tls_listen.',
    ])
    expect(
      read({ ...agreed, acme__challenge: 'tls-alpn-01', http__tls_listen: '0.0.0.0:443' }),
    ).toMatchObject({ challenge: 'tls-alpn-01' })
  })
  test('[acme] requires both external account binding settings or neither', () => {
    expect(read({ acme__agree_terms: 'true', acme__eab_key_id: 'kid-1' })).toEqual([
      'acme.eab_key_id and acme.eab_hmac_key belong together: set both or neither.',
    ])
  })
  test('[acme] accepts only an https:// directory URL', () => {
    expect(read({ acme__agree_terms: 'true', acme__directory: 'http://ca.test/dir' })).toEqual([
      expect.stringContaining('expected "letsencrypt", "letsencrypt-staging" or an https:// URL') as string,
    ])
  })
})
