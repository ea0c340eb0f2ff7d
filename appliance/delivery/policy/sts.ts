/**
 * Parses MTA-STS: the TXT record, the policy file, and host patterns (RFC 8461). Pure.
 *
 * Doesn't use mailauth's `mta-sts`, which makes its own requests: without a check for private IPs, and only to port 443
 * and one IP. It also parses leniently by default. Its adapter would be longer than this grammar.
 */
import type { StsPolicy } from '../../storage/storage.ts'

/** The content of `_mta-sts.<domain>`; `invalid` completes "the record …". */
export type StsRecord = { kind: 'id'; id: string } | { kind: 'none' } | { kind: 'invalid'; why: string }

/** Name and value of an extension field (RFC 8461 §3.1, §3.2). */
const EXTENSION_NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/i
const EXTENSION_VALUE = /^[!-:<>-~]+$/

/**
 * Parses the TXT records of `_mta-sts.<domain>` (RFC 8461 §3.1). Ignores those that don't begin with `v=STSv1;`. Unless
 * exactly one is left, the domain has no policy.
 */
export function parseStsRecord(records: readonly string[]): StsRecord {
  const ours = records.filter((record) => /^v=STSv1[ \t]*;/.test(record))
  if (ours.length === 0) return { kind: 'none' }
  if (ours.length > 1) return { kind: 'invalid', why: 'exists more than once' }
  const fields = ours[0]!.split(';').slice(1)
  if (/^[ \t]*$/.test(fields.at(-1)!)) fields.pop()
  let id: string | undefined
  for (const field of fields) {
    const [, name, value] = /^[ \t]*([^=]*)=(.*?)[ \t]*$/s.exec(field) ?? []
    if (
      name === undefined ||
      value === undefined ||
      !EXTENSION_NAME.test(name) ||
      !EXTENSION_VALUE.test(value)
    )
      return { kind: 'invalid', why: 'has a field that is not name=value' }
    if (name === 'id') id ??= value
  }
  if (id === undefined) return { kind: 'invalid', why: 'has no id' }
  if (!/^[a-z0-9]{1,32}$/i.test(id))
    return { kind: 'invalid', why: 'has an id that is not 1 to 32 letters and digits' }
  return { kind: 'id', id }
}

/** Maximum lifetime of a policy, in seconds: about a year (RFC 8461 §3.2). */
const MOST_MAX_AGE = 31_557_600

/**
 * Maximum number of patterns in a policy, far more than real ones have. Limited because each is compared with each
 * host.
 */
const MOST_PATTERNS = 200

const DOMAIN =
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Parses a policy file (RFC 8461 §3.2); returns a string that completes "the policy …" when it is invalid. */
export function parseStsPolicy(text: string): StsPolicy | string {
  const once = new Map<string, string>()
  const mx: string[] = []
  for (const line of text.replace(/(?:\r?\n)+$/, '').split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? []
    if (name === undefined || value === undefined || !EXTENSION_NAME.test(name))
      return 'has a line that is not "name: value"'
    // If a field occurs twice, the first one counts (RFC 8461 §3.2).
    if (name === 'mx') mx.push(value.toLowerCase())
    else if (!once.has(name)) once.set(name, value)
  }
  if (once.get('version') !== 'STSv1') return 'does not say "version: STSv1"'
  const mode = once.get('mode')
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none')
    return 'has no mode of enforce, testing or none'
  const maxAge = once.get('max_age') ?? ''
  if (!/^\d{1,10}$/.test(maxAge) || Number(maxAge) > MOST_MAX_AGE)
    return `has no max_age of 0 to ${MOST_MAX_AGE} seconds`
  const wrong = mx.find((pattern) => pattern.length > 255 || !DOMAIN.test(pattern))
  if (wrong !== undefined) return 'has an mx that is neither a host name nor "*." and a domain'
  if (mx.length > MOST_PATTERNS) return `lists more than ${MOST_PATTERNS} mx`
  if (mode !== 'none' && mx.length === 0) return 'lists no mx'
  return { mode, maxAge: Number(maxAge), mx: [...new Set(mx)] }
}

/** Returns the policy's lines as quoted in TLS reports (RFC 8460 §4.4). */
export function formatStsPolicyLines({ mode, mx, maxAge }: StsPolicy): string[] {
  return ['version: STSv1', `mode: ${mode}`, ...mx.map((pattern) => `mx: ${pattern}`), `max_age: ${maxAge}`]
}

/**
 * Returns the pattern that a host matches; undefined for none (RFC 8461 §4.1). A wildcard stands for exactly one label,
 * the leftmost.
 */
export function findMatchingMx(policy: StsPolicy, host: string): string | undefined {
  const name = host.toLowerCase().replace(/\.$/, '')
  const parent = name.slice(name.indexOf('.') + 1)
  return policy.mx.find((pattern) =>
    pattern.startsWith('*.') ? name.includes('.') && parent === pattern.slice(2) : name === pattern,
  )
}
