/**
 * Reads listmonk's exports: the CSV file of subscribers, and the JSON of its API for lists, subscribers, templates and
 * campaigns. Pure.
 */
import { readContactFile } from '../audience/audience.ts'
import { Refusal } from '../mail/refusals.ts'
import { newExport, parseJsonFile, addObject, decodeTextFile, type Export, type ExportFile } from './files.ts'
import { convertGoTemplate } from './go-templates.ts'
import { HostedError, type HostedObject } from './hosted.ts'
import { stringOrNull } from './objects.ts'
import { ContactCollector } from './people.ts'

/** The objects in API responses, by kind. */
interface Objects {
  lists: HostedObject[]
  subscribers: HostedObject[]
  templates: HostedObject[]
  campaigns: HostedObject[]
}

/** Matches the place where a template inserts the content of a campaign. */
const CONTENT = /\{\{-?\s*template\s+"content"\s+\.\s*-?\}\}/

/** Reads the files. Lists become segments, and campaigns become drafts of broadcasts. */
export function readListmonk(files: readonly ExportFile[]): Export {
  const found = newExport()
  const people = new ContactCollector(found)
  const objects: Objects = { lists: [], subscribers: [], templates: [], campaigns: [] }
  for (const file of files)
    if (/^\uFEFF?\s*\{/.test(decodeTextFile(file))) sortAll(file, objects)
    else takeCsv(file, found, people)
  for (const { name } of objects.lists) people.segment(stringOrNull(name) ?? '')
  const unconfirmed = objects.subscribers.reduce(
    (sum, one) => sum + takeSubscriber(one, { people, lists: objects.lists }),
    0,
  )
  if (unconfirmed > 0)
    found.notes.push({
      kind: 'contacts',
      what: `${unconfirmed} subscriptions`,
      text: 'unconfirmed, and not known to be for a list with single opt-in: those contacts are not in its segment',
    })
  for (const one of objects.templates) if (one.type === 'tx') takeTemplate(one, found)
  for (const one of objects.campaigns) takeCampaign(one, { found, people, templates: objects.templates })
  return found
}

const isObject = (value: unknown): value is HostedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const objectsIn = (value: unknown): HostedObject[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isObject)

/** Determines the kind of each object in a file by its fields. */
function sortAll(file: ExportFile, objects: Objects): void {
  for (const { line, value } of parseJsonFile(file)) {
    const { data } = value
    for (const one of objectsIn(isObject(data) && Array.isArray(data.results) ? data.results : data)) {
      const kind = kindOf(one)
      if (!kind)
        throw new HostedError(
          `${file.name}, line ${line}: expected the answer of listmonk's /api/lists, /api/subscribers, /api/templates or /api/campaigns.`,
        )
      objects[kind].push(one)
    }
    if (data === undefined) throw new HostedError(`${file.name}, line ${line}: expected a field data.`)
  }
}

function kindOf(one: HostedObject): keyof Objects | undefined {
  if ('from_email' in one) return 'campaigns'
  if ('email' in one) return 'subscribers'
  if ('body' in one) return 'templates'
  return 'optin' in one || 'subscriber_count' in one ? 'lists' : undefined
}

function takeCsv(file: ExportFile, found: Export, people: ContactCollector): void {
  const nameOf = (line: number) => `${file.name}, line ${line}`
  for (const { line, reason } of readCsvFile(file, found, people, nameOf))
    found.problems.push({ kind: 'contacts', what: nameOf(line), text: reason })
}

function readCsvFile(
  file: ExportFile,
  found: Export,
  people: ContactCollector,
  nameOf: (line: number) => string,
): { line: number; reason: string }[] {
  try {
    const { service, contacts, failed } = readContactFile(decodeTextFile(file))
    if (service !== 'listmonk')
      throw new HostedError(
        `${file.name}, line 1: expected the columns of a listmonk export: uuid, email, name, attributes, status.`,
      )
    for (const { line, email, cells, unsubscribed } of contacts) {
      const attributes = attributesOf(cells.get('attributes') ?? '')
      if (attributes === undefined)
        found.notes.push({
          kind: 'contacts',
          what: nameOf(line),
          text: 'its attributes are not a JSON object',
        })
      const optedOut = unsubscribed === true || cells.get('status') === 'disabled'
      const properties = attributes ?? {}
      people.add({ email, ...namesOf(cells.get('name')), unsubscribed: optedOut, properties, segments: [] })
    }
    return failed
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new HostedError(`${file.name}, line 1: ${error.message}`, null, { cause: error })
  }
}

function attributesOf(cell: string): HostedObject | undefined {
  try {
    const value: unknown = JSON.parse(cell === '' ? '{}' : cell)
    return isObject(value) ? value : undefined
  } catch {
    // The contact is moved without these values.
    return undefined
  }
}

/** Splits a name like listmonk does: the first word, and the rest. */
function namesOf(name: string | null | undefined): { firstName?: string; lastName?: string } {
  const [first, ...rest] = (name ?? '').trim().split(/\s+/)
  if (first === undefined || first === '') return {}
  return rest.length === 0 ? { firstName: first } : { firstName: first, lastName: rest.join(' ') }
}

/**
 * Adds a subscriber with the lists that they are subscribed to. Leaves out lists that they unsubscribed from, or that
 * they didn't confirm, unless the list is known to need no confirmation. Returns the number of unconfirmed
 * subscriptions.
 */
function takeSubscriber(
  one: HostedObject,
  { people, lists }: { people: ContactCollector; lists: readonly HostedObject[] },
): number {
  const subscriptions = objectsIn(one.lists ?? [])
  const needsNone = ({ id, optin }: HostedObject): boolean =>
    (optin ?? lists.find((list) => list.id === id)?.optin) === 'single'
  const on = subscriptions.filter(
    (list) =>
      list.subscription_status === 'confirmed' ||
      (list.subscription_status === 'unconfirmed' && needsNone(list)),
  )
  people.add({
    email: stringOrNull(one.email) ?? '',
    ...namesOf(stringOrNull(one.name)),
    unsubscribed: one.status !== 'enabled',
    properties: isObject(one.attribs) ? one.attribs : {},
    segments: on.flatMap(({ name }) => stringOrNull(name) ?? []),
  })
  return subscriptions.filter((list) => list.subscription_status === 'unconfirmed' && !needsNone(list)).length
}

function takeTemplate(one: HostedObject, found: Export): void {
  const name = stringOrNull(one.name) ?? ''
  const subject = convertGoTemplate(stringOrNull(one.subject) ?? '')
  const html = convertGoTemplate(stringOrNull(one.body) ?? '')
  const left = [...new Set([...subject.left, ...html.left])]
  if (left.length > 0)
    found.notes.push({
      kind: 'templates',
      what: name,
      text: `it stays a draft: rewrite ${left.slice(0, 5).join(', ')}`,
    })
  addObject(found, '/templates', {
    name,
    subject: subject.text,
    html: html.text,
    status: left.length > 0 ? 'draft' : 'published',
    variables: [...new Set([...subject.keys, ...html.keys])].map((key) => ({ key, type: 'string' })),
  })
}

interface CampaignDeps {
  found: Export
  people: ContactCollector
  templates: readonly HostedObject[]
}

/** Adds a campaign, with its body inserted into its template. */
function takeCampaign(one: HostedObject, { found, people, templates }: CampaignDeps): void {
  const name = stringOrNull(one.name) ?? ''
  const note = (note: string) => found.notes.push({ kind: 'broadcasts', what: name, text: note })
  const [first, ...others] = objectsIn(one.lists ?? []).flatMap((list) => stringOrNull(list.name) ?? [])
  if (others.length > 0)
    note(`it goes to one segment, ${first}; in listmonk it also had ${others.join(', ')}`)
  const template = templates.find(({ id }) => id === one.template_id)
  if (typeof one.template_id === 'number' && !template)
    note('its template is not in the files; only its content is imported')
  const isPlain = one.content_type === 'plain' || one.content_type === 'markdown'
  const body = stringOrNull(one.body) ?? ''
  // Uses a function, because the body may contain `$&`.
  const whole = template && !isPlain ? (stringOrNull(template.body) ?? '').replace(CONTENT, () => body) : body
  if (one.content_type === 'markdown') note('its Markdown is imported as plain text')
  const subject = convertGoTemplate(stringOrNull(one.subject) ?? '')
  const content = convertGoTemplate(whole)
  const alternative = convertGoTemplate(stringOrNull(one.altbody) ?? '')
  const left = [...new Set([subject, content, alternative].flatMap((part) => part.left))]
  if (left.length > 0) note(`rewrite before sending: ${left.slice(0, 5).join(', ')}`)
  const plain = alternative.text === '' ? null : alternative.text
  addObject(found, '/broadcasts', {
    name,
    segment_id: first === undefined ? null : people.segment(first),
    from: stringOrNull(one.from_email),
    subject: subject.text,
    html: isPlain ? null : content.text,
    text: isPlain ? content.text : plain,
    status: one.status === 'finished' ? 'sent' : one.status,
  })
}
