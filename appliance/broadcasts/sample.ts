/** Renders a draft for one recipient, for a test before it is sent. */
import { PREFERENCES_PATH } from '../audience/audience.ts'
import { isId } from '../mail/ids.ts'
import { variantContents } from '../mail/ab-content.ts'
import { VARIANTS } from '../mail/ab-test.ts'
import { parseMailbox } from '../mail/address.ts'
import type { BroadcastContent } from '../mail/broadcast.ts'
import { refuse } from '../mail/refusals.ts'
import { renderMerge } from '../merge/merge.ts'
import type { BroadcastRef } from '../storage/storage.ts'
import type { Caller } from '../senders/api-keys.ts'
import { broadcastNotFound } from './drafts.ts'
import {
  parseContent,
  toMergeProperties,
  renderSubject,
  computeMergeValues,
  addPreviewText,
} from './revision.ts'
import { archiveUrlOf } from './published.ts'
import type { SendingDeps } from './sending.ts'

/** An email in the format of `POST /emails`. */
export interface SampleEmail {
  from: string
  reply_to: string[]
  subject: string
  html?: string
  text?: string
}

export interface SampleMethods {
  /**
   * Renders the draft with the values of a contact, or with sample values.
   *
   * @param args contact: ID or address of the contact; null for sample values; variant: name of a variant of the
   * draft's A/B test
   *
   * Refuses: `not_found` (broadcast, contact), `invalid_field` (variant), `missing_content`, refusals of
   * `senders.authorize`.
   */
  sampleBroadcast(args: {
    caller: Caller
    id: string
    contact: string | null
    variant?: string | undefined
  }): Promise<{ sample: SampleEmail; edits: number }>
  /** Records that a test was sent. @param args edits: the version of the draft that the sample was made from */
  noteBroadcastTest(args: BroadcastRef & { edits: number }): Promise<void>
}

const SOMEBODY = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', properties: {} }

/** Refuses: `invalid_field` (variant). */
function variantOf(content: BroadcastContent, name: string): BroadcastContent {
  const contents = variantContents(content)
  const found = contents[(VARIANTS as readonly string[]).indexOf(name)]
  const expected = VARIANTS.slice(0, contents.length).join(', ')
  if (!found) throw refuse('invalid_field', { field: 'variant', expected })
  return found
}

export function createSampleMethods({ storage, clock, senders, tracking }: SendingDeps): SampleMethods {
  const contactOf = async (teamId: string, contact: string) => {
    const ref = isId(contact) ? { id: contact } : { email: contact }
    const found = await storage.getContact({ teamId, ref }, clock.now())
    if (!found) throw refuse('not_found', { resource: 'Contact' })
    return found
  }
  return {
    async sampleBroadcast({ caller, id, contact, variant = VARIANTS[0] }) {
      const { teamId } = caller
      const broadcast = isId(id) ? await storage.getBroadcast({ teamId, id }, clock.now()) : undefined
      if (!broadcast) throw broadcastNotFound()
      const { from, replyTo, previewText, subject, html, text } = variantOf(broadcast.content, variant)
      if (!html && !text) throw refuse('missing_content')
      const domain = await senders.authorize(caller, { domain: parseMailbox(from)!.domain })
      const reader = contact === null ? SOMEBODY : await contactOf(teamId, contact)
      const properties = toMergeProperties(await storage.listContactProperties({ teamId }, clock.now()))
      const own = properties.flatMap(({ key, label }) => {
        const value = (reader.properties as Record<string, string | number>)[label]
        return value === undefined ? [] : [[key, value] as const]
      })
      // The token belongs to no contact, so the link changes nothing.
      const origin = tracking.originFor(domain)
      const unsubscribe = `${origin ?? ''}${PREFERENCES_PATH}test`
      const archive = await archiveUrlOf({ storage, clock }, broadcast, origin)
      const known = { ...reader, contactId: '', properties: Object.fromEntries(own) }
      const values = computeMergeValues(known, properties, { unsubscribe, archive })
      const shown = html ? addPreviewText(html, previewText) : null
      const parsed = parseContent({ subject: `[Test] ${subject}`, html: shown, text })
      const sample = {
        from,
        reply_to: replyTo,
        subject: renderSubject({ parsed }, values),
        ...(parsed.html && { html: renderMerge(parsed.html, values) }),
        ...(parsed.text ? { text: renderMerge(parsed.text, values) } : text === '' && { text }),
      }
      return { sample, edits: broadcast.edits }
    },
    noteBroadcastTest: (args) => storage.noteBroadcastTest(args, clock.now()),
  }
}
