import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { networkInterfaces } from 'node:os'
import type { Clock } from '../clock/clock.ts'

/** Which IP addresses may be dialled: pure functions on addresses and networks. */

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network in CIDR form; made by `parseNetworks`. */
export interface Cidr {
  readonly text: string
  readonly address: Address
  readonly bits: number
}

/**
 * Reads networks such as `10.0.0.0/8` or `fd00::/8`; an address alone is a network of one.
 * Throws an Error that lists every entry that is none, and why.
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

/** Whether one of the networks contains the address. What is not an address is in none. */
export function inNetworks(ip: string, networks: readonly Cidr[]): boolean {
  const address = parseAddress(ip)
  return address !== undefined && contains(networks, address)
}

/** Whether mail and other requests must not be sent to this address; see `whyForbidden`. */
export function isForbiddenTarget(
  ip: string,
  allowNetworks: readonly Cidr[],
  own: readonly string[] = [],
): boolean {
  return whyForbidden(ip, allowNetworks, own) !== undefined
}

/**
 * Why an address is off limits, in words that complete "the address … is"; undefined when it may be dialled.
 *
 * The owner of any domain chooses what its MX and A records point to. Only globally reachable unicast addresses are
 * fair targets, unless a network in `allowNetworks` contains the address. This machine's own addresses are none:
 * what listens there may trust them.
 * @param own addresses of this machine's interfaces, as `canonicalIp` writes them
 */
export function whyForbidden(
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

/** Private and shared address space (RFC 1918, RFC 6598, RFC 4193). A company's name servers may well be there, so DNS queries may go there. */
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

/** Addresses that carry an IPv4 address lead to that one, and are judged by it. */
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
  // IANA has given out global unicast addresses from 2000::/3 only; the rest is reserved or long deprecated,
  // such as the IPv4-compatible ::127.0.0.1.
  if (address.parts[0]! >> 13 !== 1) return 'outside the global unicast space 2000::/3'
  return own.includes(address.toRFC5952String()) ? 'an address of this machine' : undefined
}

/** The IPv4 address inside NAT64's well-known prefix (RFC 6052 §2.1) and 6to4 (RFC 3056 §2). */
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
 * node:net decides what an address is: the package also takes 0x7f.1 and 2130706433. ::ffff:1.2.3.4 counts as 1.2.3.4;
 * ::1.2.3.4 does not, although the package thinks so: the kernel dials an IPv6 address.
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
  // Mapped addresses are looked up as IPv4 addresses, so a network of them is one of those.
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
 * What addresses of one customer have in common, for counting by source: an IPv4 address, or the first `bits` of an IPv6 one.
 * @param bits 64: one network (RFC 4291 §2.5.4); 48: all that one site is given (RFC 6177), from which an attacker can choose
 */
export function sourceNetwork(ip: string, bits: 48 | 64 = 64): string {
  const address = parseAddress(ip)
  if (!address) return ip
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  const parts = address.parts.slice(0, bits / 16)
  return parts.map((part) => part.toString(16)).join(':')
}

/** An address in the one way in which it is written: RFC 5952 for IPv6; undefined for what is none. */
export function canonicalIp(ip: string): string | undefined {
  const address = parseAddress(ip)
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address?.toString()
}

/**
 * The labels under which DNS keeps what it knows of an address: its bytes backwards in decimal (RFC 1035 §3.5), its
 * nibbles backwards in hexadecimal for IPv6 (RFC 3596 §2.5). `ip` must be an address.
 */
export function reverseLabels(ip: string): string {
  const bytes = parseAddress(ip)!.toByteArray()
  if (bytes.length === 4) return bytes.toReversed().join('.')
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [...hex].toReversed().join('.')
}

/** How long a list of addresses is used before the kernel is asked again, in milliseconds. */
const FRESH_MS = 10_000

/** Lists the machine's own addresses, without loopback, as `canonicalIp` writes them. */
export function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address }) => canonicalIp(address) ?? address),
  )
}

/** Makes a function that lists the same addresses as `list`, which it asks at most once in ten seconds. */
export function refreshedAddresses(
  clock: Pick<Clock, 'now'>,
  list: () => readonly string[] = machineAddresses,
): () => readonly string[] {
  let last: { at: number; addresses: readonly string[] } | undefined
  return () => {
    const now = clock.now()
    if (!last || now < last.at || now - last.at >= FRESH_MS) last = { at: now, addresses: list() }
    return last.addresses
  }
}
