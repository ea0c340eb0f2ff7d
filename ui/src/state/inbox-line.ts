/** What an inbox shows of an email before it is opened: the sender, the subject and the preview text. Pure. */

/** Zero-width characters and white space that mail programs do not show, and directional marks (UAX 9 §2.6). */
const UNSEEN = /[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\s]+/gu

const letters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Counts characters as readers see them: an emoji or an accented letter counts as one. */
export const countCharacters = (text: string): number => [...letters.segment(text)].length

/** Approximate number of characters of a subject that phones and computers show. */
const SUBJECT_SHOWN = { phone: 40, desktop: 70 }
/** Approximate number of characters of the preview text that phones show. */
const PREVIEW_SHOWN = 90

/** Describes the length of a subject, and which devices truncate it. */
export function describeSubjectLength(subject: string): string {
  const count = countCharacters(subject)
  const words = `${count.toLocaleString('en')} ${count === 1 ? 'character' : 'characters'}.`
  if (count > SUBJECT_SHOWN.desktop) return `${words} Phones and computers cut it.`
  return count > SUBJECT_SHOWN.phone
    ? `${words} Phones cut it after about ${SUBJECT_SHOWN.phone}.`
    : `${words} Phones show about ${SUBJECT_SHOWN.phone}.`
}

/** Describes the length of a preview text, or what inboxes show instead if it is empty. */
export function describePreviewLength(preview: string): string {
  if (preview === '') return 'Empty: mail apps show the beginning of the email.'
  const count = countCharacters(preview)
  const words = `${count.toLocaleString('en')} ${count === 1 ? 'character' : 'characters'}.`
  return `${words} Mail apps show about ${PREVIEW_SHOWN} after the subject.`
}

/** Returns the name that inboxes show for a From field: the display name, or the address. */
export function getSenderName(from: string): string {
  const open = from.lastIndexOf('<')
  if (open < 0) return from.trim()
  const name = from.slice(0, open).trim()
  const unquoted = /^"(.*)"$/s.exec(name)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? name
  return unquoted.trim() || from.slice(open + 1).replace(/>\s*$/, '')
}

/** Maximum number of characters of text that an inbox shows. */
const MOST = 200

/**
 * Returns text on one line, as an inbox shows it.
 * @param text text without markup
 */
export function toInboxText(text: string): string {
  const line = text.slice(0, MOST * 20).replaceAll(UNSEEN, (run) => (/\s/.test(run) ? ' ' : ''))
  return [...letters.segment(line.trim())]
    .slice(0, MOST)
    .map(({ segment }) => segment)
    .join('')
}
