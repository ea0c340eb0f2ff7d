/** Email addresses extracted from pasted text. */

export interface PastedAddresses {
  /** Addresses without duplicates, in order of appearance. */
  addresses: string[]
  /** Entries that contain no address, unchanged. */
  strange: string[]
}

/** Maximum length of an address in SMTP (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const LONGEST = 254

/** Matches text that looks like an address. The server validates addresses. */
const ADDRESS = /^[^\s@<>",;]+@[^\s@<>",;]+$/

/** Extracts addresses separated by lines, commas or semicolons. Accepts `Name <address>`. */
export function extractAddresses(text: string): PastedAddresses {
  const seen = new Set<string>()
  const found: PastedAddresses = { addresses: [], strange: [] }
  // Removes quoted display names, which may contain separators.
  const entries = text.replaceAll(/"[^"\n\r]*"/g, '').split(/[\n\r,;]+/)
  for (const entry of entries.map((part) => part.trim())) {
    if (entry === '') continue
    const address = extractBareAddress(entry)
    if (!ADDRESS.test(address) || address.length > LONGEST) found.strange.push(entry)
    else if (!seen.has(address.toLowerCase())) found.addresses.push(address)
    seen.add(address.toLowerCase())
  }
  return found
}

/** Returns the address of `Name <address>`, or a plain address. */
export const extractBareAddress = (text: string): string =>
  /<([^<>]*)>\s*$/.exec(text)?.[1]?.trim() ?? text.trim()

/** Splits a list into chunks of at most `size`. */
export const chunk = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/** Returns the unique domains of the recipients, sorted. */
export function listRecipientDomains(emails: readonly { to: readonly string[] }[]): string[] {
  const domains = emails.flatMap(({ to }) =>
    to.map((one) => /@([^@<>\s]+)>?$/.exec(one)?.[1]?.toLowerCase() ?? ''),
  )
  return [...new Set(domains)].filter((domain) => domain !== '').sort()
}
