/** What to do after a "not found": the command that shows what there is. */
import { Refusal } from '../mail/refusals.ts'

/** First words of the sentence, and who lists such things. */
const LISTS: readonly (readonly [what: string, command: string])[] = [
  ['Domain', 'domain list'],
  ['API key', 'key list'],
  ['Webhook', 'webhook list'],
  ['Suppression', 'suppression list'],
  ['Member', 'member list'],
  ['Source', 'source list'],
  ['Assignment', 'source list'],
  ['Provider', 'provider list'],
  ['Lane', 'lane list'],
  ['Audit entry', 'audit'],
]

/** The reason for people at a terminal: who asked for what is not there is told where to look. */
export function reasonOf(error: Error): string {
  const list = error instanceof Refusal && error.key === 'not_found' && listOf(error.message)
  return list ? `${error.message}. See: posthaste ${list}` : error.message
}

const listOf = (sentence: string): string | undefined =>
  LISTS.find(([what]) => sentence.startsWith(`${what} `))?.[1]
