import { issueCertificates, listCertificates, renewCertificates } from './certificate.ts'
import type { Registrar } from './registrar.ts'

/** `certificate`: what HTTPS and SMTP show. */
export function addCertificates({ group, add, does }: Registrar): void {
  const certificate = group('certificate', 'TLS certificates of the listeners')
  add('list', 'list them, with their ends and what the authority said', certificate).action(
    does(listCertificates),
  )
  add('issue', 'have the daemon ask the authority for what is missing or failed, now', certificate).action(
    does(issueCertificates),
  )
  add('renew', 'have the daemon ask the authority for all of its certificates anew', certificate).action(
    does(renewCertificates),
  )
}
