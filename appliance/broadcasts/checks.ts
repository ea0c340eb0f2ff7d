/** Checks a draft for errors and possible improvements. Pure. */
import { checkMessage, type SenderDomain } from '../advice/advice.ts'
import type { BroadcastContent } from '../mail/broadcast.ts'
import { ARCHIVE_KEY } from '../merge/merge.ts'
import { sortByUrgency, createInsight, type Insight } from '../mail/insight.ts'

/** The facts that the checks need in addition to the content. */
export interface CheckFacts {
  /** Why the draft can't be sent from its From address; null if it can. */
  sender: string | null
  /** Merge tags that match no field or property. */
  unknownTags: string[]
  /** Merge tags without a fallback for which some contacts have no value. */
  bareTags: string[]
  /** Number of contacts that would receive the broadcast. */
  eligible: number
  /** Whether the broadcast has a topic. */
  topic: boolean
  postalAddress: string | null
  /** The From domain; undefined if the draft can't be sent from it. */
  domain: SenderDomain | undefined
  /** Whether a test of this content was sent. */
  tested: boolean
  /** The last broadcast to the same segment or with the same subject; undefined if there is no recent one. */
  repeats: RepeatedBroadcast | undefined
  /** Whether it links to its page in the archive, but won't have one. */
  emptyArchiveLink: boolean
}

export interface RepeatedBroadcast {
  name: string
  /** Time since sending began, in milliseconds. */
  ago: number
  segment: boolean
  subject: boolean
}

/** Replaced by the unsubscribe link of each recipient. */
export const UNSUBSCRIBE_TAG = '{{{UNSUBSCRIBE_URL}}}'
/** Placeholder for a text part that isn't generated yet. */
const GENERATED = 'generated'
const LINK = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\||\}\}\})/

/** Reports whether the HTML, or the text if there is no HTML, has an unsubscribe link. */
export const hasUnsubscribeLink = ({ html, text }: Pick<BroadcastContent, 'html' | 'text'>): boolean =>
  LINK.test((html === '' ? null : html) ?? text ?? '')

/** Checks a draft; returns the most urgent insights first. */
export function checkDraft(content: BroadcastContent, facts: CheckFacts): Insight[] {
  return sortByUrgency([
    ...audienceChecks(facts),
    ...routineChecks(facts),
    ...partChecks(content, facts),
    previewCheck(content),
    ...archiveChecks(facts),
    ...checkMessage({ ...content, text: textOf(content) }, facts.domain),
  ])
}

/** Returns the text part; Posthaste generates it from the HTML when it is null. */
const textOf = ({ html, text }: BroadcastContent): string | null =>
  text === '' ? null : (text ?? (html ? GENERATED : null))

const previewCheck = ({ previewText }: BroadcastContent): Insight =>
  createInsight('preview', previewText === null ? 'attention' : null, {
    note: 'Without a preview text, mail programs show the first words of the email.',
    why: 'Readers decide by subject and preview whether to open it.',
    fix: 'Write a preview text.',
    well: 'There is a preview text.',
  })

/** A check of the link to the archive, only if it is broken: most broadcasts have none. */
const archiveChecks = ({ emptyArchiveLink }: CheckFacts): Insight[] =>
  emptyArchiveLink
    ? [
        createInsight('archive', 'attention', {
          note: `The link {{{${ARCHIVE_KEY}}}} would be empty: this broadcast won’t be in the public archive.`,
          why: 'Readers who click it see nothing.',
          fix: 'Enable the archive and publish this broadcast in it, or remove the link.',
          well: '',
        }),
      ]
    : []

function audienceChecks({ sender, eligible, topic }: CheckFacts): Insight[] {
  return [
    createInsight('sender', sender === null ? null : 'block', {
      note: sender ?? '',
      why: 'It can’t be sent.',
      fix: 'Verify the domain under Domains, or change the From field.',
      well: 'The sending domain is verified.',
    }),
    createInsight('recipients', eligible === 0 ? 'block' : null, {
      note: 'Nobody would get this broadcast.',
      why: 'There is nothing to send.',
      fix: 'Choose another segment, or add contacts to it.',
      well: 'Somebody gets it.',
    }),
    createInsight('topic', topic ? null : 'attention', {
      note: 'No topic is chosen: the unsubscribe link stops all broadcasts to a reader.',
      why: 'Readers who dislike one subject unsubscribe from everything.',
      fix: 'Choose a topic under Settings, so that readers can unsubscribe from just that topic.',
      well: 'Readers can unsubscribe from just the topic.',
    }),
  ]
}

/** Checks for steps that writers forget. */
function routineChecks({ tested, repeats }: CheckFacts): Insight[] {
  const same = repeats?.segment ? (repeats.subject ? 'segment and subject' : 'segment') : 'subject'
  return [
    createInsight('tested', tested ? null : 'attention', {
      note: 'No test was sent since the last change.',
      why: 'Mail clients display emails differently from the editor.',
      fix: 'Send a test to yourself, and read it in your mail program.',
      well: 'A test was sent since the last change.',
    }),
    createInsight('repeat', repeats ? 'attention' : null, {
      note: repeats ? `“${repeats.name}” has the same ${same}, and was sent ${agoInWords(repeats.ago)}.` : '',
      why: 'Readers who get the same email twice complain.',
      fix: repeats?.segment
        ? 'Check that it isn’t sent twice, or wait a day.'
        : 'Exclude the segment that has it under Settings, if contacts are in both.',
      well: 'No similar broadcast was sent in the last 24 hours.',
    }),
  ]
}

function agoInWords(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${Math.max(1, minutes)} min ago` : `${Math.round(minutes / 60)} h ago`
}

const listed = (keys: readonly string[]): string => keys.map((key) => `{{{${key}}}}`).join(', ')

function partChecks({ html, text }: BroadcastContent, facts: CheckFacts): Insight[] {
  const { unknownTags, bareTags, postalAddress } = facts
  const parts = [html, text].filter((part) => part !== null && part !== '')
  const blocked = parts.length > 0 && !hasUnsubscribeLink({ html, text })
  const without = parts.some((part) => !LINK.test(part!))
  const address = postalAddress?.split('\n')[0]?.trim()
  const shown = !address || parts.some((part) => part!.includes(address))
  return [
    createInsight('unsubscribe', blocked ? 'block' : without ? 'attention' : null, {
      note: blocked ? 'The email has no unsubscribe link.' : 'The plain text has no unsubscribe link.',
      why: 'Laws and providers require one, and readers who find none report the email as spam.',
      fix: `Add a link to ${UNSUBSCRIBE_TAG}${blocked ? '' : ' to the plain text, too'}.`,
      well: 'There is an unsubscribe link.',
    }),
    createInsight('address', address && shown ? null : 'attention', {
      note: address
        ? 'Your postal address is not in the email. Many countries require it.'
        : 'No postal address is set. Many countries require one in the email.',
      why: 'Laws such as CAN-SPAM require it.',
      fix: address
        ? 'Add it at the end.'
        : 'Set it under Settings, Unsubscribe page, and add it to the email.',
      well: 'Your postal address is in the email.',
    }),
    createInsight('tags', unknownTags.length > 0 ? 'attention' : null, {
      note: `No contact has a value for ${listed(unknownTags)}.`,
      why: 'Everybody would see the fallback, or nothing.',
      fix: 'Correct the name, or create the property under Audience.',
      well: 'All tags are known.',
    }),
    createInsight('fallback', bareTags.length > 0 ? 'attention' : null, {
      note: `Some contacts have no value for ${listed(bareTags)}, and would see nothing there.`,
      why: 'A gap in a sentence looks careless.',
      fix: 'Add a fallback, such as {{{contact.first_name|there}}}.',
      well: 'Each tag has a value or a fallback for everybody.',
    }),
  ]
}
