import type { CipherNameAndProtocol, PeerCertificate, TLSSocket } from 'node:tls'
import type { TlsInfo } from '../mail/transcript.ts'

/** The name in a certificate that people know it by. */
function nameOf(part: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  const name = part?.CN ?? part?.O ?? ''
  return Array.isArray(name) ? name.join(', ') : name
}

/** What was agreed on, with the judgement of the certificate; opportunistic TLS goes on without (RFC 7435). */
export function describeTls(socket: TLSSocket): TlsInfo {
  // Both are empty when the server hung up in the same moment, whatever their types say.
  const certificate = (socket.getPeerCertificate() as PeerCertificate | null) ?? undefined
  const cipher = socket.getCipher() as CipherNameAndProtocol | undefined
  const validTo = Date.parse(certificate?.valid_to ?? '')
  return {
    version: socket.getProtocol() ?? 'unknown',
    cipher: cipher?.standardName ?? 'unknown',
    verified: socket.authorized,
    error: socket.authorized ? null : String(socket.authorizationError),
    subject: nameOf(certificate?.subject),
    issuer: nameOf(certificate?.issuer),
    validTo: Number.isNaN(validTo) ? '' : new Date(validTo).toISOString(),
  }
}
