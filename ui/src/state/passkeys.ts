/** What decides whether a page can use passkeys. */
interface Surroundings {
  /** Of the page's address. */
  hostname: string
  /** The browser offers them to this page; it does so only in a secure context. */
  offered: boolean
}

/** An IPv6 address is in brackets; a name's last label is never of digits alone (RFC 1123 §2.1). */
const isAddress = (hostname: string): boolean => hostname.startsWith('[') || /\.\d+$/.test(hostname)

/** Why this page can use no passkeys, as a sentence; null when it can. Browsers bind them to a name, and an address is none. */
export function whyNoPasskeys({ hostname, offered }: Surroundings): string | null {
  if (!offered) return 'This browser supports passkeys only over HTTPS.'
  if (isAddress(hostname))
    return `Passkeys need a host name. Open this page by its host name instead of ${hostname}.`
  return null
}
