import type { Attempt } from '../../../appliance/api/timeline.ts'

/** Descriptions of certificate errors, by their names in OpenSSL and Node. */
const FAULTS: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'with an incomplete chain',
  ERR_TLS_CERT_ALTNAME_INVALID: 'for another name',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not valid yet',
  CERT_REVOKED: 'revoked',
}

/** Describes the validity of a certificate in words that follow "certificate". */
export function describeCertificate(tls: NonNullable<Attempt['tls']>): string {
  if (tls.verified) return tls.by === 'dane' ? 'valid by DANE' : 'valid'
  return FAULTS[tls.error ?? ''] ?? 'not valid'
}

/** Describes the TLS connection and the certificate. Its validity is appended by the caller. */
export function describeTlsConnection(tls: NonNullable<Attempt['tls']>): string {
  const how = [tls.version, tls.cipher, tls.group].filter(Boolean).join(' ')
  const valid = [tls.validFrom && `from ${tls.validFrom.slice(0, 10)}`, `until ${tls.validTo.slice(0, 10)}`]
  const certificate = `Certificate of ${tls.subject || '(no name)'}, issued by ${tls.issuer || '(no name)'}`
  return `${how}. ${certificate}, ${valid.filter(Boolean).join(' ')}`
}
