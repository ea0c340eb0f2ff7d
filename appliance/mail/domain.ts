import { domainToASCII } from 'node:url'

/**
 * Maximum length of a domain name as text: 255 octets on the wire (RFC 1035 §2.3.4) minus the length octet and the
 * root.
 */
export const MAX_DOMAIN_LENGTH = 253

/** A label of a host name (RFC 1123 §2.1): letters, digits and inner hyphens, at most 63. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Characters allowed before conversion. node:url would truncate at `/`, drop tabs and decode `%2e` instead of rejecting
 * them.
 */
const plausible = /^[\p{L}\p{M}\p{N}.\-\u3002\uFF0E\uFF61\u200C\u200D]+$/u

/** A name that is already normalized, as nearly all are. Excludes A-labels, which can be invalid. */
const usual = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/

/**
 * Normalizes a mail domain: A-labels (UTS #46, RFC 5890), lower case, no root dot. Undefined when it can't be a public
 * mail domain: a single label (`localhost`), an address literal, an IPv4 address, an underscore, or any other character
 * that isn't a letter, digit or hyphen.
 */
export function parseDomain(text: string): string | undefined {
  if (text.length > MAX_DOMAIN_LENGTH) return undefined
  if (usual.test(text) && !text.includes('xn--')) return text
  if (!plausible.test(text)) return undefined
  const name = domainToASCII(text)
  if (name === '' || name.length > MAX_DOMAIN_LENGTH) return undefined
  const labels = name.split('.')
  if (labels.length < 2 || !labels.every((part) => label.test(part))) return undefined
  // A numeric last label is an IPv4 address (RFC 3696 §2).
  return /^\d+$/.test(labels.at(-1)!) ? undefined : name
}
