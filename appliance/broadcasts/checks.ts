/** What is wrong with a draft, or could be better. Pure. */
import type { BroadcastContent, BroadcastFinding as Finding } from '../mail/broadcast.ts'

/** What the checks need to know beside the content. */
export interface CheckFacts {
  /** Why it cannot be sent from its address; null: it can. */
  sender: string | null
  /** Tags that no field or property has the name of. */
  unknownTags: string[]
  /** Contacts that would get it. */
  eligible: number
  /** Whether it is about a topic. */
  topic: boolean
  postalAddress: string | null
}

/** Gmail shows no more of an html (bytes). */
const CLIPPED = 102_400
/** What becomes the unsubscribe link of each reader. */
export const UNSUBSCRIBE_TAG = '{{{UNSUBSCRIBE_URL}}}'
const LINK = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\||\}\}\})/
const PLACEHOLDER = /(?<!\{)\{\{(?!\{)[^{}]{1,80}\}\}(?!\})|\blorem ipsum\b|\bTODO\b/i
const SHORTENER = /https?:\/\/(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|ow\.ly|is\.gd)\//i
/** Longer subjects are cut on telephones (characters). */
const LONG_SUBJECT = 70

/** Whether the part that people read, the HTML if there is one, has a link by which they can leave. */
export const hasUnsubscribeLink = ({ html, text }: Pick<BroadcastContent, 'html' | 'text'>): boolean =>
  LINK.test((html === '' ? null : html) ?? text ?? '')

/** Checks a draft: first what stops it, then what deserves a look, then what is well. */
export function checkContent(content: BroadcastContent, facts: CheckFacts): Finding[] {
  const order = ['block', 'attention', 'pass']
  return [...audienceChecks(facts), ...contentChecks(content), ...linkChecks(content, facts)].sort(
    (a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict),
  )
}

const finding = (id: string, wrong: Finding['verdict'] | null, note: string, well: string): Finding =>
  wrong === null ? { id, verdict: 'pass', note: well } : { id, verdict: wrong, note }

function audienceChecks({ sender, eligible, topic }: CheckFacts): Finding[] {
  return [
    finding('sender', sender === null ? null : 'block', sender ?? '', 'The sending domain is verified.'),
    finding(
      'recipients',
      eligible === 0 ? 'block' : null,
      'Nobody would get this broadcast.',
      'Somebody gets it.',
    ),
    finding(
      'topic',
      topic ? null : 'attention',
      'No topic is chosen: the unsubscribe link stops all broadcasts to a reader.',
      'Readers can unsubscribe from the topic alone.',
    ),
  ]
}

function contentChecks({ from, subject, previewText, html, text }: BroadcastContent): Finding[] {
  const size = Buffer.byteLength(html ?? '')
  const whole = `${subject}\n${html ?? ''}\n${text ?? ''}`
  const noReply = /^[^<]*<?no-?reply@|^do-?not-?reply@/i.test(from)
  const shouting = subject.length > 8 && subject === subject.toUpperCase() && /[A-Z]{4}/.test(subject)
  return [
    finding('content', html || text ? null : 'block', 'The email is empty.', 'The email has content.'),
    finding(
      'size',
      size > CLIPPED ? 'attention' : null,
      `The HTML has ${Math.round(size / 1024)} KB. Gmail hides what comes after 100 KB.`,
      `The HTML has ${Math.ceil(size / 1024)} KB, well within what Gmail shows.`,
    ),
    finding(
      'placeholder',
      PLACEHOLDER.test(whole) ? 'attention' : null,
      'A placeholder seems to be left in the text.',
      'No placeholder is left.',
    ),
    finding(
      'subject',
      shouting || subject.length > LONG_SUBJECT ? 'attention' : null,
      shouting
        ? 'The subject is all capitals.'
        : `Phones cut subjects after about ${LONG_SUBJECT} characters.`,
      'The subject has a good length.',
    ),
    finding(
      'preview',
      previewText === null ? 'attention' : null,
      'Without a preview text, mail programs show the first words of the email.',
      'There is a preview text.',
    ),
    finding(
      'reply',
      noReply ? 'attention' : null,
      'Readers cannot answer a no-reply address, and trust it less.',
      'Readers can answer.',
    ),
    finding(
      'text',
      text === '' ? 'attention' : null,
      'There is no plain-text part.',
      'There is a plain-text part.',
    ),
  ]
}

function linkChecks({ html, text }: BroadcastContent, { unknownTags, postalAddress }: CheckFacts): Finding[] {
  const parts = [html, text].filter((part) => part !== null && part !== '')
  const blocked = parts.length > 0 && !hasUnsubscribeLink({ html, text })
  const without = parts.some((part) => !LINK.test(part!))
  const address = postalAddress?.split('\n')[0]?.trim()
  const shown = !address || parts.some((part) => part!.includes(address))
  return [
    finding(
      'unsubscribe',
      blocked ? 'block' : without ? 'attention' : null,
      blocked
        ? `Add the unsubscribe link ${UNSUBSCRIBE_TAG} to the email.`
        : `Add the unsubscribe link ${UNSUBSCRIBE_TAG} to the plain text too.`,
      'There is an unsubscribe link.',
    ),
    finding(
      'address',
      address && shown ? null : 'attention',
      address
        ? 'Your postal address is not in the email. Many countries demand it.'
        : 'No postal address is set. Many countries demand one in the email.',
      'Your postal address is in the email.',
    ),
    finding(
      'tags',
      unknownTags.length > 0 ? 'attention' : null,
      `No contact has a value for ${unknownTags.map((key) => `{{{${key}}}}`).join(', ')}.`,
      'All tags are known.',
    ),
    finding(
      'shortener',
      SHORTENER.test(html ?? '') ? 'attention' : null,
      'Link shorteners are often taken for spam. Link to your own site.',
      'No link goes through a shortener.',
    ),
    finding(
      'http',
      /\b(?:href|src)\s*=\s*["']?http:\/\//i.test(html ?? '') ? 'attention' : null,
      'Some links or images use http. Use https.',
      'All links use https.',
    ),
  ]
}
