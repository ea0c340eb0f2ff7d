import { describe, expect, test } from 'vitest'
import { describeTlsConnection, describeCertificate } from '../../../ui/src/state/certificate.ts'

const before = {
  version: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  verified: true,
  error: null,
  subject: 'mx.example.com',
  issuer: 'An Authority',
  validTo: '2027-02-01T00:00:00.000Z',
}
const now = { ...before, group: 'X25519MLKEM768', by: 'pkix' as const, validFrom: '2026-11-01T00:00:00.000Z' }

describe('the TLS details of an attempt', () => {
  test('the TLS details contain the key exchange and the validity period', () => {
    expect(describeTlsConnection(now)).toBe(
      'TLSv1.3 TLS_AES_256_GCM_SHA384 X25519MLKEM768. Certificate of mx.example.com, issued by An Authority, from 2026-11-01 until 2027-02-01',
    )
  })

  test('the TLS details of an older attempt contain what was recorded', () => {
    expect(describeTlsConnection({ ...before, subject: '' })).toBe(
      'TLSv1.3 TLS_AES_256_GCM_SHA384. Certificate of (no name), issued by An Authority, until 2027-02-01',
    )
  })

  test.each([
    ['valid', now],
    ['valid by DANE', { ...now, by: 'dane' as const }],
    ['expired', { ...now, verified: false, error: 'CERT_HAS_EXPIRED' }],
    ['not valid', { ...now, verified: false, error: 'matches none of the TLSA records' }],
  ])('the TLS details say that the certificate is %s', (verdict, tls) => {
    expect(describeCertificate(tls)).toBe(verdict)
  })
})
