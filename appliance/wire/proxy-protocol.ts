/** Parses the PROXY protocol, versions 1 and 2, in which a load balancer reports the client's IP. Pure. */
import { isIP, isIPv4 } from 'node:net'

/** The content of the first bytes of a connection. */
export type ProxyHeader =
  /** More bytes are needed. */
  | { kind: 'incomplete' }
  | { kind: 'invalid'; why: string }
  /**
   * `source` is null if the balancer itself connects (health checks) or the client's IP is unknown. The header has
   * `length` bytes.
   */
  | { kind: 'header'; source: string | null; length: number }

/** Maximum length of a version 1 line with CRLF (PROXY protocol §2.1). */
const MAX_V1 = 107
/**
 * Maximum number of bytes after the fixed part of a version 2 header. The protocol allows 64 KB of extensions, but
 * balancers send a few hundred bytes.
 */
const MAX_V2 = 4096

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const V2_HEAD = 16

const invalid = (why: string): ProxyHeader => ({ kind: 'invalid', why })

/** Parses the header at the start of `bytes`. A connection that lacks a required header is refused. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (bytes.length === 0) return { kind: 'incomplete' }
  const seen = Math.min(bytes.length, signature.length)
  if (bytes.subarray(0, seen).equals(signature.subarray(0, seen)))
    return bytes.length < V2_HEAD ? { kind: 'incomplete' } : parseV2(bytes)
  return parseV1(bytes)
}

function parseV1(bytes: Buffer): ProxyHeader {
  const text = bytes.subarray(0, MAX_V1).toString('latin1')
  const start = 'PROXY '
  if (!start.startsWith(text.slice(0, start.length))) return invalid('it does not start with a PROXY header')
  const end = text.indexOf('\r\n')
  if (end < 0) return bytes.length < MAX_V1 ? { kind: 'incomplete' } : invalid('its PROXY line does not end')
  const [family, source, ...rest] = text.slice(start.length, end).split(' ')
  const length = end + 2
  if (family === 'UNKNOWN') return { kind: 'header', source: null, length }
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : 0
  if (version === 0 || rest.length !== 3 || isIP(source ?? '') !== version || isIP(rest[0]!) !== version)
    return invalid('its PROXY line is malformed')
  return { kind: 'header', source: source!, length }
}

/** Parses version 2 (PROXY protocol §2.2): signature, version and command, family, length, addresses, extensions. */
function parseV2(bytes: Buffer): ProxyHeader {
  const command = bytes[12]!
  const family = bytes[13]!
  const size = bytes.readUInt16BE(14)
  if (command >> 4 !== 2 || (command & 15) > 1)
    return invalid('its PROXY header has an unknown version or command')
  if (size > MAX_V2) return invalid('its PROXY header is too long')
  const length = V2_HEAD + size
  if (bytes.length < length) return { kind: 'incomplete' }
  if ((command & 15) === 0) return { kind: 'header', source: null, length }
  if (family >> 4 === 1 && size >= 12)
    return { kind: 'header', source: bytes.subarray(V2_HEAD, V2_HEAD + 4).join('.'), length }
  if (family >> 4 === 2 && size >= 36)
    return { kind: 'header', source: ipv6(bytes.subarray(V2_HEAD)), length }
  if (family >> 4 === 0) return { kind: 'header', source: null, length }
  return invalid('its PROXY header has no IP addresses')
}

function ipv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/** Converts an IPv4-mapped IPv6 address to IPv4 (RFC 4291 §2.5.5.2). */
export function unmapIpv4(ip: string): string {
  const inner = /^::ffff:(.+)$/i.exec(ip)?.[1]
  return inner !== undefined && isIPv4(inner) ? inner : ip
}
