/** Imports of contacts: uploading, previewing, summarizing and starting them. */
import { setImmediate } from 'node:timers/promises'
import { PROPERTY_TYPES, type PropertyType } from '../mail/audience.ts'
import type { ColumnMap, ImportStatus, ConflictAction } from '../mail/contact-import.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  ContactImport,
  ContactProperty,
  ImportPlan,
  ImportReject,
  Page,
  PageArgs,
} from '../storage/storage.ts'
import { CsvFile } from './csv-file.ts'
import { DEFAULT_COLUMN_MAP, findColumns, type ColumnGuesses, guessColumns } from './import-columns.ts'
import type { ImportFiles, Upload, UploadedFile } from './import-files.ts'
import { ROWS_PER_TRANSACTION, checkRowCount } from './import-runner.ts'
import { parseRows } from './import-rows.ts'
import { checkKey, createPropertyMethods } from './lists.ts'
import { SeenAddresses } from './seen.ts'
import {
  type AudienceDeps,
  checkIds,
  type TopicChoiceInput,
  segmentNotFound,
  topicNotFound,
  parseTopicChoices,
} from './find.ts'
import { SHOWN, shortenRows, readFileName, headOf, firstRows } from './import-beginning.ts'

/** Options of an import. */
export interface ImportInput {
  /** Column mapping; null for the columns of the hosted service. */
  map: ColumnMap | null
  onConflict: ConflictAction
  segmentIds: string[]
  topics: TopicChoiceInput[]
  /** How the contacts gave their consent; empty if not stated. */
  consent: string
  /** Who starts the import: a person, by address, or an API key, by name. */
  by: string
}

/** A draft, and the guesses for its columns. */
export interface ImportPreview extends ColumnGuesses {
  import: ContactImport
  rows: string[][]
}

/** The effects that an import would have. */
export interface ImportSummary {
  id: string
  counts: { total: number; created: number; updated: number; skipped: number; failed: number }
  keptOptOuts: number
  newOptOuts: number
  duplicates: number
  newProperties: string[]
  rejects: ImportReject[]
}

interface FileArgs {
  teamId: string
  /** The API key or user that started it. */
  source: string | null
  fileName: string
  upload: Upload
}
type Which = { teamId: string; id: string }

/** An import as shown to the team. `waiting` means that it can't continue because too little disk space is free. */
type ShownImport = ContactImport & { waiting: boolean }

const asShown = (found: ContactImport, hasRoom: boolean): ShownImport => ({
  ...found,
  waiting: found.completedAt === null && !hasRoom,
})

export interface ImportMethods {
  /** Starts an upload. Refuses: `disk_full`. */
  receiveImport(): Promise<Upload>
  /**
   * Queues an import. Refuses: `import_no_csv`, `import_unreadable`, `import_no_email_column`, `invalid_field`,
   * `not_found`, `too_many`.
   */
  createImport(args: FileArgs & { input: ImportInput }): Promise<ContactImport>
  /** Stores a file as a draft. Refuses: `import_no_csv`, `import_unreadable`, `too_many`. */
  previewImport(args: FileArgs): Promise<ImportPreview>
  /** Returns the preview of a draft. Refuses: `not_found`, `import_started`. */
  getImportPreview(which: Which): Promise<ImportPreview>
  /**
   * Reads the whole file of a draft without importing it.
   * Refuses: `not_found`, `import_started`, `import_unreadable`, `import_no_email_column`, `invalid_field`.
   */
  summarizeImport(which: Which & { input: ImportInput; going: () => boolean }): Promise<ImportSummary>
  /** Starts the import of a draft. Refuses for the same reasons as `summarizeImport`. */
  startImport(which: Which & { input: ImportInput }): Promise<ContactImport>
  /** Deletes a draft. Refuses: `not_found`, `import_started`. */
  deleteImport(which: Which): Promise<void>
  /** Returns an import. Refuses: `not_found`. */
  getImport(which: Which): Promise<ShownImport>
  listImports(args: PageArgs & { status?: ImportStatus | undefined }): Promise<Page<ShownImport>>
  /**
   * Removes at most 500 contacts that an import created. Call it repeatedly until `done` is true. Contacts that the
   * import changed stay as they are. Refuses: `not_found`, `import_closed`.
   */
  undoImport(which: Which): Promise<{ contacts: number; done: boolean }>
  /** Returns the rejected rows, in pages. */
  importRejects(which: Which): AsyncGenerator<ImportReject[], void>
}

/** Maximum number of unfinished imports per team. */
const MOST_OPEN = 10
const PAGE = 200
/** How long after its end an import can be undone, in milliseconds. */
export const UNDO_WINDOW_MS = 24 * 3_600_000
/** Maximum number of contacts removed per request and per transaction. A transaction delays mail by some 30 ms. */
const UNDONE_AT_ONCE = 500
const UNDONE_IN_TRANSACTION = 100

/** Creates the store for uploaded files, which are kept until their import ends. */
function createShelf(deps: AudienceDeps & { files: ImportFiles }) {
  const uploads = new WeakMap<Upload, { id: string; file: UploadedFile }>()
  const { storage, clock, files } = deps
  const find = async (which: Which): Promise<ContactImport> => {
    const found = await storage.getContactImport(which, clock.now())
    if (!found) throw refuse('not_found', { resource: 'Contact import' })
    return found
  }
  const draft = async (which: Which): Promise<ContactImport> => {
    const found = await find(which)
    if (found.status !== 'draft') throw refuse('import_started')
    return found
  }
  /** Stores an uploaded file, and removes it if it can't be read. */
  const keep = async (
    { teamId, source, fileName, upload }: FileArgs,
    input: ImportInput | null,
  ): Promise<ContactImport> => {
    const { id, file } = uploads.get(upload)!
    const taken = await file.keep()
    try {
      const head = await headOf(files.pathOf(id))
      const plan = input && (await planOf(deps, teamId, head.columns, input, true))
      const now = clock.now()
      const made = {
        id,
        teamId,
        source,
        status: plan ? ('queued' as const) : ('draft' as const),
        plan,
        fileName: readFileName(fileName),
        fileSha256: taken.sha256,
        bytes: taken.bytes,
        encoding: taken.encoding,
        separator: head.separator,
        columns: head.columns,
        onConflict: input?.onConflict ?? ('upsert' as const),
        processed: head.end,
        line: head.line,
        createdAt: now,
      }
      if (!(await storage.createContactImport({ made, most: MOST_OPEN }, now)))
        throw refuse('too_many', { limit: MOST_OPEN, things: 'unfinished imports' })
      return await find({ teamId, id })
    } catch (error) {
      await files.remove(id)
      throw error
    }
  }
  const preview = async (found: ContactImport): Promise<ImportPreview> => {
    const rows = await firstRows(files.pathOf(found.id), found)
    return { import: found, ...guessColumns(found.columns, rows), rows: shortenRows(rows) }
  }
  const receive = async (): Promise<Upload> => {
    const id = newId(clock.now())
    const file = await files.receive(id)
    uploads.set(file, { id, file })
    return file
  }
  return { receive, find, draft, keep, preview }
}

/**
 * Creates the methods for imports.
 * @param queued called after an import was queued
 */
export function createImportMethods(
  deps: AudienceDeps & { files: ImportFiles },
  queued: () => void,
): ImportMethods {
  const { storage, clock, files } = deps
  const { receive, find, draft, keep, preview } = createShelf(deps)
  return {
    receiveImport: receive,
    async createImport({ input, ...args }) {
      const made = await keep(args, input)
      queued()
      return made
    },
    previewImport: async (args) => preview(await keep(args, null)),
    getImportPreview: async (which) => preview(await draft(which)),
    async summarizeImport({ input, going, ...which }) {
      const found = await draft(which)
      const plan = await planOf(deps, which.teamId, found.columns, input, false)
      return summarize(deps, { found, plan, going, onConflict: input.onConflict })
    },
    async startImport({ input, ...which }) {
      const found = await draft(which)
      const plan = await planOf(deps, which.teamId, found.columns, input, true)
      const { onConflict } = input
      if (!(await storage.startContactImport({ ...which, plan, onConflict }, clock.now())))
        throw refuse('import_started')
      queued()
      return found
    },
    async deleteImport(which) {
      await find(which)
      if (!(await storage.deleteContactImport(which, clock.now()))) throw refuse('import_started')
      await files.remove(which.id)
    },
    getImport: async (which) => asShown(await find(which), await files.hasRoom()),
    async listImports(args) {
      const listing = storage.listContactImports(args, clock.now())
      const [page, hasRoom] = await Promise.all([listing, files.hasRoom()])
      return { ...page, items: page.items.map((one) => asShown(one, hasRoom)) }
    },
    undoImport: async (which) => undo(deps, await find(which)),
    async *importRejects(which) {
      for (let after = 0; ;) {
        const page = await storage.listImportRejects({ ...which, after, limit: PAGE }, clock.now())
        if (page.length === 0) return
        yield page
        after = page.at(-1)!.line
      }
    },
  }
}

/** Removes the contacts that an import created. Refuses: `import_closed`. */
async function undo({ storage, clock }: AudienceDeps, { id, teamId }: Which) {
  let contacts = 0
  let done = false
  for (let step = 0; !done && step < UNDONE_AT_ONCE / UNDONE_IN_TRANSACTION; step += 1) {
    const since = clock.now() - UNDO_WINDOW_MS
    const part = await storage.undoContactImport(
      { teamId, id, since, limit: UNDONE_IN_TRANSACTION },
      clock.now(),
    )
    // Another request may have finished the undo meanwhile.
    if (part === 'closed' && step > 0) return { contacts, done: true }
    if (part === 'closed') throw refuse('import_closed', { hours: UNDO_WINDOW_MS / 3_600_000 })
    contacts += part.removed
    done = part.done
  }
  return { contacts, done }
}

/**
 * Decides which field each column is imported as. Creates missing properties, or only checks them.
 *
 * Refuses: `import_no_email_column`, `invalid_field`, `invalid_id`, `not_found`, `too_many`.
 */
async function planOf(
  deps: AudienceDeps,
  teamId: string,
  columns: readonly string[],
  input: ImportInput,
  create: boolean,
): Promise<ImportPlan> {
  const { properties, ...places } = findColumns(columns, input.map ?? DEFAULT_COLUMN_MAP)
  const segmentIds = checkIds('segments', input.segmentIds)
  const topics = parseTopicChoices(input.topics)
  const consent = input.consent.trim()
  await checkTargets(deps, teamId, segmentIds, topics)
  const known = await deps.storage.listContactProperties({ teamId }, deps.clock.now())
  const planned: ImportPlan['properties'] = []
  for (const { key, at, type } of properties) {
    const found = known.find((property) => property.key === key)
    if (!found) checkKey(key, `column_map.properties.${key.slice(0, 50).toWellFormed()}`)
    const stored: PropertyType = PROPERTY_TYPES.find((one) => one === type) ?? 'string'
    if (found && found.type !== stored)
      throw refuse('invalid_field', {
        field: `column_map.properties.${key}.type`,
        expected: `the type of the property that exists: ${found.type}`,
      })
    const { label } = found ?? (create ? await made(deps, teamId, key, stored) : { label: '' })
    planned.push({ at, key, label, type })
  }
  const by = input.by === '' ? {} : { by: input.by }
  return { ...places, properties: planned, segmentIds, topics, ...by, ...(consent !== '' && { consent }) }
}

const made = (
  deps: AudienceDeps,
  teamId: string,
  key: string,
  type: PropertyType,
): Promise<ContactProperty> =>
  createPropertyMethods(deps).createProperty({ teamId, key, type, fallback: null })

/** Checks that the segments and topics exist. Refuses: `not_found`. */
async function checkTargets(
  { storage, clock }: AudienceDeps,
  teamId: string,
  segmentIds: readonly string[],
  topics: readonly TopicChoiceInput[],
): Promise<void> {
  for (const id of segmentIds) {
    const segment = await storage.getSegment({ teamId, id }, clock.now())
    if (!segment) throw segmentNotFound()
    if (segment.filter) throw refuse('segment_with_rules')
  }
  for (const { id } of topics)
    if (!(await storage.getTopic({ teamId, id }, clock.now()))) throw topicNotFound()
}

/** Summarizes the whole file, a thousand rows at a time. Refuses: `import_unreadable`. */
async function summarize(
  { storage, clock, files }: AudienceDeps & { files: ImportFiles },
  {
    found,
    plan,
    going,
    onConflict,
  }: { found: ContactImport; plan: ImportPlan; going: () => boolean; onConflict: ConflictAction },
): Promise<ImportSummary> {
  const { id, teamId, processed: offset, line: start, separator } = found
  const file = await CsvFile.open(files.pathOf(id), { offset, line: start, separator })
  const sum: ImportSummary = {
    id,
    counts: { total: 0, created: 0, updated: 0, skipped: 0, failed: 0 },
    keptOptOuts: 0,
    newOptOuts: 0,
    duplicates: 0,
    rejects: [],
    newProperties: plan.properties.filter(({ label }) => label === '').map(({ key }) => key),
  }
  const seen = new SeenAddresses()
  try {
    while (going()) {
      const { records, line } = await file.next(ROWS_PER_TRANSACTION)
      if (records.length === 0) break
      const read = parseRows(records, plan, seen)
      checkRowCount(seen, line)
      const fresh = read.rows.filter(({ again }) => !again)
      const emails = fresh.map(({ email }) => email)
      const known = await storage.optOutsOf({ teamId, emails }, clock.now())
      const skips = onConflict === 'skip'
      const existing = known.filter(({ contact }) => contact).length
      sum.counts.total += read.total
      sum.counts.failed += read.failed.length
      sum.counts.created += fresh.length - existing
      sum.counts[skips ? 'skipped' : 'updated'] += existing
      sum.counts.skipped += read.rows.length - fresh.length
      sum.duplicates += read.rows.length - fresh.length
      sum.keptOptOuts += known.filter((one) => one.unsubscribed && !(skips && one.contact)).length
      sum.newOptOuts += fresh.filter(
        ({ unsubscribed }, at) => unsubscribed && !known[at]!.unsubscribed && !(skips && known[at]!.contact),
      ).length
      sum.rejects.push(...read.failed.slice(0, SHOWN - sum.rejects.length))
      await setImmediate()
    }
    return sum
  } finally {
    await file.close()
  }
}
