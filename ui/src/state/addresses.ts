/** Email addresses out of pasted text. */

export interface Pasted {
  /** In their order, each once. */
  addresses: string[]
  /** Entries that hold no address, as they were written. */
  strange: string[]
}

/** Longest address that SMTP carries (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const LONGEST = 254

/** Enough to tell an address from other words; whether it is one is the appliance's to say. */
const ADDRESS = /^[^\s@<>",;]+@[^\s@<>",;]+$/

/** Reads one address per line, or several with commas or semicolons between; `Name <address>` gives the address. */
export function pastedAddresses(text: string): Pasted {
  const seen = new Set<string>()
  const found: Pasted = { addresses: [], strange: [] }
  // A quoted name may hold the separators.
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

/** The address of `Name <address>`, or of an address alone. */
export const bareAddress = (text: string): string => /<([^<>]*)>\s*$/.exec(text)?.[1]?.trim() ?? text.trim()

/** Cuts a list into pieces of at most `size`. */
export const pieces = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/** The domains of the recipients, each once, by the alphabet. */
export function recipientDomains(emails: readonly { to: readonly string[] }[]): string[] {
  const domains = emails.flatMap(({ to }) =>
    to.map((one) => /@([^@<>\s]+)>?$/.exec(one)?.[1]?.toLowerCase() ?? ''),
  )
  return [...new Set(domains)].filter((domain) => domain !== '').sort()
}
