import { Type, type Static } from 'typebox'
import { array, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { listOf, Timestamp } from './shared.ts'
import type { CertificateView } from '../mail/node.ts'
import { timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'

/** An element of GET /certificates. Not part of the hosted API. */
export const Certificate = object("A TLS certificate of the server's listeners.", {
  object: kind('certificate'),
  name: string('The first name in the certificate.'),
  source: literals(
    ['authority', 'file', 'self_signed'],
    '`authority`: obtained and renewed by the server; `file`: set in the configuration.',
  ),
  file: Nullable(Type.String(), 'Path of the file; null: none yet.'),
  names: array(Type.String(), 'All names in the certificate.'),
  issuer: Nullable(Type.String(), 'The issuer.'),
  valid_from: Nullable(Timestamp, 'Start of validity; null: no certificate.'),
  valid_until: Nullable(Timestamp, 'Expiry time; null: no certificate.'),
  renew_at: Nullable(Timestamp, 'When the server requests the next certificate.'),
  failures: integer('Number of consecutive failed attempts.'),
  error: Nullable(Type.String(), 'Error of the last attempt, or why the file cannot be read.'),
  retry_at: Nullable(Timestamp, 'Time of the next attempt.'),
})
export type Certificate = Static<typeof Certificate>

export const CertificateList = listOf(Certificate, 'TLS certificates')

const operation = operationsIn('Service')

export const listCertificates = operation('GET /certificates', {
  summary: 'List TLS certificates',
  description:
    'The certificates of HTTPS and SMTP with their expiry dates, and errors of the certificate authority. For the team that operates the server.',
  response: { 200: CertificateList },
})

/** Formats an element of GET /certificates and of `certificate list`. */
export function presentCertificate(view: CertificateView): Certificate {
  const { name, source, file, names, issuer, failures, error } = view
  return {
    object: 'certificate',
    name,
    source,
    file,
    names,
    issuer,
    valid_from: timestampOrNull(view.validFrom),
    valid_until: timestampOrNull(view.validUntil),
    renew_at: timestampOrNull(view.renewAt),
    failures,
    error,
    retry_at: timestampOrNull(view.retryAt),
  }
}
