import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { networkInterfaces } from 'node:os'
import type { Clock } from '../clock/clock.ts'

/** Decides which IPs may be contacted. Pure functions on IPs and networks. */

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network in CIDR notation; created by `parseNetworks`. */
export interface Cidr {
  readonly text: string
  readonly address: Address
  readonly bits: number
}

/**
 * Parses networks such as `10.0.0.0/8` or `fd00::/8`. A single IP is a network with one address. Throws an error that
 * lists every invalid entry and its problem.
 */
export function parseNetworks(list: readonly string[]): Cidr[] {
  const complaints: string[] = []
  const networks = list.flatMap((entry) => {
    const network = parseNetwork(entry.trim())
    if (typeof network !== 'string') return [network]
    complaints.push(`"${entry}" ${network}`)
    return []
  })
  if (complaints.length > 0) throw new Error(complaints.join('; '))
  return networks
}

/** Whether one of the networks contains the IP. No network contains an invalid IP. */
export function isInNetworks(ip: string, networks: readonly Cidr[]): boolean {
  const address = parseAddress(ip)
  return address !== undefined && contains(networks, address)
}

/** Whether connections to this IP are forbidden; see `explainForbiddenTarget`. */
export function isForbiddenTarget(
  ip: string,
  allowNetworks: readonly Cidr[],
  own: readonly string[] = [],
): boolean {
  return explainForbiddenTarget(ip, allowNetworks, own) !== undefined
}

/**
 * Returns why an IP is forbidden, in words that complete "the address … is"; undefined if it is allowed.
 *
 * The owner of any domain chooses its MX and A records. Only globally reachable unicast IPs are allowed, unless a
 * network in `allowNetworks` contains the IP. This machine's own IPs are forbidden, because services there may trust
 * them.
 * @param own IPs of this machine's interfaces, as formatted by `normalizeIp`
 */
export function explainForbiddenTarget(
  ip: string,
  allowNetworks: readonly Cidr[],
  own: readonly string[] = [],
): string | undefined {
  const address = parseAddress(ip)
  if (!address) return 'not an IP address'
  if (contains(allowNetworks, address)) return undefined
  if (address instanceof ipaddr.IPv4) return judge4(address, own)
  return judge6(address, allowNetworks, own)
}

/**
 * Private and shared address space (RFC 1918, RFC 6598, RFC 4193). A company's name servers may be there, so DNS
 * queries are allowed.
 */
export const PRIVATE_NETWORKS: readonly Cidr[] = parseNetworks([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
])

const words: Record<string, string> = {
  unspecified: 'unspecified',
  broadcast: 'the broadcast address',
  multicast: 'multicast',
  linkLocal: 'link-local',
  loopback: 'loopback',
  carrierGradeNat: 'in the shared address space of carrier-grade NAT (RFC 6598)',
  private: 'in a private network (RFC 1918)',
  uniqueLocal: 'in a private network (RFC 4193)',
}

function judge4(address: ipaddr.IPv4, own: readonly string[]): string | undefined {
  const range = address.range()
  if (range !== 'unicast') return words[range] ?? 'reserved for a special purpose'
  return own.includes(address.toString()) ? 'an address of this machine' : undefined
}

/** Returns why an IPv6 address is forbidden. If it embeds an IPv4 address, checks that address. */
function judge6(
  address: ipaddr.IPv6,
  allowNetworks: readonly Cidr[],
  own: readonly string[],
): string | undefined {
  const embedded = embedded4(address)
  if (embedded) {
    if (contains(allowNetworks, embedded)) return undefined
    const why = judge4(embedded, own)
    return why && `an address that embeds ${embedded.toString()}, which is ${why}`
  }
  const range = address.range()
  if (range !== 'unicast') return words[range] ?? 'reserved for a special purpose'
  // IANA has assigned global unicast addresses only in 2000::/3. The rest is reserved or deprecated, such as the
  // IPv4-compatible ::127.0.0.1.
  if (address.parts[0]! >> 13 !== 1) return 'outside the global unicast space 2000::/3'
  return own.includes(address.toRFC5952String()) ? 'an address of this machine' : undefined
}

/** Returns the IPv4 address embedded in NAT64's well-known prefix (RFC 6052 §2.1) or 6to4 (RFC 3056 §2). */
function embedded4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const bytes = address.toByteArray()
  if (address.match(nat64, 96)) return new ipaddr.IPv4(bytes.slice(12))
  if (address.match(sixToFour, 16)) return new ipaddr.IPv4(bytes.slice(2, 6))
  return undefined
}
const nat64 = ipaddr.IPv6.parse('64:ff9b::')
const sixToFour = ipaddr.IPv6.parse('2002::')

function contains(networks: readonly Cidr[], address: Address): boolean {
  return networks.some(
    (network) => network.address.kind() === address.kind() && address.match(network.address, network.bits),
  )
}

/**
 * Parses an IP if node:net accepts it; the package also accepts 0x7f.1 and 2130706433. ::ffff:1.2.3.4 is parsed as
 * 1.2.3.4. ::1.2.3.4 is not, although the package would do so, because the kernel connects to an IPv6 address.
 */
function parseAddress(ip: string): Address | undefined {
  return isIP(ip) === 0 ? undefined : ipaddr.process(ip.replace(/^::(?=\d+\.)/, '0:0:0:0:0:0:'))
}

function parseNetwork(entry: string): Cidr | string {
  const [ip = '', prefix, ...rest] = entry.split('/')
  const address = isIP(ip) === 0 ? undefined : ipaddr.parse(ip)
  if (!address || rest.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) {
    return 'is not a network; use the form 10.0.0.0/8 or fd00::/8'
  }
  const width = address.kind() === 'ipv4' ? 32 : 128
  const bits = prefix === undefined ? width : Number(prefix)
  if (bits > width) return `has a prefix longer than ${width} bits`
  const first = firstAddress(address, bits)
  if (first.toString() !== withoutZone(address)) {
    return `has bits set after the prefix: did you mean ${first.toString()}/${bits}?`
  }
  // Mapped addresses are matched as IPv4, so a network of mapped addresses is converted.
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
  return mapped
    ? { text: entry, address: address.toIPv4Address(), bits: bits - 96 }
    : { text: entry, address, bits }
}

function withoutZone(address: Address): string {
  return ipaddr.fromByteArray(address.toByteArray()).toString()
}

function firstAddress(address: Address, bits: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const kept = Math.min(Math.max(bits - index * 8, 0), 8)
    return byte & (0xff00 >> kept)
  })
  return ipaddr.fromByteArray(bytes)
}

/**
 * Returns the part that the IPs of one customer have in common, for counting by source: the IPv4 address, or the first
 * `bits` of an IPv6 address.
 * @param bits 64 for one network (RFC 4291 §2.5.4); 48 for a whole site (RFC 6177), whose addresses one attacker can
 * use
 */
export function getSourceNetwork(ip: string, bits: 48 | 64 = 64): string {
  const address = parseAddress(ip)
  if (!address) return ip
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  const parts = address.parts.slice(0, bits / 16)
  return parts.map((part) => part.toString(16)).join(':')
}

/** Normalizes an IP (RFC 5952 for IPv6); undefined when invalid. */
export function normalizeIp(ip: string): string | undefined {
  const address = parseAddress(ip)
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address?.toString()
}

/**
 * Returns the labels of an IP in reverse DNS: octets in decimal (RFC 1035 §3.5), for IPv6 nibbles in hex (RFC 3596
 * §2.5), in reverse order. `ip` must be valid.
 */
export function toReverseLabels(ip: string): string {
  const bytes = parseAddress(ip)!.toByteArray()
  if (bytes.length === 4) return bytes.toReversed().join('.')
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [...hex].toReversed().join('.')
}

/** How long the list of IPs is cached, in milliseconds. */
const FRESH_MS = 10_000

/** Lists the machine's own IPs except loopback, as formatted by `normalizeIp`. */
export function listMachineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address }) => normalizeIp(address) ?? address),
  )
}

/** Returns a function that caches the result of `list` for ten seconds. */
export function createAddressCache(
  clock: Pick<Clock, 'now'>,
  list: () => readonly string[] = listMachineAddresses,
): () => readonly string[] {
  let last: { at: number; addresses: readonly string[] } | undefined
  return () => {
    const now = clock.now()
    if (!last || now < last.at || now - last.at >= FRESH_MS) last = { at: now, addresses: list() }
    return last.addresses
  }
}
