import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { parse } from 'tldts'

/** A sending domain's name, judged: A-labels and lower case, or what is wrong with it. */
export type NameJudgement = { ok: true; name: string } | { ok: false; expected: string }

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** Leaves room for `<label>._domainkey.` before the name within the 253 octets of RFC 1035 §2.3.4. */
const longest = 170

/**
 * Whether mail can be sent as `@text`. Internationalised names become A-labels (UTS 46). Names that nobody can own are
 * refused: public suffixes such as `co.uk`, single labels, addresses; reserved names such as `example.test` are not.
 */
export function judgeName(text: string): NameJudgement {
  const no = (expected: string): NameJudgement => ({ ok: false, expected })
  const trimmed = text.trim().replace(/\.$/, '')
  // domainToASCII reads its input as the host of a URL: these would be cut off or decoded instead of refused.
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

/** Whether `text` can be the label of the return path: one label, or several with dots between. */
export function isReturnPathLabel(text: string): boolean {
  return text.length <= 63 && text.split('.').every((part) => label.test(part))
}
