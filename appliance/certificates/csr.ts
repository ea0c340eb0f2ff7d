import { generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { altNames, contextTag, der, OID, TAG } from '../wire/der.ts'

/** A certificate signing request (RFC 2986) in DER, and its private key in PEM. */
export interface SigningRequest {
  csr: Buffer
  key: string
}

/** Generates an ECDSA P-256 key and a request for these names; the first is the common name. */
export async function signingRequest(names: readonly string[]): Promise<SigningRequest> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  // RFC 5280 Appendix A.1: a common name has at most 64 characters. Longer names go into the extension only.
  const short = names[0]!.length <= 64
  const name = der(TAG.SEQUENCE, OID.commonName, der(TAG.UTF8, Buffer.from(names[0]!)))
  const subject = short ? der(TAG.SEQUENCE, der(TAG.SET, name)) : der(TAG.SEQUENCE)
  const extensions = der(TAG.SEQUENCE, OID.extensionRequest, der(TAG.SET, der(TAG.SEQUENCE, altNames(names))))
  const body = der(
    TAG.SEQUENCE,
    der(TAG.INTEGER, Buffer.of(0)), // version 1
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(contextTag(0), extensions),
  )
  const signature = der(TAG.BIT_STRING, Buffer.of(0), sign('sha256', body, privateKey))
  return {
    csr: der(TAG.SEQUENCE, body, der(TAG.SEQUENCE, OID.ecdsaWithSha256), signature),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}
