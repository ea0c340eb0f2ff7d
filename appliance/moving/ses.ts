/**
 * Reads the output of the AWS command line about Amazon SES: suppressed destinations (`aws sesv2
 * list-suppressed-destinations`) and templates (`aws sesv2 get-email-template`, `aws ses get-template`). Pure.
 */
import { newExport, parseJsonFile, addObject, type Export, type ExportFile } from './files.ts'
import { convertHandlebars, type ConvertedHandlebars } from './handlebars.ts'
import { HostedError, type HostedObject } from './hosted.ts'
import { stringOrNull } from './objects.ts'

const ORIGINS: Record<string, string> = { BOUNCE: 'bounce', COMPLAINT: 'complaint' }

/** Reads the files. Refuses the output of other commands, naming the line. */
export function readSes(files: readonly ExportFile[]): Export {
  const found = newExport()
  const listed = new Set<string>()
  for (const file of files)
    for (const { line, value } of parseJsonFile(file))
      if (!take(found, value, listed))
        throw new HostedError(
          `${file.name}, line ${line}: expected the output of aws sesv2 list-suppressed-destinations, get-email-template or list-email-templates.`,
        )
  const names = new Set([found.content.get('/templates') ?? []].flat().map(({ name }) => name))
  for (const name of listed)
    if (!names.has(name))
      found.problems.push({
        kind: 'templates',
        what: name,
        text: 'the files have only its name; add the output of aws sesv2 get-email-template --template-name',
      })
  return found
}

/** Adds the content of a JSON object. Returns whether it was recognized. */
function take(found: Export, value: HostedObject, listed: Set<string>): boolean {
  const { SuppressedDestinationSummaries: summaries, SuppressedDestination: single } = value
  const { TemplatesMetadata: metadata, Template: template, TemplateContent: content } = value
  if (Array.isArray(summaries)) for (const one of summaries as unknown[]) suppress(found, objectOf(one))
  else if (isObject(single)) suppress(found, single)
  else if (Array.isArray(metadata))
    for (const one of metadata as unknown[]) {
      const { TemplateName: name, Name: older } = objectOf(one)
      const named = stringOrNull(name) ?? stringOrNull(older)
      if (named !== null) listed.add(named)
    }
  else if (isObject(content)) {
    const { Subject: subject, Html: html, Text: plain } = content
    convert(found, { name: value.TemplateName, subject, html, plain })
  } else if (isObject(template)) {
    const { TemplateName: name, SubjectPart: subject, HtmlPart: html, TextPart: plain } = template
    convert(found, { name, subject, html, plain })
  } else return false
  return true
}

const isObject = (value: unknown): value is HostedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const objectOf = (value: unknown): HostedObject => (isObject(value) ? value : {})

function suppress(
  found: Export,
  { EmailAddress: email, Reason: reason, LastUpdateTime: at }: HostedObject,
): void {
  const origin = ORIGINS[stringOrNull(reason) ?? ''] ?? 'manual'
  // Version 1 of the AWS command line prints Unix time.
  const createdAt = typeof at === 'number' ? new Date(at * 1000).toISOString() : stringOrNull(at)
  addObject(found, '/suppressions', { email, origin, created_at: createdAt })
}

/** Stores a template with converted tags. The template stays a draft if some tags can't be converted. */
function convert(
  found: Export,
  given: { name: unknown; subject: unknown; html: unknown; plain: unknown },
): void {
  const name = stringOrNull(given.name)
  const note = (note: string) => found.notes.push({ kind: 'templates', what: name ?? '', text: note })
  const subject = convertHandlebars(stringOrNull(given.subject) ?? '')
  const plain = convertHandlebars(stringOrNull(given.plain) ?? '')
  const html = convertHandlebars(stringOrNull(given.html) ?? '')
  const parts = [subject, html, plain]
  const left = [...new Set(parts.flatMap((one) => one.left))]
  if (html.text === '' && plain.text !== '') note('it has no HTML; it is made from the text')
  if (left.length > 0)
    note(`it stays a draft: templates here have no blocks or helpers; rewrite ${left.slice(0, 5).join(', ')}`)
  for (const [path, key] of keysOf(parts))
    if (path !== key) note(`the variable ${path} is called ${key} here`)
  addObject(found, '/templates', {
    name,
    alias: name,
    subject: subject.text,
    html: html.text === '' ? htmlOf(plain.text) : html.text,
    text: plain.text === '' ? null : plain.text,
    status: left.length > 0 ? 'draft' : 'published',
    variables: [...new Set(keysOf(parts).values())].map((key) => ({ key, type: 'string' })),
  })
}

const keysOf = (parts: readonly ConvertedHandlebars[]): Map<string, string> =>
  new Map(parts.flatMap(({ keys }) => [...keys]))

/** Converts text to HTML, keeping its line breaks. */
function htmlOf(plain: string): string {
  if (plain === '') return ''
  const escaped = plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<p style="white-space: pre-line">${escaped}</p>`
}
