/**
 * Tokens of sign-up forms: in confirmation links, and the proof of when a page was shown. Authenticated with
 * HMAC-SHA256 (RFC 2104), so that strangers can't make one. Pure, apart from the secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { isId } from '../mail/ids.ts'

export interface FormTokens {
  /** Returns the token of a confirmation link: URL-safe, 43 characters. */
  confirming(signupId: string): string
  /** Returns the sign-up of a token; undefined if this server didn't create it. */
  signupOf(token: string): string | undefined
  /** Returns the proof that a form's page was shown at a time (Unix milliseconds). */
  shownAt(formId: string, at: number): string
  /** Returns the time of a proof; undefined if it isn't for this form. */
  timeOf(formId: string, proof: string): number | undefined
}

/** Octets of an id and of a truncated MAC. */
const ID = 16
const MAC = 16

/**
 * Creates the tokens of sign-up forms.
 * @param secret at least 32 random octets; the same for all nodes of a storage
 */
export function createFormTokens(secret: Uint8Array): FormTokens {
  const mac = (purpose: string, text: string): Buffer =>
    createHmac('sha256', secret).update(`${purpose}\n${text}`).digest().subarray(0, MAC)
  const same = (given: Buffer, right: Buffer): boolean =>
    given.length === right.length && timingSafeEqual(given, right)
  return {
    confirming(signupId) {
      const id = Buffer.from(signupId.replaceAll('-', ''), 'hex')
      return Buffer.concat([id, mac('confirm', signupId)]).toString('base64url')
    },
    signupOf(token) {
      if (token.length > 100) return undefined
      const bytes = Buffer.from(token, 'base64url')
      // Accepts only the canonical spelling: base64 may have unused bits at the end (RFC 4648 §3.5).
      if (bytes.length !== ID + MAC || bytes.toString('base64url') !== token) return undefined
      const hex = bytes.subarray(0, ID).toString('hex')
      const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
      return isId(id) && same(bytes.subarray(ID), mac('confirm', id)) ? id : undefined
    },
    shownAt(formId, at) {
      const time = at.toString(36)
      return `${time}.${mac('shown', `${formId}\n${time}`).toString('base64url')}`
    },
    timeOf(formId, proof) {
      const [time = '', signature = '', ...rest] = proof.slice(0, 100).split('.')
      if (rest.length > 0) return undefined
      const right = mac('shown', `${formId}\n${time}`)
      return same(Buffer.from(signature, 'base64url'), right) ? Number.parseInt(time, 36) : undefined
    },
  }
}
