/** Instants in a form's date and time field, which knows no zone: the browser's own is meant. */

/** How far ahead an email may be scheduled, in milliseconds (reference: wire format §4). */
export const FARTHEST = 30 * 86_400_000

const two = (value: number) => String(value).padStart(2, '0')

/** `2026-11-20T21:39`, the browser's local time, for `<input type="datetime-local">`. */
export function toField(at: number): string {
  const date = new Date(at)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The instant that such a field means, as ISO 8601 in UTC; null while it is not filled in. */
export function fromField(text: string): string | null {
  const at = new Date(text).getTime()
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
