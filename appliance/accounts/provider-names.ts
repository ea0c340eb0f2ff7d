/** Small questions about the names that providers use. */

/** Whether a URL leads to this machine and nowhere else: only there is plain http:// of use to nobody who listens. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/**
 * What a person can be known by: one `@`, no blanks, as `createOwner` asks for. And each sign in its one form (NFC): those for kelvin, ångström and
 * ohm are the letters of other people's addresses in small letters.
 */
export const isAddress = (text: string): boolean =>
  text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text) && text === text.normalize('NFC')

/** The part after the `@`, in lower case. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase()
