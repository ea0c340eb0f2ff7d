/** Instants in a date and time field, which are in the browser's time zone. */

/** Maximum time that an email may be scheduled ahead, in milliseconds (reference: wire format §4). */
export const FARTHEST = 30 * 86_400_000

const two = (value: number) => String(value).padStart(2, '0')

/** Formats an instant for `<input type="datetime-local">`: `2026-11-20T21:39` in the browser's time zone. */
export function toField(at: number): string {
  const date = new Date(at)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Parses the value of such a field to ISO 8601 in UTC; null while it is incomplete. */
export function fromField(text: string): string | null {
  const at = new Date(text).getTime()
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
