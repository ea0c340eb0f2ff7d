/** Reports about TLS: the days that they count, and where a domain wants to hear of the TLS that its senders met (RFC 8460 §3). Pure. */

/** The day of an instant in UTC, YYYY-MM-DD (RFC 8460 §4.1). @param at Unix milliseconds */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** What `_smtp._tls.<domain>` says: URIs in their order; `invalid` completes "the record …". */
export type TlsReportTargets =
  { kind: 'targets'; uris: string[] } | { kind: 'none' } | { kind: 'invalid'; why: string }

/** More than any honest record names; each is one more email or request a day. */
const MOST_TARGETS = 5

/** A field that a later version may add. */
const EXTENSION = /^[a-z0-9][a-z0-9_.-]{0,31}=[!-:<>-~]+$/i

/**
 * Reads the TXT records of `_smtp._tls.<domain>`. Those that do not begin with `v=TLSRPTv1;` are left out; if the rest is not exactly one, the
 * domain wants no reports.
 */
export function readTlsReportRecord(records: readonly string[]): TlsReportTargets {
  const ours = records.filter((record) => /^v=TLSRPTv1[ \t]*;/.test(record))
  if (ours.length === 0) return { kind: 'none' }
  if (ours.length > 1) return { kind: 'invalid', why: 'exists more than once' }
  const fields = ours[0]!
    .split(';')
    .slice(1)
    .map((field) => field.replace(/^[ \t]+|[ \t]+$/g, ''))
  if (fields.at(-1) === '') fields.pop()
  const rua = fields[0]
  if (rua === undefined || !/^rua[ \t]*=/.test(rua))
    return { kind: 'invalid', why: 'does not begin with rua=' }
  if (!fields.slice(1).every((field) => EXTENSION.test(field)))
    return { kind: 'invalid', why: 'has a field that is not name=value' }
  const uris = rua
    .slice(rua.indexOf('=') + 1)
    .split(',')
    .map((uri) => uri.trim())
  const wrong = uris.find((uri) => !isTarget(uri))
  if (wrong !== undefined) return { kind: 'invalid', why: 'has a URI that is neither mailto: nor https:' }
  return { kind: 'targets', uris: [...new Set(uris)].slice(0, MOST_TARGETS) }
}

function isTarget(uri: string): boolean {
  if (/^mailto:/i.test(uri)) return mailtoAddress(uri) !== undefined
  return /^https:\/\/[!-~]+$/i.test(uri) && URL.canParse(uri)
}

/** The address of a `mailto:` URI, percent-encoding undone; undefined for what is no address. Header fields in it are left out. */
export function mailtoAddress(uri: string): string | undefined {
  const encoded = /^mailto:([^?,]+)(?:\?.*)?$/i.exec(uri)?.[1]
  if (encoded === undefined) return undefined
  try {
    const address = decodeURIComponent(encoded)
    return /^[^\s@<>"(),:;\\[\]\0-\x1f\x7f]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(address) &&
      address.length <= 254
      ? address
      : undefined
  } catch {
    return undefined // a stray percent sign
  }
}
