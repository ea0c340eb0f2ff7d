/** Email addresses extracted from pasted text. */

export interface Pasted {
  /** Without duplicates, in order of appearance. */
  addresses: string[]
  /** Entries without an address, unchanged. */
  strange: string[]
}

/** Maximum length of an address in SMTP (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const LONGEST = 254

/** Distinguishes addresses from other words. The server validates them. */
const ADDRESS = /^[^\s@<>",;]+@[^\s@<>",;]+$/

/** Extracts addresses separated by lines, commas or semicolons. Accepts `Name <address>`. */
export function pastedAddresses(text: string): Pasted {
  const seen = new Set<string>()
  const found: Pasted = { addresses: [], strange: [] }
  // Removes quoted names, which may contain separators.
  const entries = text.replaceAll(/"[^"\n\r]*"/g, '').split(/[\n\r,;]+/)
  for (const entry of entries.map((part) => part.trim())) {
    if (entry === '') continue
    const address = bareAddress(entry)
    if (!ADDRESS.test(address) || address.length > LONGEST) found.strange.push(entry)
    else if (!seen.has(address.toLowerCase())) found.addresses.push(address)
    seen.add(address.toLowerCase())
  }
  return found
}

/** Returns the address in `Name <address>`, or a plain address. */
export const bareAddress = (text: string): string => /<([^<>]*)>\s*$/.exec(text)?.[1]?.trim() ?? text.trim()

/** Splits a list into chunks of at most `size`. */
export const pieces = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/** Returns the unique domains of the recipients, sorted. */
export function recipientDomains(emails: readonly { to: readonly string[] }[]): string[] {
  const domains = emails.flatMap(({ to }) =>
    to.map((one) => /@([^@<>\s]+)>?$/.exec(one)?.[1]?.toLowerCase() ?? ''),
  )
  return [...new Set(domains)].filter((domain) => domain !== '').sort()
}
