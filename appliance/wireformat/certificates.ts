import type * as schema from '../http/schemas/certificates.ts'
import type { CertificateView } from '../mail/certificate.ts'
import { timestampOrNull } from '../api/timestamp.ts'

/** An element of GET /certificates, and of `certificate list`. */
export function presentCertificate(view: CertificateView): schema.Certificate {
  const { name, source, file, names, issuer, failures, error } = view
  return {
    object: 'certificate',
    ...{ name, source, file, names, issuer },
    valid_from: timestampOrNull(view.validFrom),
    valid_until: timestampOrNull(view.validUntil),
    renew_at: timestampOrNull(view.renewAt),
    ...{ failures, error },
    retry_at: timestampOrNull(view.retryAt),
  }
}
