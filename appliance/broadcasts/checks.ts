/** Checks a draft for errors and possible improvements. Pure. */
import type { BroadcastContent, BroadcastFinding as Finding } from '../mail/broadcast.ts'
import { checkLinks, finding } from './check-links.ts'

/** The facts that the checks need in addition to the content. */
export interface CheckFacts {
  /** Why it can't be sent from its From address; null: it can. */
  sender: string | null
  /** Tags that match no field or property. */
  unknownTags: string[]
  /** Tags without a fallback for which some contacts have no value. */
  bareTags: string[]
  /** Number of contacts that would receive it. */
  eligible: number
  /** Whether it has a topic. */
  topic: boolean
  postalAddress: string | null
  /** How it passes DMARC; undefined: unknown, or it can't be sent from its From address. */
  dmarc: Alignment | undefined
  /** Whether a test of this content was sent. */
  tested: boolean
  /** The last broadcast to the same segment or with the same subject; undefined: no recent one. */
  repeats: Repeat | undefined
}

/**
 * `unpublished`: the domain has no valid DMARC record. `signature`: the records of its return path are missing, so only
 * DKIM aligns.
 */
export interface Alignment {
  domain: string
  by: 'both' | 'signature' | 'unpublished'
}

export interface Repeat {
  name: string
  /** Time since sending began, in milliseconds. */
  ago: number
  segment: boolean
  subject: boolean
}

/** Gmail clips longer HTML (bytes). */
const CLIPPED = 102_400
/** Replaced by the unsubscribe link of each recipient. */
export const UNSUBSCRIBE_TAG = '{{{UNSUBSCRIBE_URL}}}'
const LINK = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\||\}\}\})/
const PLACEHOLDER = /(?<!\{)\{\{(?!\{)[^{}]{1,80}\}\}(?!\})|\blorem ipsum\b|\bTODO\b/i
/** Phones cut longer subjects (characters). */
const LONG_SUBJECT = 70

/** Reports whether the HTML, or the text if there is no HTML, has an unsubscribe link. */
export const hasUnsubscribeLink = ({ html, text }: Pick<BroadcastContent, 'html' | 'text'>): boolean =>
  LINK.test((html === '' ? null : html) ?? text ?? '')

/** Checks a draft: first errors, then warnings, then what is fine. */
export function checkContent(content: BroadcastContent, facts: CheckFacts): Finding[] {
  const order = ['block', 'attention', 'pass']
  return [
    ...audienceChecks(facts),
    ...alignmentChecks(facts),
    ...routineChecks(facts),
    ...contentChecks(content),
    ...partChecks(content, facts),
    ...checkLinks(content.html ?? ''),
  ].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict))
}

function audienceChecks({ sender, eligible, topic }: CheckFacts): Finding[] {
  return [
    finding('sender', sender === null ? null : 'block', {
      note: sender ?? '',
      fix: 'Verify the domain under Domains, or change the From field.',
      well: 'The sending domain is verified.',
    }),
    finding('recipients', eligible === 0 ? 'block' : null, {
      note: 'Nobody would get this broadcast.',
      fix: 'Choose another segment, or add contacts to it.',
      well: 'Somebody gets it.',
    }),
    finding('topic', topic ? null : 'attention', {
      note: 'No topic is chosen: the unsubscribe link stops all broadcasts to a reader.',
      fix: 'Choose a topic under Settings, so that readers can leave it alone.',
      well: 'Readers can unsubscribe from the topic alone.',
    }),
  ]
}

/** Checks whether receivers can trust the From domain (RFC 9989 §4.4). The signature is always of that domain. */
function alignmentChecks({ dmarc }: CheckFacts): Finding[] {
  if (!dmarc) return []
  const { domain, by } = dmarc
  const unpublished = by === 'unpublished'
  return [
    finding('dmarc', by === 'both' ? null : 'attention', {
      note: unpublished
        ? `${domain} has no valid DMARC record. Gmail, Yahoo and Outlook reject bulk mail without one.`
        : `Emails pass DMARC by their signature alone: the return path of ${domain} has no valid SPF record.`,
      fix: `Publish the ${unpublished ? 'DMARC' : 'SPF'} record shown for ${domain} under Domains.`,
      well: `Signature and return path match ${domain}, as DMARC demands.`,
    }),
  ]
}

/** Checks for steps that writers forget. */
function routineChecks({ tested, repeats }: CheckFacts): Finding[] {
  const same = repeats?.segment ? (repeats.subject ? 'segment and subject' : 'segment') : 'subject'
  return [
    finding('tested', tested ? null : 'attention', {
      note: 'No test was sent since the last change.',
      fix: 'Send a test to yourself, and read it in your mail program.',
      well: 'A test was sent since the last change.',
    }),
    finding('repeat', repeats ? 'attention' : null, {
      note: repeats ? `“${repeats.name}” has the same ${same}, and was sent ${agoInWords(repeats.ago)}.` : '',
      fix: repeats?.segment
        ? 'Check that it isn’t sent twice, or wait a day.'
        : 'Exclude the segment that has it under Settings, if contacts are in both.',
      well: 'Nothing like it was sent in the last 24 hours.',
    }),
  ]
}

function agoInWords(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${Math.max(1, minutes)} min ago` : `${Math.round(minutes / 60)} h ago`
}

function contentChecks({ from, subject, previewText, html, text }: BroadcastContent): Finding[] {
  const size = Buffer.byteLength(html ?? '')
  const whole = `${subject}\n${html ?? ''}\n${text ?? ''}`
  const noReply = /^[^<]*<?no-?reply@|^do-?not-?reply@/i.test(from)
  const shouting = subject.length > 8 && subject === subject.toUpperCase() && /[A-Z]{4}/.test(subject)
  return [
    finding('content', html || text ? null : 'block', {
      note: 'The email is empty.',
      fix: 'Write its content.',
      well: 'The email has content.',
    }),
    finding(
      'subject',
      subject.trim() === '' ? 'block' : shouting || subject.length > LONG_SUBJECT ? 'attention' : null,
      {
        note:
          subject.trim() === ''
            ? 'The subject is empty.'
            : shouting
              ? 'The subject is all capitals.'
              : `Phones cut subjects after about ${LONG_SUBJECT} characters.`,
        fix: 'Change the subject.',
        well: 'The subject has a good length.',
      },
    ),
    finding('size', size > CLIPPED ? 'attention' : null, {
      note: `The HTML has ${Math.ceil(size / 1024)} KB. Gmail hides what comes after 100 KB.`,
      fix: 'Shorten it, or link to the rest.',
      well: `The HTML has ${Math.ceil(size / 1024)} KB, well within what Gmail shows.`,
    }),
    finding('placeholder', PLACEHOLDER.test(whole) ? 'attention' : null, {
      note: 'A placeholder seems to be left in the text.',
      fix: 'Replace it. Merge tags have three braces, such as {{{contact.first_name}}}.',
      well: 'No placeholder is left.',
    }),
    finding('preview', previewText === null ? 'attention' : null, {
      note: 'Without a preview text, mail programs show the first words of the email.',
      fix: 'Write a preview text.',
      well: 'There is a preview text.',
    }),
    finding('reply', noReply ? 'attention' : null, {
      note: 'Readers cannot answer a no-reply address, and trust it less.',
      fix: 'Send from an address that somebody reads.',
      well: 'Readers can answer.',
    }),
    finding('text', text === '' ? 'attention' : null, {
      note: 'There is no plain-text part.',
      fix: 'Write one, or let Posthaste generate it from the HTML.',
      well: 'There is a plain-text part.',
    }),
  ]
}

const listed = (keys: readonly string[]): string => keys.map((key) => `{{{${key}}}}`).join(', ')

function partChecks({ html, text }: BroadcastContent, facts: CheckFacts): Finding[] {
  const { unknownTags, bareTags, postalAddress } = facts
  const parts = [html, text].filter((part) => part !== null && part !== '')
  const blocked = parts.length > 0 && !hasUnsubscribeLink({ html, text })
  const without = parts.some((part) => !LINK.test(part!))
  const address = postalAddress?.split('\n')[0]?.trim()
  const shown = !address || parts.some((part) => part!.includes(address))
  return [
    finding('unsubscribe', blocked ? 'block' : without ? 'attention' : null, {
      note: blocked ? 'The email has no unsubscribe link.' : 'The plain text has no unsubscribe link.',
      fix: `Add a link to ${UNSUBSCRIBE_TAG}${blocked ? '' : ' to the plain text, too'}.`,
      well: 'There is an unsubscribe link.',
    }),
    finding('address', address && shown ? null : 'attention', {
      note: address
        ? 'Your postal address is not in the email. Many countries demand it.'
        : 'No postal address is set. Many countries demand one in the email.',
      fix: address
        ? 'Add it at the end.'
        : 'Set it under Settings, Unsubscribe page, and add it to the email.',
      well: 'Your postal address is in the email.',
    }),
    finding('tags', unknownTags.length > 0 ? 'attention' : null, {
      note: `No contact has a value for ${listed(unknownTags)}.`,
      fix: 'Correct the name, or create the property under Audience.',
      well: 'All tags are known.',
    }),
    finding('fallback', bareTags.length > 0 ? 'attention' : null, {
      note: `Some contacts have no value for ${listed(bareTags)}, and would read nothing there.`,
      fix: 'Add a fallback, such as {{{contact.first_name|there}}}.',
      well: 'Each tag has a value or a fallback for everybody.',
    }),
  ]
}
