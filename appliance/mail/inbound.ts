/** Received email: what is known of who sent it. Pure vocabulary. */

/** The results of RFC 8601 §2.7 that are used here. */
export const AUTH_RESULTS = [
  'pass',
  'fail',
  'softfail',
  'neutral',
  'none',
  'policy',
  'temperror',
  'permerror',
] as const
export type AuthResult = (typeof AUTH_RESULTS)[number]

/** One check of a received message. */
export interface AuthVerdict {
  result: AuthResult
  /** The domain that was checked; null: none. */
  domain: string | null
}

/** Whether a received message comes from whom it says: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 9989), ARC (RFC 8617). */
export interface Authentication {
  spf: AuthVerdict
  /** The best signature: one that passes, then one of the From domain. */
  dkim: AuthVerdict
  /** `domain` is the one of From. */
  dmarc: AuthVerdict
  arc: AuthVerdict
}

/** A received email as an event tells of it. */
export interface ToldReceived {
  emailId: string
  createdAt: number
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  receivedFor: string[]
  messageId: string
  subject: string
  attachments: {
    id: string
    filename: string | null
    contentType: string
    disposition: 'attachment' | 'inline'
    contentId: string | null
  }[]
}
