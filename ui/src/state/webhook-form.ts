/** The form of a webhook: its choices, and what is wrong with what was entered. Pure. */

/** The events that happen here: what a new webhook can choose from. */
export const TOLD_EVENTS = [
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
] as const

/** Events of one noun. */
export interface EventGroup {
  noun: string
  /** `Email events` */
  words: string
  types: string[]
}

/** Events by their noun, both in the order in which they come. */
export function eventGroups(types: readonly string[]): EventGroup[] {
  const nounOf = (type: string) => type.split('.', 1)[0] ?? ''
  return [...new Set(types.map(nounOf))].map((noun) => ({
    noun,
    words: `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)} events`,
    types: types.filter((type) => nounOf(type) === noun),
  }))
}

/** Why a text cannot be an endpoint, as far as the browser can tell; empty where the server decides. */
export function endpointMistake(text: string): string {
  if (text.trim() === '') return 'Enter the endpoint URL.'
  return /^https?:\/\/[^/]/i.test(text.trim()) && URL.canParse(text.trim())
    ? ''
    : 'Enter a full URL, such as https://app.example.com/webhooks.'
}

/** A refusal as it is told beside its field, which needs no name there. */
export const besideField = (refusal: string): string =>
  refusal.replace(/^Invalid `endpoint` field: /, 'Enter ')

/** The field of the form that a refusal of the server is about: ``Invalid `endpoint` field: …``. */
export function refusedField(refusal: string): 'endpoint' | 'events' | null {
  const name = /^(?:Invalid|Missing) `(\w+)` field/.exec(refusal)?.[1]
  return name === 'endpoint' || name === 'events' ? name : null
}
