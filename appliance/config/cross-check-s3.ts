/** Checks [s3] and storage.bodies: what a bucket requires, and settings that have no effect. */
import { isIP } from 'node:net'
import type { ConfiguredValue } from './environment.ts'

/** Settings that a bucket can't do without, besides its secret. */
const REQUIRED = ['s3.endpoint', 's3.bucket', 's3.access_key_id'] as const
const SECRETS = ['s3.secret_access_key', 's3.secret_access_key_file'] as const

/** Finds missing and contradicting settings of the bucket. */
export function checkBucket(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const written = [...given.keys()].find((key) => key.startsWith('s3.'))
  const isUsed = values.get('storage.bodies') === 's3'
  if (written === undefined && !isUsed) return []
  const missing: string[] = REQUIRED.filter((key) => values.get(key) === undefined)
  const secrets = SECRETS.filter((key) => values.get(key) !== undefined)
  if (secrets.length === 0) missing.push(`${SECRETS[0]} or ${SECRETS[1]}`)
  const at = isUsed && given.has('storage.bodies') ? 'storage.bodies' : (written ?? 'storage.bodies')
  if (missing.length > 0) {
    const what = isUsed ? 'storage.bodies "s3" requires' : '[s3] requires'
    return [{ key: at, message: `${what} ${missing.join(', ')}.` }]
  }
  if (secrets.length > 1)
    return [{ key: SECRETS[1], message: `${SECRETS[0]} is set, too. Set only one of the two.` }]
  if (given.has('s3.ca') && !String(values.get('s3.endpoint')).startsWith('https:'))
    return [{ key: 's3.ca', message: 's3.ca has no effect unless s3.endpoint is an https:// URL.' }]
  const { hostname } = new URL(String(values.get('s3.endpoint')))
  if (values.get('s3.path_style') === false && isIP(hostname.replace(/^\[|\]$/g, '')) > 0)
    return [{ key: 's3.path_style', message: 's3.path_style must be true if s3.endpoint has an IP address.' }]
  return []
}
