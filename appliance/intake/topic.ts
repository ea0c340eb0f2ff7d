/**
 * Email about a topic: checks the topic and adds the unsubscribe link. The storage checks the recipients
 * (audience/topic-opt-outs.ts).
 */
import type { Clock } from '../clock/clock.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, TopicRecipient } from '../storage/storage.ts'
import type { Submission } from './submission.ts'

/**
 * Reads the ID of a topic; null if there is none. Refuses: `invalid_id`.
 * @param field its name in refusals
 */
export function parseTopicId(field: string, id: string | null | undefined): string | null {
  // Typed clients send unset fields as null or "".
  if (id === undefined || id === null || id === '') return null
  if (!isId(id)) throw refuse('invalid_id', { parameter: field })
  return id.toLowerCase()
}

/** Returns the recipients of a submission, each address once. */
export const listRecipients = ({ to, cc, bcc, arrived }: Submission): string[] => [
  ...new Set(
    (arrived ? arrived.recipients.map(({ mailbox }) => mailbox) : [to, cc, bcc].flat()).map(
      ({ address }) => address,
    ),
  ),
]

/**
 * Returns the only recipient of an email about a topic, who can get a personal link. Null if there are several, or no
 * topic. Refuses: `invalid_field` (topic_id) if the team has no such topic.
 */
export async function findOnlyRecipient(
  { storage, clock }: { storage: Pick<Storage, 'topicRecipients'>; clock: Clock },
  submission: Submission,
  teamId: string,
): Promise<TopicRecipient | null> {
  const { topicId, arrived } = submission
  if (topicId === null) return null
  const addresses = listRecipients(submission)
  const only = addresses.length === 1
  const asked = { teamId, topicId, addresses: only ? addresses : [] }
  const found = await storage.topicRecipients(asked, clock.now())
  const field = arrived ? 'X-Posthaste-Topic' : 'topic_id'
  if (!found) throw refuse('invalid_field', { field, expected: 'the id of a topic of your team' })
  return found[0] ?? null
}

/** Reports whether the app has set its own unsubscribe fields. */
export function hasOwnUnsubscribe({ headers, arrived }: Submission): boolean {
  const fields = arrived ? arrived.header.fields : headers
  return fields.some(({ name }) => /^list-unsubscribe(?:-post)?$/i.test(name))
}

/**
 * Returns the fields for one-click unsubscribing (RFC 2369 §3.2, RFC 8058 §3.1). Without https there is no one-click,
 * but people can follow the link.
 */
export function buildUnsubscribeFields(link: string): Submission['headers'] {
  const oneClick = { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' }
  const where = { name: 'List-Unsubscribe', value: `<${link}>` }
  return link.startsWith('https:') ? [where, oneClick] : [where]
}
