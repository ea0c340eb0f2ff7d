/** Prepares values for the audit log: removes secrets and shortens long values. Pure. */

/** Replaces a secret. */
const ELIDED = '[secret]'

/** Names of fields that must not be logged: passwords, tokens, private keys, second-factor codes. */
const SECRET_NAME =
  /pass(word|phrase)|secret|token|private_?key|credential|authorization|cookie|recovery_?codes?|^(otp|code|codes|pin|totp|response|assertion)$|hash$/i

/**
 * Values that are secret under any name: API keys, webhook signing secrets, links that sign in, private keys in PEM
 * (RFC 7468).
 */
const SECRET_VALUE =
  /\bre_\w{8,}|\bwhsec_[\w+/=-]+|(?<=\/shared\/|\/invitation#)[^/\s]+|-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*/g

/**
 * Maximum number of list items to keep. An import has thousands of rows, and the first ones are enough to recognize it.
 */
const MOST_ITEMS = 50
const MOST_FIELDS = 100
const MOST_CHARACTERS = 2000
const DEEPEST = 8

/** Returns a copy as plain JSON with secrets removed by name and by pattern. Long values are cut and marked. */
export function redactSecrets(value: unknown): unknown {
  return plain(value, 0)
}

function plain(value: unknown, depth: number): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`
  if (typeof value !== 'object' || depth >= DEEPEST) return '[…]'
  if (Array.isArray(value)) return items(value, depth)
  return fields(value, depth)
}

function items(values: readonly unknown[], depth: number): unknown[] {
  const kept = values.slice(0, MOST_ITEMS).map((one) => plain(one, depth + 1))
  return values.length > MOST_ITEMS ? [...kept, `[and ${values.length - MOST_ITEMS} more]`] : kept
}

function fields(value: object, depth: number): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  const kept = entries.slice(0, MOST_FIELDS).map(([name, one]) => [
    name,
    // Null and booleans are kept, because whether a secret exists isn't secret.
    SECRET_NAME.test(name) && one !== null && typeof one !== 'boolean' ? ELIDED : plain(one, depth + 1),
  ])
  return Object.fromEntries(kept) as Record<string, unknown>
}

function text(value: string): string {
  const safe = withoutUrlSecrets(value).replace(SECRET_VALUE, ELIDED)
  if (safe.length <= MOST_CHARACTERS) return safe
  return `${safe.slice(0, MOST_CHARACTERS)} [and ${safe.length - MOST_CHARACTERS} more characters]`
}

/**
 * Removes secrets from a URL, which may have a password before the host or a token in its query (RFC 3986 §3.2.1,
 * §3.4).
 */
function withoutUrlSecrets(value: string): string {
  if (!/^https?:/i.test(value) || !URL.canParse(value)) return value
  const url = new URL(value)
  if (url.password === '' && url.username === '' && url.search === '') return value
  if (url.username !== '' || url.password !== '') [url.username, url.password] = ['secret', '']
  const names = [...url.searchParams.keys()]
  url.search = ''
  const query = names.map((name) => `${encodeURIComponent(name)}=${ELIDED}`).join('&')
  return query === '' ? url.href : `${url.href}?${query}`
}
