import { generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { encodeAltNames, contextTag, encodeDer, OID, TAG } from '../wire/der.ts'

/** A certificate signing request (RFC 2986) in DER, and its private key in PEM. */
export interface SigningRequest {
  csr: Buffer
  key: string
}

/** Generates an ECDSA P-256 key and a request for these names; the first is the common name. */
export async function createSigningRequest(names: readonly string[]): Promise<SigningRequest> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  // RFC 5280 Appendix A.1: a common name has at most 64 characters. Longer names go into the extension only.
  const short = names[0]!.length <= 64
  const name = encodeDer(TAG.SEQUENCE, OID.commonName, encodeDer(TAG.UTF8, Buffer.from(names[0]!)))
  const subject = short ? encodeDer(TAG.SEQUENCE, encodeDer(TAG.SET, name)) : encodeDer(TAG.SEQUENCE)
  const extensions = encodeDer(
    TAG.SEQUENCE,
    OID.extensionRequest,
    encodeDer(TAG.SET, encodeDer(TAG.SEQUENCE, encodeAltNames(names))),
  )
  const body = encodeDer(
    TAG.SEQUENCE,
    encodeDer(TAG.INTEGER, Buffer.of(0)), // version 1
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(contextTag(0), extensions),
  )
  const signature = encodeDer(TAG.BIT_STRING, Buffer.of(0), sign('sha256', body, privateKey))
  return {
    csr: encodeDer(TAG.SEQUENCE, body, encodeDer(TAG.SEQUENCE, OID.ecdsaWithSha256), signature),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}
