/** Received email: its sender, the authentication results, and the spam verdict. Types only. */

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

/** The result of one check. */
export interface AuthVerdict {
  result: AuthResult
  /** The domain that was checked; null for none. */
  domain: string | null
}

/**
 * Results that show whether a received message comes from its stated sender: SPF (RFC 7208), DKIM (RFC 6376), DMARC
 * (RFC 9989), ARC (RFC 8617).
 */
export interface Authentication {
  spf: AuthVerdict
  /** The best signature: one that passes, or else one of the From domain. */
  dkim: AuthVerdict
  /** `domain` is that of From. */
  dmarc: AuthVerdict
  arc: AuthVerdict
}

/** The spam filter's verdict on an accepted message. */
export interface SpamVerdict {
  /** Whether the filter marks it as spam. */
  flagged: boolean
  score: number
  /** The score from which the filter rejects messages. */
  rejectScore: number
  /** Names of the filter's rules that matched, heaviest first. */
  symbols: string[]
}

/** A received email in an event's payload. */
export interface EventReceivedEmail {
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
