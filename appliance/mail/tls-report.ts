/** TLS reports: the days that they cover, and the URIs that a domain wants them sent to (RFC 8460 §3). Pure. */

/** Returns the UTC day, YYYY-MM-DD, of a time (RFC 8460 §4.1). @param at Unix milliseconds */
export const formatUtcDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** The content of `_smtp._tls.<domain>`: URIs in order; `invalid` completes "the record …". */
export type TlsReportTargets =
  { kind: 'targets'; uris: string[] } | { kind: 'none' } | { kind: 'invalid'; why: string }

/** Maximum number of targets, more than any real record has. Each costs an additional email or request per day. */
const MOST_TARGETS = 5

/** An extension field (RFC 8460 §3). */
const EXTENSION = /^[a-z0-9][a-z0-9_.-]{0,31}=[!-:<>-~]+$/i

/**
 * Parses the TXT records of `_smtp._tls.<domain>`. Ignores those that don't begin with `v=TLSRPTv1;`. Unless exactly
 * one is left, the domain wants no reports (RFC 8460 §3).
 */
export function parseTlsReportRecord(records: readonly string[]): TlsReportTargets {
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
  if (/^mailto:/i.test(uri)) return parseMailtoAddress(uri) !== undefined
  return /^https:\/\/[!-~]+$/i.test(uri) && URL.canParse(uri)
}

/** Returns the address of a `mailto:` URI, percent-decoded and without header fields; undefined when invalid. */
export function parseMailtoAddress(uri: string): string | undefined {
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
