/**
 * Reads feedback reports: ARF (RFC 5965) with its extensions (RFC 6591, RFC 6692), also redacted ones (RFC 6590). Pure.
 */
import type { Feedback, ReturnedMailKind } from '../../mail/returned.ts'
import { extractAddress } from './addresses.ts'
import { decodeText, type ParsedMessage } from './parts.ts'

export interface FeedbackReport {
  kind: Extract<ReturnedMailKind, 'complaint' | 'not-spam' | 'dmarc-failure'>
  feedback: Feedback
  /** Original-Mail-From (RFC 5965 §3.2). */
  mailFrom: string | null
  /** Original-Envelope-Id (RFC 5965 §3.2). */
  envelopeId: string | null
}

const MAX_FIELDS = 500
const MAX_VALUE = 2000
const MAX_RECIPIENTS = 1000

/**
 * Returns the feedback report in a message, or undefined. Feedback-Type, User-Agent and Version are required (RFC 5965
 * §3.1), but one of the last two is enough here.
 */
export function parseFeedbackReport({ contentType, parts }: ParsedMessage): FeedbackReport | undefined {
  const declared = contentType.parameters.get('report-type')?.toLowerCase() === 'feedback-report'
  const part =
    parts.find(({ type }) => type === 'message/feedback-report') ??
    (declared
      ? parts.find((one) => one.type === 'text/plain' && /^Feedback-Type:/im.test(decodeText(one)))
      : undefined)
  if (!part) return undefined
  const fields = readFields(decodeText(part))
  const first = (name: string): string | null => fields.get(name)?.[0] ?? null
  const type = first('feedback-type')
    ?.toLowerCase()
    .match(/[a-z][a-z-]{0,39}/)?.[0]
  if (type === undefined || !(fields.has('user-agent') || fields.has('version'))) return undefined
  const incidents = Number(first('incidents') ?? 1)
  return {
    kind: kindOf(type),
    feedback: {
      type,
      userAgent: first('user-agent'),
      recipients: recipientsIn(fields),
      sourceIp: first('source-ip'),
      reportedDomain: first('reported-domain')?.toLowerCase() ?? null,
      arrivalDate: first('arrival-date') ?? first('received-date'),
      incidents: Number.isSafeInteger(incidents) && incidents > 0 ? incidents : 1,
      authFailure: first('auth-failure')?.toLowerCase() ?? null,
    },
    mailFrom: extractAddress(first('original-mail-from') ?? ''),
    envelopeId: first('original-envelope-id'),
  }
}

/** Maps a Feedback-Type. Unknown types count as `other`, which is a complaint (RFC 5965 §3.1, §7.3). */
function kindOf(type: string): FeedbackReport['kind'] {
  if (type === 'not-spam') return 'not-spam'
  return type === 'auth-failure' || type === 'dmarc' ? 'dmarc-failure' : 'complaint'
}

/**
 * Returns all values of Original-Rcpt-To, which may repeat (RFC 5965 §3.3). A redacted value is not an address but is
 * kept.
 */
function recipientsIn(fields: ReadonlyMap<string, string[]>): string[] {
  const values = ['original-rcpt-to', 'removal-recipient', 'original-recipient'].map(
    (name) => fields.get(name) ?? [],
  )
  const found = values.find((list) => list.length > 0) ?? []
  const parts = found.flatMap((value) => value.split(/,\s*/)).slice(0, MAX_RECIPIENTS)
  return [...new Set(parts.map((one) => extractAddress(one) ?? one.replaceAll(/[<>]/g, '').trim()))].filter(
    (one) => one !== '',
  )
}

/** Parses RFC 5322 fields into a map from lower-case name to all values. */
function readFields(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>()
  let last: string[] | undefined
  for (const line of text.split('\n', MAX_FIELDS * 2)) {
    const [, name, value] = /^([!-9;-~]{1,76})[ \t]*:[ \t]?(.*)$/.exec(line.slice(0, MAX_VALUE)) ?? []
    if (name !== undefined && fields.size < MAX_FIELDS) {
      last = fields.get(name.toLowerCase()) ?? []
      last.push(value!.trim())
      fields.set(name.toLowerCase(), last)
    } else if (last && /^[ \t]/.test(line) && last.at(-1)!.length < MAX_VALUE)
      last.push(`${last.pop()!} ${line.trim().slice(0, MAX_VALUE)}`)
  }
  return fields
}
