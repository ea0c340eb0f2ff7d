/**
 * Converts the templates and campaigns of a Mailchimp account export: HTML files in the folders `templates` and
 * `campaigns_content`. An export doesn't say which subject and audience a campaign had, so both become template drafts.
 * Pure.
 */
import { decodeTextFile, addObject, type Export, type ExportFile } from './files.ts'

/** Tags that have a counterpart here. */
const TAGS: Readonly<Record<string, string>> = {
  FNAME: '{{{contact.first_name}}}',
  LNAME: '{{{contact.last_name}}}',
  EMAIL: '{{{contact.email}}}',
  UNSUB: '{{{UNSUBSCRIBE_URL}}}',
}
/** Matches a merge tag, such as `*|FNAME|*`. */
const TAG = /\*\|([^|*\r\n]{1,100})\|\*/g
/** Matches a file with content: its folder, its name and its type. */
const CONTENT_FILE = /(?:^|\/)(templates|campaigns_content)\/(?:[^/]*\/)*([^/]+)\.(html?|txt)$/i
/** Maximum number of tags that a note lists. */
const SHOWN = 5

/** Whether a file of an archive is the content of a template or campaign. */
export const isContentFile = (name: string): boolean => CONTENT_FILE.test(name)

/** Adds the templates and campaigns as template drafts. Text files become the plain text of the HTML file beside them. */
export function addContent(files: readonly ExportFile[], found: Export): void {
  const texts = new Map<string, string>()
  for (const file of files) if (/\.txt$/i.test(file.name)) texts.set(stemOf(file.name), decodeTextFile(file))
  for (const file of files) {
    const [, folder = '', name = ''] = CONTENT_FILE.exec(file.name) ?? []
    if (/\.txt$/i.test(file.name)) continue
    const html = convertTags(decodeTextFile(file))
    const text = convertTags(texts.get(stemOf(file.name)) ?? '')
    const label = folder.toLowerCase() === 'templates' ? name : `Campaign ${name}`
    const left = [...new Set([...html.left, ...text.left])]
    if (left.length > 0)
      found.notes.push({
        kind: 'templates',
        what: label,
        text: `rewrite before sending: ${left.slice(0, SHOWN).join(', ')}`,
      })
    addObject(found, '/templates', {
      name: label,
      html: html.content,
      text: text.content === '' ? null : text.content,
      status: 'draft',
    })
  }
}

const stemOf = (name: string): string => name.replace(/\.[^./]+$/, '')

/** Replaces the tags that have a counterpart. Returns the others, which stay as they are. */
function convertTags(source: string): { content: string; left: string[] } {
  const left: string[] = []
  const content = source.replaceAll(TAG, (tag, name: string) => {
    const converted = TAGS[name.trim().toUpperCase()]
    if (converted === undefined) left.push(tag)
    return converted ?? tag
  })
  return { content, left }
}
