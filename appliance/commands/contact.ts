/** The commands about contacts, segments and topics. */
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { presentImportSummary } from '../api/contact-import-previews.ts'
import { presentImportRef } from '../api/contact-imports.ts'
import {
  formatContactHeader,
  formatContactRow,
  presentContact,
  presentContactSummary,
  presentFoundContact,
} from '../api/contacts.ts'
import { personText } from '../api/person.ts'
import { presentSegment } from '../api/segments.ts'
import { presentList } from '../api/shared.ts'
import { presentTopic } from '../api/topics.ts'
import type { ImportPreview, ImportSummary } from '../audience/audience.ts'
import type { ConflictAction } from '../mail/contact-import.ts'
import { createErasures } from '../senders/senders.ts'
import type { Contact } from '../storage/storage.ts'
import { Failure, type Context } from './context.ts'
import { describeFileError } from './failure.ts'
import { formatInstant, formatTable } from './output.ts'

const DEFAULT_LIMIT = 100
const MOST = 1000

const nameOf = ({ firstName, lastName }: Contact): string => [firstName, lastName].filter(Boolean).join(' ')
const statusOf = ({ optOut }: Contact): string => (optOut ? 'unsubscribed' : 'subscribed')

/** Runs `contact list`. */
export async function listContacts(
  { contacts, output, team }: Context,
  { search, segment, limit = DEFAULT_LIMIT }: { search?: string; segment?: string; limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use contact export for all contacts.`)
  const conditions = { text: search, segmentId: segment }
  await contacts.checkConditions(teamId, conditions)
  const items: Contact[] = []
  const objects: ReturnType<typeof presentFoundContact>[] = []
  let after: string | undefined
  do {
    const asked = { teamId, ...conditions, after, limit: limit - items.length }
    const found = await contacts.searchContacts(asked)
    items.push(...found.items)
    objects.push(...found.items.map((one) => presentFoundContact(one, found.context)))
    after = found.next ?? undefined
  } while (after !== undefined && items.length < limit)
  const next = after ?? null
  output.object({ ...presentList(objects, next !== null), next })
  if (items.length === 0) return output.text('No contacts.')
  const rows = items.map((one) => [formatInstant(one.createdAt), statusOf(one), one.email, nameOf(one)])
  output.text(...formatTable(['ADDED', 'STATUS', 'ADDRESS', 'NAME'], rows))
  if (next !== null) output.error(`Only the newest ${limit} are shown. Add --limit to see more.`)
}

/** `contact show`: by address or id. */
export async function showContact(
  { contacts, broadcasts, automations, storage, clock, output, team }: Context,
  idOrEmail: string,
): Promise<void> {
  const { id: teamId } = await team()
  const contact = await contacts.getContact({ teamId, idOrEmail })
  output.object(presentContact(contact))
  const own = { teamId, contactId: contact.id }
  const segments = await storage.listContactSegments({ ...own, limit: DEFAULT_LIMIT }, clock.now())
  const topics = await storage.listContactTopics(own, clock.now())
  const prospects = await broadcasts.contactProspects(own)
  const runs = await automations.contactRuns(own)
  const next = prospects.filter(({ prospect }) => prospect === 'eligible')
  const { optOut, email, id, createdAt, createdBy, lastOpenedAt, lastClickedAt, values } = contact
  const timeOf = (at: number | null) => (at === null ? 'never' : formatInstant(at))
  const facts = [
    ['Address', email],
    ['ID', id],
    ['Name', nameOf(contact)],
    ['Status', optOut ? `unsubscribed by ${optOut.origin}, ${formatInstant(optOut.at)}` : 'subscribed'],
    ['Added', `${formatInstant(createdAt)} by ${createdBy}`],
    ['Last opened', timeOf(lastOpenedAt)],
    ['Last clicked', timeOf(lastClickedAt)],
    ...values.map(({ key, value }) => [key, String(value)]),
    ['Segments', segments.items.map(({ name }) => name).join(', ')],
    ['Topics', topics.map(({ name, subscription }) => `${name} (${subscription})`).join(', ')],
    ['Automations', runs.map(({ automationName, status }) => `${automationName} (${status})`).join(', ')],
    ['Would get', next.map(({ broadcast: { name, status } }) => `${name} (${status})`).join(', ')],
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

/** `contact export`: all contacts, or those of a segment, as CSV, newest first; or one person's data as JSON. */
export async function exportContacts(
  context: Context,
  [person]: (string | undefined)[],
  { segment }: { segment?: string },
): Promise<void> {
  const { contacts, team } = context
  if (person !== undefined) return exportPerson(context, person)
  const { id: teamId } = await team()
  await contacts.checkConditions(teamId, { segmentId: segment })
  await printContacts(context, teamId, contacts.allContacts({ teamId, segmentId: segment }))
}

/** `segment export`: the same as `contact export --segment`. */
export const exportSegment = (context: Context, segment: string): Promise<void> =>
  exportContacts(context, [], { segment })

/** `topic export`: the contacts that subscribed to a topic, as CSV, newest first. */
export async function exportTopic(context: Context, id: string): Promise<void> {
  const { contacts, team } = context
  const { id: teamId } = await team()
  const topic = { id, subscription: 'opt_in' as const }
  await contacts.checkConditions(teamId, { topic })
  await printContacts(context, teamId, pages())

  async function* pages(): AsyncGenerator<Contact[], void> {
    for (let after: string | undefined; ;) {
      const found = await contacts.searchContacts({ teamId, topic, after, limit: MOST })
      yield found.items
      if (found.next === null) return
      after = found.next
    }
  }
}

async function printContacts(
  { contacts, output }: Context,
  teamId: string,
  pages: AsyncIterable<Contact[]>,
): Promise<void> {
  const properties = await contacts.listProperties({ teamId })
  output.text(formatContactHeader(properties).trimEnd())
  const objects: ReturnType<typeof presentContactSummary>[] = []
  for await (const page of pages) {
    if (page.length === 0) continue
    output.text(
      page
        .map((one) => formatContactRow(properties, one))
        .join('')
        .trimEnd(),
    )
    objects.push(...page.map(presentContactSummary))
  }
  output.object(presentList(objects))
}

/** Prints all stored data about an address. */
async function exportPerson(
  { contacts, storage, clock, output, team }: Context,
  idOrEmail: string,
): Promise<void> {
  const { id: teamId } = await team()
  const person = await contacts.getPerson({ teamId, idOrEmail })
  const { address } = person
  const emails = contacts.emailsOfPerson({ teamId, address })
  const counts = () => createErasures({ storage, clock }).survey({ teamId, address })
  const texts: string[] = []
  for await (const some of personText({ person, emails, counts }, clock.now())) texts.push(...some)
  const text = texts.join('')
  output.object(JSON.parse(text) as object)
  output.text(text.trimEnd())
}

interface ImportOptions {
  preview?: boolean
  onConflict?: ConflictAction
  segment?: string
  topic?: string
  consent?: string
}

/** `contact import`: queues a file; columns are recognized by their names and values. */
export async function importContacts(
  { contacts, output, team }: Context,
  [file]: string[],
  { preview = false, onConflict = 'upsert', segment, topic, consent = '' }: ImportOptions,
): Promise<void> {
  const { id: teamId } = await team()
  const draft = await upload(contacts, teamId, file!)
  const which = { teamId, id: draft.import.id }
  const segmentIds = segment === undefined ? [] : [segment]
  const topics = topic === undefined ? [] : [{ id: topic, subscription: 'opt_in' as const }]
  const input = { map: draft.map, onConflict, segmentIds, topics, consent, by: 'command line' }
  try {
    if (!preview) {
      const started = await contacts.startImport({ ...which, input })
      output.object(presentImportRef(started))
      return output.text(`Queued import ${started.id}. The server imports it in the background.`)
    }
    const summary = await contacts.summarizeImport({ ...which, input, going: () => true })
    await contacts.deleteImport(which)
    output.object(presentImportSummary(summary))
    tell(output, draft, summary)
  } catch (error) {
    // Otherwise, an invisible draft would stay for a day.
    await contacts.deleteImport(which).catch(() => undefined)
    throw error
  }
}

/** `segment import`: the same as `contact import --segment`. */
export const importIntoSegment = (
  context: Context,
  [segment, file]: string[],
  options: ImportOptions,
): Promise<void> => importContacts(context, [file!], { ...options, segment: segment! })

/** `topic import`: subscribes contacts to a topic. Opt-outs stay. */
export const importIntoTopic = (
  context: Context,
  [topic, file]: string[],
  options: ImportOptions,
): Promise<void> => importContacts(context, [file!], { ...options, topic: topic! })

/** Stores a file as a draft. */
async function upload(contacts: Context['contacts'], teamId: string, file: string): Promise<ImportPreview> {
  const from: Readable = file === '-' ? process.stdin : await opened(file)
  const taken = await contacts.receiveImport()
  try {
    for await (const chunk of from) await taken.write(chunk as Uint8Array)
    const fileName = file === '-' ? 'standard input' : basename(file)
    return await contacts.previewImport({ teamId, source: null, fileName, upload: taken })
  } catch (error) {
    await taken.discard()
    throw error
  }
}

async function opened(file: string): Promise<Readable> {
  try {
    return (await open(file)).createReadStream()
  } catch (error) {
    // The file belongs to the user, so report the system's error.
    throw new Failure(`Cannot read the file: ${describeFileError(error)}`)
  }
}

function tell(output: Context['output'], { columns }: ImportPreview, summary: ImportSummary): void {
  const { counts, keptOptOuts, duplicates, newProperties, rejects } = summary
  const rows = columns.map(({ name, field, key }) => [name, field ?? 'ignored', key ?? ''])
  output.text(...formatTable(['COLUMN', 'FIELD', 'PROPERTY'], rows))
  for (const { line, reason } of rejects) output.error(`line ${line}: ${reason}`)
  if (newProperties.length > 0) output.text(`New properties: ${newProperties.join(', ')}`)
  output.text(
    `New: ${counts.created} · changed: ${counts.updated} · skipped: ${counts.skipped} · failed: ${counts.failed}`,
    `Stay unsubscribed: ${keptOptOuts} · more than once in the file: ${duplicates}`,
  )
}

/** `contact undo`: removes the contacts that an import created. */
export async function undoImport({ contacts, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  let removed = 0
  for (let done = false; !done;) {
    const part = await contacts.undoImport({ teamId, id })
    removed += part.contacts
    done = part.done
  }
  output.object({ object: 'contact_import_undone', id, contacts: removed, done: true })
  output.text(`Removed contacts: ${removed}. Contacts that the import changed stay as they are.`)
}

/** Runs `segment list`. */
export async function listSegments({ contacts, output, team }: Context): Promise<void> {
  const segments = await contacts.listSegments({ teamId: (await team()).id })
  output.object(presentList(segments.map(presentSegment)))
  if (segments.length === 0) return output.text('No segments.')
  const rows = segments.map(({ id, name, contacts: size, filter }) => [
    id,
    String(size),
    filter ? 'rules' : 'added',
    name,
  ])
  output.text(...formatTable(['ID', 'CONTACTS', 'MEMBERS', 'NAME'], rows))
}

/** Runs `segment show`. */
export async function showSegment(
  { contacts, broadcasts, output, team }: Context,
  id: string,
): Promise<void> {
  const { id: teamId } = await team()
  const segment = await contacts.getSegment({ teamId, id })
  const { eligible, estimated, providers } = await broadcasts.segmentReach({ teamId, id })
  output.object({ object: 'segment', ...presentSegment(segment) })
  output.text(`${segment.name}: ${segment.contacts} contacts, created ${formatInstant(segment.createdAt)}`)
  if (segment.filter) output.text(JSON.stringify(segment.filter, null, 2))
  output.text(`Can get broadcasts: ${estimated ? 'about ' : ''}${eligible}`)
  const rows = providers.map(({ provider, contacts: n }) => [provider || 'not known yet', String(n)])
  if (rows.length > 0) output.text(...formatTable(['PROVIDER', 'CONTACTS'], rows))
}

/** Runs `topic list`. */
export async function listTopics({ contacts, output, team }: Context): Promise<void> {
  const topics = await contacts.listTopics({ teamId: (await team()).id })
  output.object(presentList(topics.map(presentTopic)))
  if (topics.length === 0) return output.text('No topics.')
  const rows = topics.map((one) => [
    one.id,
    one.defaultSubscription,
    String(one.optedIn),
    String(one.optedOut),
    one.name,
  ])
  output.text(...formatTable(['ID', 'DEFAULT', 'OPTED IN', 'OPTED OUT', 'NAME'], rows))
}

/** Runs `topic show`. */
export async function showTopic({ contacts, output, team }: Context, id: string): Promise<void> {
  const topic = await contacts.getTopic({ teamId: (await team()).id, id })
  output.object({ object: 'topic', ...presentTopic(topic) })
  const { name, description, defaultSubscription, visibility, optedIn, optedOut } = topic
  output.text(`${name} (${visibility}), default ${defaultSubscription}`)
  if (description !== null) output.text(description)
  output.text(`Opted in: ${optedIn} · opted out: ${optedOut}`)
}
