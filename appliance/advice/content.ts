/** Checks subject, size and parts of a message. Pure. */
import { createInsight, type Insight } from '../mail/insight.ts'
import { truncatePart, type ParsedHtml } from './html.ts'

/** The content of a message. */
export interface Message {
  /** Formatted as in a From header: `Ada <ada@example.com>`. */
  from: string
  subject: string
  html: string | null
  /** Null if there is no text part. */
  text: string | null
}

/** Size above which Gmail clips HTML, in bytes. */
const CLIPPED = 102_400
/** Length above which phones truncate a subject, in characters. */
const LONG_SUBJECT = 70
const PLACEHOLDER =
  /(?<!\{)\{\{(?!\{)[^{}]{1,80}\}\}(?!\})|\blorem ipsum\b|\bTODO\b|\[(?:FIRST ?|LAST ?)?NAME\]/i
/** Number of words below which an email with an image counts as only an image. */
const FEW_WORDS = 12
/** Share of common words below which two parts count as different content. */
const ALIKE = 0.3
/** Minimum number of distinct words in a part; shorter parts aren't compared. */
const COMPARED = 15

/** Checks the content of a message. */
export function checkContent(message: Message, page: ParsedHtml): Insight[] {
  return [...subjectChecks(message), ...sizeChecks(message, page), ...partChecks(message, page)]
}

function subjectChecks({ subject, html, text }: Message): Insight[] {
  const empty = subject.trim() === ''
  const shouting = subject.length > 8 && subject === subject.toUpperCase() && /[A-Z]{4}/.test(subject)
  const placeholder = PLACEHOLDER.exec(`${subject}\n${truncatePart(html)}\n${truncatePart(text)}`)?.[0]
  return [
    createInsight(
      'subject',
      empty ? 'block' : shouting || subject.length > LONG_SUBJECT ? 'attention' : null,
      {
        note: empty
          ? 'The subject is empty.'
          : shouting
            ? 'The subject is all capitals.'
            : `Phones cut subjects after about ${LONG_SUBJECT} characters.`,
        why: 'Readers and filters judge a message by its subject first.',
        fix: 'Change the subject.',
        well: 'The subject has a good length.',
        evidence: [subject],
      },
    ),
    createInsight('placeholder', placeholder === undefined ? null : 'attention', {
      note: 'The text seems to contain a placeholder.',
      why: 'Readers would see it instead of what it stands for.',
      fix: 'Replace it. Merge tags have three braces, such as {{{contact.first_name}}}.',
      well: 'No placeholder is left.',
      evidence: [placeholder ?? ''],
    }),
  ]
}

function sizeChecks({ html, text }: Message, { images, text: seen }: ParsedHtml): Insight[] {
  const size = Buffer.byteLength(html ?? '')
  const kilobytes = Math.ceil(size / 1024)
  const bare = images.length > 0 && wordsOf(seen).size < FEW_WORDS
  return [
    createInsight('content', html || text ? null : 'block', {
      note: 'The email is empty.',
      why: 'Filters treat empty emails as tests by spammers.',
      fix: 'Write its content.',
      well: 'The email has content.',
    }),
    createInsight('size', size > CLIPPED ? 'attention' : null, {
      note: `The HTML has ${kilobytes} KB. Gmail hides everything after 100 KB.`,
      why: 'The hidden part often includes the unsubscribe link.',
      fix: 'Shorten it, or link to the rest.',
      well: html
        ? `The HTML has ${kilobytes} KB, well within what Gmail shows.`
        : 'There is no HTML to clip.',
    }),
    createInsight('image-only', bare ? 'attention' : null, {
      note: 'The email is an image with hardly any text.',
      why: 'Filters can’t read images, and many readers don’t load them.',
      fix: 'Write what the image says as text.',
      well: 'The email has enough text.',
    }),
  ]
}

function partChecks({ html, text }: Message, page: ParsedHtml): Insight[] {
  const unlike = html !== null && text !== null && saysOther(page.text, truncatePart(text))
  return [
    createInsight('text', html && !text ? 'attention' : null, {
      note: 'There is no plain-text part.',
      why: 'Some readers and filters look at it, and its absence is typical of spam.',
      fix: 'Write one, or let Posthaste generate it from the HTML.',
      well: 'There is a plain-text part.',
    }),
    createInsight('alike', unlike ? 'attention' : null, {
      note: 'Plain text and HTML say different things.',
      why: 'Filters treat that as an attempt to hide something.',
      fix: 'Say the same in both parts.',
      well: 'Plain text and HTML don’t contradict each other.',
    }),
    createInsight('elements', page.removed.length > 0 ? 'attention' : null, {
      note: 'The HTML has elements that mail clients remove.',
      why: 'Readers don’t see them, and filters distrust scripts and forms.',
      fix: 'Link to a page that has them.',
      well: 'The HTML has no scripts, forms or frames.',
      evidence: page.removed,
    }),
    createInsight('language', page.isWithoutLanguage ? 'advice' : null, {
      note: 'The HTML doesn’t say its language.',
      why: 'Screen readers and translation guess it.',
      fix: 'Add it, such as <html lang="en">.',
      well: 'No language is missing.',
    }),
  ]
}

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu))

/** Whether two parts that are long enough to compare have few words in common. */
function saysOther(html: string, text: string): boolean {
  const [seen, plain] = [wordsOf(html), wordsOf(text)]
  if (seen.size < COMPARED || plain.size < COMPARED) return false
  const common = [...seen].filter((word) => plain.has(word)).length
  return common < Math.min(seen.size, plain.size) * ALIKE
}
