/**
 * Returns a QR code as one SVG path. One unit is one module; a quiet zone of four modules surrounds it (ISO/IEC 18004).
 */
export async function createQrPath(text: string): Promise<{ size: number; path: string }> {
  const { encode } = await import('uqr')
  const { size, data } = encode(text, { ecc: 'M', border: 4 })
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return { size, path }
}
