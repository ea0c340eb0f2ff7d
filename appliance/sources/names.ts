/** What a host name looks like to receivers. Pure. */

/** Top-level names that no receiver can look up (RFC 6761, RFC 8375, and what is in use without a standard). */
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

/** Words in names that providers give to addresses of customers; such names count against mail. */
const GENERIC =
  /(^|[.-])(dyn|dynamic|dhcp|ppp|pppoe|dsl|adsl|vdsl|cable|dial|dialup|dialin|pool|pools|cust|customer|broadband|user|client)\d*([.-]|$)/i

/** Whether a name is of the local network only. */
export function isInternalName(name: string): boolean {
  return INTERNAL.has(name.toLowerCase().split('.').at(-1)!)
}

/** Whether a name looks made up for an address (`ip-192-0-2-1.example.net`), as those of home connections are. */
export function looksGeneric(name: string): boolean {
  const [host] = /^(.*?)\.[^.]+\.[^.]+$/.exec(name)?.slice(1) ?? [name]
  const numbers = (host ?? '').split(/\D+/).filter((part) => part !== '' && Number(part) < 256)
  return GENERIC.test(name) || numbers.length >= 4 || /(^|[^0-9a-f])[0-9a-f]{8}([^0-9a-f]|$)/.test(host ?? '')
}
