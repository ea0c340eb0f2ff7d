import { issueCertificates, listCertificates, renewCertificates } from './certificate.ts'
import type { Registrar } from './registrar.ts'

/** `certificate`: what HTTPS and SMTP show. */
export function addCertificates({ group, add, does }: Registrar): void {
  const certificate = group('certificate', 'Manage TLS certificates of the listeners')
  add(
    'list',
    'List certificates with their expiry dates and errors from the certificate authority',
    certificate,
  ).action(does(listCertificates))
  add('issue', 'Request missing or failed certificates now', certificate).action(does(issueCertificates))
  add('renew', 'Renew all certificates now', certificate).action(does(renewCertificates))
}
