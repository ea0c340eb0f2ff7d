/** Files within JSON: base64 in its usual spellings, and arrays of bytes. Pure. */

/**
 * Decodes base64 (RFC 4648 §4, or §5 with `-_`), padded or not, broken into lines or not. Node skips characters that it does not
 * know, so a wrong text shows by its length: undefined then.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const decoded = exactly(text)
  // Rare, and reads every character of up to 40 MB: only when the fast way fails.
  return decoded ?? (/\s/.test(text) ? exactly(text.replaceAll(/\s+/g, '')) : undefined)
}

function exactly(text: string): Uint8Array | undefined {
  const characters = text.endsWith('==')
    ? text.length - 2
    : text.endsWith('=')
      ? text.length - 1
      : text.length
  if (characters % 4 === 1) return undefined
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === Math.floor((characters * 3) / 4) ? decoded : undefined
}

/** Bytes written as an array of numbers; undefined when one of them is no byte. */
export function bytesOfNumbers(numbers: readonly unknown[]): Uint8Array | undefined {
  const isByte = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 255
  return numbers.every(isByte) ? Uint8Array.from(numbers as number[]) : undefined
}
