/** Checks one of our certificates as a client would: by a handshake in memory. */
import { duplexPair } from 'node:stream'
import { connect, TLSSocket, type SecureContext } from 'node:tls'

/** The oldest version of TLS that our servers accept. */
const OLDEST = 'TLSv1.2'

/**
 * Resolves to the expiry of the certificate in Unix milliseconds; 0 if a client would reject it because of another
 * name, its expiry, an authority that the runtime doesn't trust, or missing intermediate certificates. Never rejects.
 *
 * Makes a handshake, because Node has no other way to check a chain. It uses the time of the machine.
 * @param context the certificate with its chain and key
 * @param name the name that the client connects to
 * @param ca PEM of an authority to trust instead of the runtime's
 */
export function checkTrustExpiry(context: SecureContext, name: string, ca?: string): Promise<number> {
  const [near, far] = duplexPair()
  return new Promise((resolve) => {
    const server = new TLSSocket(far, { isServer: true, secureContext: context })
    const client = connect({ socket: near, servername: name, minVersion: OLDEST, ca })
    const end = (until: number): void => {
      resolve(until)
      client.destroy()
      server.destroy()
    }
    // Only the client's error has the reason; the server just sees the connection end.
    server.on('error', () => end(0)).on('_tlsError', () => end(0))
    client.on('error', () => end(0)).on('close', () => end(0))
    client.on('secureConnect', () => end(Date.parse(client.getPeerCertificate().valid_to)))
  })
}
