import { readFileSync } from 'node:fs'
import type { TlsOptions } from 'node:tls'

/**
 * How a test server offers TLS. trusted: a certificate of the test authority for *.trusted.test and *.gmail.test ·
 * expired: the same, but expired · self-signed: for mx.self-signed.test · broken: the handshake always fails.
 */
export type TlsMode = 'none' | 'trusted' | 'self-signed' | 'expired' | 'broken'

/**
 * Returns the path of a PEM file in test/world/tls, such as `ca.pem`, which makes a client trust the test authority.
 */
export function tlsFile(name: string): string {
  return readFileSync(new URL(`./tls/${name}`, import.meta.url), 'utf8')
}

/** Returns the server's TLS options for this mode. */
export function tlsOptions(mode: Exclude<TlsMode, 'none'>): TlsOptions {
  if (mode === 'broken') {
    // An elliptic-curve key with RSA ciphers only: there is no usable cipher.
    const cannot: TlsOptions = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }
    return { ...tlsOptions('trusted'), ...cannot }
  }
  return { key: tlsFile(`${mode}.key`), cert: tlsFile(`${mode}.pem`) }
}
