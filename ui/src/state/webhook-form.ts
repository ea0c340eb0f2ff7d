/** The webhook form: choices and validation. Pure. */

/** Event types that Posthaste sends, offered for a new webhook. */
export const SENT_EVENTS = [
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.failed',
  'email.suppressed',
  'email.complained',
  'email.opened',
  'email.clicked',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'suppression.added',
  'suppression.removed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.topics.updated',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'alert.opened',
  'alert.closed',
] as const

/** The events of one type of object. */
export interface EventGroup {
  noun: string
  /** `Email events` */
  words: string
  types: string[]
}

/** Groups events by object type, keeping their order. */
export function groupEvents(types: readonly string[]): EventGroup[] {
  const nounOf = (type: string) => type.split('.', 1)[0] ?? ''
  return [...new Set(types.map(nounOf))].map((noun) => ({
    noun,
    words: `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)} events`,
    types: types.filter((type) => nounOf(type) === noun),
  }))
}

/** Returns the reason why a text isn't a valid endpoint; empty if only the server can decide. */
export function findEndpointError(text: string): string {
  if (text.trim() === '') return 'Enter the endpoint URL.'
  return /^https?:\/\/[^/]/i.test(text.trim()) && URL.canParse(text.trim())
    ? ''
    : 'Enter a full URL, such as https://app.example.com/webhooks.'
}

/** Shortens a server error for display beside its field, so that the field isn't named twice. */
export const shortenFieldError = (refusal: string): string =>
  refusal.replace(/^Invalid `endpoint` field: /, 'Enter ')

/** Returns the field that a server error concerns: ``Invalid `endpoint` field: …``. */
export function getRefusedField(refusal: string): 'endpoint' | 'events' | null {
  const name = /^(?:Invalid|Missing) `(\w+)` field/.exec(refusal)?.[1]
  return name === 'endpoint' || name === 'events' ? name : null
}
