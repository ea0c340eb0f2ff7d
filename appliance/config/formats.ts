import { isAbsolute } from 'node:path'
import { isIP } from 'node:net'
import { Type, type TSchema } from 'typebox'
import { splitPostgresUrl } from './postgres-url.ts'

/** A string format in the schema: the description for error messages, and the test. */
interface Format {
  expected: string
  /** The plural for lists; set for every format that a list uses. */
  plural?: string
  test(text: string): boolean
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

function isHostname(text: string): boolean {
  const labels = text.split('.')
  return text.length <= 253 && labels.every((part) => label.test(part)) && !/^\d+$/.test(labels.at(-1)!)
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
}

/** Splits `1.2.3.4:25`, `[::1]:25` or `localhost:25`; undefined for anything else. */
function splitHostPort(text: string): { host: string; port: string } | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d+)$/.exec(text)
  if (!match) return undefined
  const [, ipv6, other, port] = match
  if (ipv6 !== undefined && isIP(ipv6) !== 6) return undefined
  return { host: ipv6 ?? other!, port: port! }
}

function isNetwork(text: string): boolean {
  const [address, length, ...rest] = text.split('/')
  const family = isIP(address!)
  if (family === 0 || rest.length > 0 || text.includes('%')) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128))
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return /^https?:$/.test(url.protocol) && text.replace(/\/$/, '').toLowerCase() === url.origin
}

function isDirectory(text: string): boolean {
  if (text === 'letsencrypt' || text === 'letsencrypt-staging') return true
  return URL.canParse(text) && new URL(text).protocol === 'https:'
}

/**
 * Whether a URL can be an issuer. http:// is allowed for this machine only, because otherwise an attacker on the
 * network path could pose as the provider.
 */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, search, hash, username, password } = new URL(text)
  if (search !== '' || hash !== '' || username !== '' || password !== '') return false
  const local = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && local)
}

export const FORMATS: Record<string, Format> = {
  'acme-directory': {
    expected: '"letsencrypt", "letsencrypt-staging" or an https:// URL',
    test: isDirectory,
  },
  hostname: {
    expected: 'a fully qualified hostname such as mail.example.com',
    plural: 'fully qualified hostnames, such as mail.example.com',
    test: (text) => isHostname(text) && text.includes('.'),
  },
  'absolute-path': {
    expected: 'an absolute path such as /var/lib/posthaste',
    test: (text) => isAbsolute(text) && !text.includes('\0'),
  },
  'host-port': {
    expected: 'an address with a port, such as 0.0.0.0:8025 or [::]:8025',
    plural: 'addresses with ports, such as 0.0.0.0:8025 or [::]:8025',
    test(text) {
      const parts = splitHostPort(text)
      return parts !== undefined && isPort(parts.port) && (isIP(parts.host) > 0 || isHostname(parts.host))
    },
  },
  milter: {
    expected: 'an address with a port, such as 127.0.0.1:8891, or unix: with an absolute path',
    plural: 'addresses with ports, such as 127.0.0.1:8891, or unix: with an absolute path',
    test(text) {
      if (text.startsWith('unix:')) return isAbsolute(text.slice('unix:'.length)) && !text.includes('\0')
      const parts = splitHostPort(text)
      if (parts === undefined || !isPort(parts.port) || parts.port === '0') return false
      return isIP(parts.host) > 0 || isHostname(parts.host)
    },
  },
  'ip-optional-port': {
    expected: 'an IP address, with or without a port, such as 127.0.0.1:53 or [::1]:53',
    plural: 'IP addresses, with or without ports, such as 127.0.0.1:53 or [::1]:53',
    test(text) {
      if (isIP(text) > 0) return true
      const parts = splitHostPort(text)
      return parts !== undefined && isPort(parts.port) && parts.port !== '0' && isIP(parts.host) > 0
    },
  },
  ip: {
    expected: 'an IP address such as 192.0.2.1 or 2001:db8::1',
    plural: 'IP addresses, such as 192.0.2.1 or 2001:db8::1',
    test: (text) => isIP(text) > 0 && !text.includes('%'),
  },
  address: {
    expected: 'an email address such as tls-reports@example.com',
    test(text) {
      const at = text.lastIndexOf('@')
      const domain = text.slice(at + 1)
      return (
        /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/i.test(text.slice(0, at)) &&
        isHostname(domain) &&
        domain.includes('.')
      )
    },
  },
  network: {
    expected: 'a network such as 10.0.0.0/8 or fd00::/8',
    plural: 'networks, such as 10.0.0.0/8 or fd00::/8',
    test: isNetwork,
  },
  origin: {
    expected: 'an origin such as https://mail.example.com, without a path',
    test: isOrigin,
  },
  issuer: {
    expected: 'a URL such as https://login.example.com (http:// only on this machine)',
    test: isIssuer,
  },
  'postgres-url': {
    expected:
      'a URL such as postgres://posthaste@db.example.com/posthaste, with "host" as the only possible parameter',
    test: (text) => splitPostgresUrl(text) !== undefined,
  },
  region: {
    expected: 'up to 50 lowercase letters, digits and hyphens, such as eu-west-1',
    test: (text) => /^[a-z0-9][a-z0-9-]{0,49}$/.test(text),
  },
  's3-bucket': {
    expected: 'the name of a bucket: 3 to 63 lowercase letters, digits, hyphens and periods',
    test: (text) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) && !text.includes('..'),
  },
  's3-prefix': {
    expected: 'empty, or letters, digits, hyphens, periods and slashes, with a slash at the end',
    test: (text) => text.length <= 200 && /^([a-z0-9_-][a-z0-9._-]*\/)*$/i.test(text),
  },
  's3-region': {
    expected: 'a region such as eu-central-1',
    test: (text) => /^[a-z0-9-]{1,64}$/i.test(text),
  },
  's3-key': {
    expected: 'an access key ID, without spaces, commas and slashes',
    test: (text) => /^[!-~]{1,128}$/.test(text) && !/[,/]/.test(text),
  },
  'provider-id': {
    expected: 'up to 32 lowercase letters, digits and hyphens, such as google',
    test: (text) => /^[a-z0-9][a-z0-9-]{0,31}$/.test(text),
  },
  id: { expected: 'an ID from the list of API keys', test: (text) => /^[0-9a-f-]{36}$/i.test(text) },
}

/** Defines a list of strings in one format (formats.ts). */
export const stringList = (description: string, format: string, value: string[] = [], options: object = {}) =>
  Type.Array(Type.String({ format }), { default: value, description, ...options })

/** Defines a section of the file. */
export const section = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description })

/** Marks keys whose value is never shown in a complaint. */
export const secret = { secret: true }
