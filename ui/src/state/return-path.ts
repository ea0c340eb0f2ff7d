/**
 * Returns the ID of the email that a return path such as `bounce+<32 hex>-<21 hex>@send.example.com` belongs to; null
 * for other addresses.
 */
export function extractEmailId(address: string): string | null {
  const hex = /^bounce\+([0-9a-f]{32})(?:-[0-9a-f]{21})?@/i.exec(address)?.[1]?.toLowerCase()
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') ?? null
}
