/** Evaluates host names as receivers do. Pure. */

/** Top-level names that receivers can't look up (RFC 6761, RFC 8375, and others used without a standard). */
const INTERNAL = new Set([
  'local',
  'localhost',
  'localdomain',
  'internal',
  'lan',
  'home',
  'arpa',
  'invalid',
  'test',
  'example',
])

/** Matches words in host names that providers assign to customers. Receivers distrust mail from such hosts. */
const GENERIC =
  /(^|[.-])(dyn|dynamic|dhcp|ppp|pppoe|dsl|adsl|vdsl|cable|dial|dialup|dialin|pool|pools|cust|customer|broadband|user|client)\d*([.-]|$)/i

/** Whether a name is only valid in the local network. */
export function isInternalName(name: string): boolean {
  return INTERNAL.has(name.toLowerCase().split('.').at(-1)!)
}

/** Whether a name looks generated from an IP (`ip-192-0-2-1.example.net`), as for home connections. */
export function looksGeneric(name: string): boolean {
  const [host] = /^(.*?)\.[^.]+\.[^.]+$/.exec(name)?.slice(1) ?? [name]
  const numbers = (host ?? '').split(/\D+/).filter((part) => part !== '' && Number(part) < 256)
  return GENERIC.test(name) || numbers.length >= 4 || /(^|[^0-9a-f])[0-9a-f]{8}([^0-9a-f]|$)/.test(host ?? '')
}
