/** Parses addresses in the formats that reports use: with types, brackets, comments and quotes. Pure. */

/** RFC 5321 §4.5.3.1: 64 octets, the at sign, 255 octets; plus the escapes of RFC 6533 §3. */
const MAX_ADDRESS = 1000

const ADDRESS = /[^\s<>()[\],;:"'@]{1,128}@[^\s<>()[\],;:"'@]{1,255}/u

/**
 * Returns the address in a field such as `rfc822; <ada@example.com>` (RFC 3464 §2.3.2) with the domain in lower case,
 * or null. X.400 and local names are not addresses.
 */
export function extractAddress(value: string): string | null {
  const text = value.slice(0, MAX_ADDRESS).replace(/^\s*[\w-]{1,40}\s*;/, '')
  const [found] = ADDRESS.exec(text) ?? quotedAddress.exec(text) ?? []
  if (found === undefined) return null
  const plain = decodeEscapes(found).replace(/[.]+$/, '')
  const at = plain.lastIndexOf('@')
  return at < 1 || at === plain.length - 1 ? null : plain.slice(0, at + 1) + plain.slice(at + 1).toLowerCase()
}

const quotedAddress = /"[^"\r\n]{1,100}"@[^\s<>()[\],;:"'@]{1,255}/u

/** Decodes utf-8-addr-xtext and utf-8-addr-unitext (RFC 6533 §3). */
function decodeEscapes(address: string): string {
  return address.replaceAll(/\\x\{([0-9a-f]{2,6})\}/giu, (whole, hex: string) => {
    const point = parseInt(hex, 16)
    return point > 0x20 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
      ? String.fromCodePoint(point)
      : whole
  })
}

/** Returns the name in a field such as `dns; mx.example.com` (RFC 3464 §2.2.2) in lower case, or null. */
export function extractHost(value: string | undefined): string | null {
  const text = (value ?? '').slice(0, 400).replace(/^\s*[\w-]{1,40}\s*;/, '')
  const [found] = /[\w.-]{1,255}|\[[\da-f.:]{2,45}\]/i.exec(text) ?? []
  return found?.toLowerCase() ?? null
}
