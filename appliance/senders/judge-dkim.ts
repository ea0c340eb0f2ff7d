import type { ExpectedRecord } from './records.ts'
import { right, wrong, type Opinion, parseTags } from './judge-spf.ts'

const withoutSpace = (text: string) => text.replaceAll(/\s+/g, '')
const ends = (key: string) => (key.length > 24 ? `${key.slice(0, 8)}…${key.slice(-8)}` : key)

/**
 * Judges whether receivers will find our key (RFC 6376 §3.6.1, §3.6.2.2). Only the key must match; other tags may
 * differ.
 */
export function judgeDkim(expected: ExpectedRecord, records: string[]): Opinion {
  if (records.length > 1 && isSplit(expected, records))
    return wrong(
      `The value was split into ${records.length} TXT records. Enter it as one record. If the DNS panel accepts only short texts, split it into several strings of that record.`,
    )
  if (records.length > 1)
    return wrong(
      `There are ${records.length} TXT records at ${expected.fqdn}, and receivers may use any of them. Keep only the one shown here.`,
    )
  const tags = parseTags(records[0]!)
  if (!tags) return wrong('The value is not a DKIM key record. Replace it with the one shown here.')
  const version = tags.get('v')
  if (version !== undefined && (version !== 'DKIM1' || [...tags.keys()][0] !== 'v'))
    return wrong('The record must start with v=DKIM1. Replace it with the one shown here.')
  const wanted = parseTags(expected.value)!
  const type = tags.get('k') ?? 'rsa'
  if (type !== wanted.get('k'))
    return wrong(
      `The key type is k=${type}, but it must be k=${wanted.get('k') ?? 'rsa'}. Replace the record.`,
    )
  const limits = judgeLimits(tags)
  return limits.right ? judgeKey(tags.get('p'), wanted.get('p')!) : limits
}

/**
 * Whether one record was split into several. Strings of one record are concatenated (RFC 6376 §3.6.2.2), records
 * aren't.
 */
function isSplit({ value }: ExpectedRecord, records: string[]): boolean {
  const whole = withoutSpace(value)
  return [records, records.toReversed()].some((pieces) => withoutSpace(pieces.join('')) === whole)
}

/** Checks for tags that prevent a correct key from being used. */
function judgeLimits(tags: Map<string, string>): Opinion {
  const list = (name: string) =>
    tags
      .get(name)
      ?.split(':')
      .map((item) => item.trim())
  if (list('h')?.includes('sha256') === false)
    return wrong(`The tag h=${tags.get('h')!} does not allow SHA-256 signatures. Remove it.`)
  const services = list('s')
  if (services && !services.includes('*') && !services.includes('email'))
    return wrong(`The tag s=${tags.get('s')!} does not allow the key for email. Remove it.`)
  return right
}

function judgeKey(published: string | undefined, ours: string): Opinion {
  if (published === undefined)
    return wrong('The record has no p= tag with the key. Replace it with the one shown here.')
  const theirs = withoutSpace(published)
  if (theirs === ours) return right
  if (theirs === '')
    return wrong(
      'The p= tag is empty, which means that the key is revoked. Replace the record with the one shown here.',
    )
  if (ours.startsWith(theirs))
    return wrong(
      `The key is truncated after ${theirs.length} of ${ours.length} characters. Enter the whole value, in several strings if the DNS panel requires it.`,
    )
  if (theirs.includes('"'))
    return wrong('The key contains quotation marks. Enter the value as one string without them.')
  return wrong(
    `p= is a different key: ${ends(theirs)} instead of ${ends(ours)}. Replace the record with the one shown here.`,
  )
}
