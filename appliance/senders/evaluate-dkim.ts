import type { ExpectedRecord } from './records.ts'
import { validVerdict, createInvalidVerdict, type RecordVerdict, parseTags } from './evaluate-spf.ts'

const withoutSpace = (text: string) => text.replaceAll(/\s+/g, '')
const ends = (key: string) => (key.length > 24 ? `${key.slice(0, 8)}…${key.slice(-8)}` : key)

/**
 * Evaluates whether receivers will find our key (RFC 6376 §3.6.1, §3.6.2.2). Only the key must match; other tags may
 * differ.
 */
export function evaluateDkimRecord(expected: ExpectedRecord, records: string[]): RecordVerdict {
  if (records.length > 1 && isSplit(expected, records))
    return createInvalidVerdict(
      `The value was split into ${records.length} TXT records. Enter it as one record. If the DNS panel accepts only short texts, split it into several strings of that record.`,
    )
  if (records.length > 1)
    return createInvalidVerdict(
      `There are ${records.length} TXT records at ${expected.fqdn}, and receivers may use any of them. Keep only the one shown here.`,
    )
  const tags = parseTags(records[0]!)
  if (!tags)
    return createInvalidVerdict('The value is not a DKIM key record. Replace it with the one shown here.')
  const version = tags.get('v')
  if (version !== undefined && (version !== 'DKIM1' || [...tags.keys()][0] !== 'v'))
    return createInvalidVerdict('The record must start with v=DKIM1. Replace it with the one shown here.')
  const wanted = parseTags(expected.value)!
  const type = tags.get('k') ?? 'rsa'
  if (type !== wanted.get('k'))
    return createInvalidVerdict(
      `The key type is k=${type}, but it must be k=${wanted.get('k') ?? 'rsa'}. Replace the record.`,
    )
  const limits = judgeLimits(tags)
  return limits.right ? judgeKey(tags.get('p'), wanted.get('p')!) : limits
}

/**
 * Whether one record was split into several. Receivers concatenate the strings of one record (RFC 6376 §3.6.2.2), but
 * not several records.
 */
function isSplit({ value }: ExpectedRecord, records: string[]): boolean {
  const whole = withoutSpace(value)
  return [records, records.toReversed()].some((pieces) => withoutSpace(pieces.join('')) === whole)
}

/** Checks for tags that prevent a correct key from being used. */
function judgeLimits(tags: Map<string, string>): RecordVerdict {
  const list = (name: string) =>
    tags
      .get(name)
      ?.split(':')
      .map((item) => item.trim())
  if (list('h')?.includes('sha256') === false)
    return createInvalidVerdict(`The tag h=${tags.get('h')!} does not allow SHA-256 signatures. Remove it.`)
  const services = list('s')
  if (services && !services.includes('*') && !services.includes('email'))
    return createInvalidVerdict(`The tag s=${tags.get('s')!} does not allow the key for email. Remove it.`)
  return validVerdict
}

function judgeKey(published: string | undefined, ours: string): RecordVerdict {
  if (published === undefined)
    return createInvalidVerdict('The record has no p= tag with the key. Replace it with the one shown here.')
  const theirs = withoutSpace(published)
  if (theirs === ours) return validVerdict
  if (theirs === '')
    return createInvalidVerdict(
      'The p= tag is empty, which means that the key is revoked. Replace the record with the one shown here.',
    )
  if (ours.startsWith(theirs))
    return createInvalidVerdict(
      `The key is truncated after ${theirs.length} of ${ours.length} characters. Enter the whole value, in several strings if the DNS panel requires it.`,
    )
  if (theirs.includes('"'))
    return createInvalidVerdict(
      'The key contains quotation marks. Enter the value as one string without them.',
    )
  return createInvalidVerdict(
    `p= is a different key: ${ends(theirs)} instead of ${ends(ours)}. Replace the record with the one shown here.`,
  )
}
