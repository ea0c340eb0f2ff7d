import { domainToASCII } from 'node:url'

/** Longest domain name as text: 255 octets on the wire (RFC 1035 §2.3.4) less the length octet and the root. */
export const MAX_DOMAIN = 253

/** A label of a host name (RFC 1123 §2.1): letters, digits, hyphens, no hyphen at an end, 63 at most. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** What may be in a name before conversion. node:url would cut at `/`, drop tabs and decode `%2e` instead of refusing. */
const plausible = /^[\p{L}\p{M}\p{N}.\-\u3002\uFF0E\uFF61\u200C\u200D]+$/u

/** A name in its one form already, as nearly all are; not one with A-labels, which can be wrong. Converting it would change nothing. */
const usual = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/

/**
 * Brings a mail domain into its one form: A-labels (UTS #46, RFC 5890), lower case, no root dot.
 * Returns undefined for what no public mail domain is: one label only (`localhost`), an address literal, a bare
 * IPv4 address, an underscore or any character outside of letters, digits and hyphens.
 */
export function parseDomain(text: string): string | undefined {
  if (text.length > MAX_DOMAIN) return undefined
  if (usual.test(text) && !text.includes('xn--')) return text
  if (!plausible.test(text)) return undefined
  const name = domainToASCII(text)
  if (name === '' || name.length > MAX_DOMAIN) return undefined
  const labels = name.split('.')
  if (labels.length < 2 || !labels.every((part) => label.test(part))) return undefined
  // A numeric last label is an IPv4 address in disguise (RFC 3696 §2).
  return /^\d+$/.test(labels.at(-1)!) ? undefined : name
}
