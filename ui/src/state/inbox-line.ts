/** What an inbox shows of an email before it is opened: the sender, the subject and the preview text. Pure. */

/** Zero-width characters and white space that mail programs do not show, and directional marks (UAX 9 §2.6). */
const UNSEEN = /[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\s]+/gu

const letters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Counts characters as readers see them: an emoji or an accented letter counts as one. */
export const countLetters = (text: string): number => [...letters.segment(text)].length

/** About how many characters of a subject phones and computers show. */
const SUBJECT_SHOWN = { phone: 40, desktop: 70 }
/** About how many characters of the preview text phones show. */
const PREVIEW_SHOWN = 90

/** Says how long a subject is, and who cuts it. */
export function subjectHint(subject: string): string {
  const count = countLetters(subject)
  const words = `${count.toLocaleString('en')} ${count === 1 ? 'character' : 'characters'}.`
  if (count > SUBJECT_SHOWN.desktop) return `${words} Phones and computers cut it.`
  return count > SUBJECT_SHOWN.phone
    ? `${words} Phones cut it after about ${SUBJECT_SHOWN.phone}.`
    : `${words} Phones show about ${SUBJECT_SHOWN.phone}.`
}

/** Says how long a preview text is, and what inboxes show in its place. */
export function previewHint(preview: string): string {
  if (preview === '') return 'Empty: mail apps show the beginning of the email.'
  const count = countLetters(preview)
  const words = `${count.toLocaleString('en')} ${count === 1 ? 'character' : 'characters'}.`
  return `${words} Mail apps show about ${PREVIEW_SHOWN} after the subject.`
}

/** Returns the name that inboxes show for a From field: the display name, or the address. */
export function senderName(from: string): string {
  const open = from.lastIndexOf('<')
  if (open < 0) return from.trim()
  const name = from.slice(0, open).trim()
  const unquoted = /^"(.*)"$/s.exec(name)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? name
  return unquoted.trim() || from.slice(open + 1).replace(/>\s*$/, '')
}

/** Characters of the text that an inbox may show at most. */
const MOST = 200

/** Returns text on one line as an inbox shows it. @param text already without markup */
export function inboxText(text: string): string {
  const line = text.slice(0, MOST * 20).replaceAll(UNSEEN, (run) => (/\s/.test(run) ? ' ' : ''))
  return [...letters.segment(line.trim())]
    .slice(0, MOST)
    .map(({ segment }) => segment)
    .join('')
}
