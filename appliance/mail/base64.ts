/** Decodes files in JSON: base64 in its usual variants, and arrays of bytes. Pure. */

/**
 * Decodes base64 (RFC 4648 §4, or §5 with `-_`), with or without padding and line breaks; undefined when invalid. Node
 * skips unknown characters, so invalid text is detected by its length.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const decoded = exactly(text)
  // Rare and slow for up to 40 MB, so only when the fast way fails.
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

/** Converts an array of numbers to bytes; undefined when one is out of range. */
export function bytesOfNumbers(numbers: readonly unknown[]): Uint8Array | undefined {
  const isByte = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 255
  return numbers.every(isByte) ? Uint8Array.from(numbers as number[]) : undefined
}
