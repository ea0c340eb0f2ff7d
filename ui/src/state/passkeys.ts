/** Conditions for using passkeys. */
interface Surroundings {
  /** Host name of the page. */
  hostname: string
  /** Whether the browser offers passkeys to this page, which needs a secure context. */
  offered: boolean
}

/** IPv6 addresses are in brackets. The last label of a name is never all digits (RFC 1123 §2.1). */
const isAddress = (hostname: string): boolean => hostname.startsWith('[') || /\.\d+$/.test(hostname)

/**
 * Explains why this page can't use passkeys; null if it can. Browsers bind passkeys to a host name, not to an IP
 * address.
 */
export function explainNoPasskeys({ hostname, offered }: Surroundings): string | null {
  if (!offered) return 'This browser supports passkeys only over HTTPS.'
  if (isAddress(hostname))
    return `Passkeys need a host name. Open this page by its host name instead of ${hostname}.`
  return null
}
