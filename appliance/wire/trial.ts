/** Checks a certificate of ours as a client would: by a handshake in memory. */
import { duplexPair } from 'node:stream'
import { connect, TLSSocket, type SecureContext } from 'node:tls'

/** The oldest version of TLS that our servers accept. */
const OLDEST = 'TLSv1.2'

/**
 * Resolves to when the certificate expires, in Unix milliseconds; 0 if a client rejects it: another name, expired, not from
 * an authority that the runtime trusts, or without the intermediate certificates. Never rejects.
 *
 * A handshake, because Node has no other way to check a chain. It uses the time of the machine.
 * @param context the certificate with its chain and key
 * @param name the name that the client connects to
 * @param ca PEM of an authority to trust instead of the runtime's
 */
export function trustedUntil(context: SecureContext, name: string, ca?: string): Promise<number> {
  const [near, far] = duplexPair()
  return new Promise((resolve) => {
    const server = new TLSSocket(far, { isServer: true, secureContext: context })
    const client = connect({ socket: near, servername: name, minVersion: OLDEST, ca })
    const end = (until: number): void => {
      resolve(until)
      client.destroy()
      server.destroy()
    }
    // The client's error has the reason; the server only learns that the client has left.
    server.on('error', () => end(0)).on('_tlsError', () => end(0))
    client.on('error', () => end(0)).on('close', () => end(0))
    client.on('secureConnect', () => end(Date.parse(client.getPeerCertificate().valid_to)))
  })
}
