import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { parse } from 'tldts'

/** The result of validating a domain name: A-labels in lower case, or what is wrong. */
export type NameValidation = { ok: true; name: string } | { ok: false; expected: string }

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/**
 * Maximum length of a domain name, which leaves space for `<label>._domainkey.` within 253 octets (RFC 1035 §2.3.4).
 */
const longest = 170

/**
 * Validates a name for use as `@text`. Converts internationalized names to A-labels (UTS 46). Refuses names that no one
 * can own: public suffixes such as `co.uk`, single labels, IPs. Allows reserved names such as `example.test`.
 */
export function validateDomainName(text: string): NameValidation {
  const no = (expected: string): NameValidation => ({ ok: false, expected })
  const trimmed = text.trim().replace(/\.$/, '')
  // domainToASCII parses its input as the host of a URL. It would cut off or decode these characters instead of
  // refusing them.
  if (trimmed === '' || /[\s%/@:?#\\[\]]/.test(trimmed)) return no('a domain name such as example.com')
  const name = domainToASCII(trimmed)
  if (name === '' || isIP(name) !== 0) return no('a domain name such as example.com')
  if (name.length > longest) return no(`a domain name of at most ${longest} characters`)
  const labels = name.split('.')
  if (!labels.every((part) => label.test(part)))
    return no('only letters, digits and hyphens between the dots')
  if (labels.length < 2) return no('a domain name with a dot, such as example.com')
  const { domain, publicSuffix } = parse(name)
  if (domain === null) return no(`a domain below the public suffix ${publicSuffix ?? name}`)
  return { ok: true, name }
}

/** Whether `text` can be the label of the return path: one or more labels, separated by dots. */
export function isReturnPathLabel(text: string): boolean {
  return text.length <= 63 && text.split('.').every((part) => label.test(part))
}
