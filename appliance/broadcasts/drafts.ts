/** Drafts of broadcasts: validates, stores and changes them. */
import type { Clock } from '../clock/clock.ts'
import { compileInput } from '../document/given.ts'
import type { BroadcastContent, BroadcastStatus, BroadcastAction } from '../mail/broadcast.ts'
import { MAX_EMAILS_PER_HOUR } from '../mail/broadcast-rate.ts'
import { isId, newId } from '../mail/ids.ts'
import { findImageIds } from '../mail/image.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  Broadcast,
  BroadcastUpdateResult,
  BroadcastRef,
  Storage,
  VersionRecord,
} from '../storage/storage.ts'
import { type AbTestInput, readAbTest } from './ab-draft.ts'
import { findOrCreateActionSegment } from './follow-ups.ts'
import { parseMailboxField, parseContent } from './revision.ts'

export interface BroadcastDeps {
  storage: Storage
  clock: Clock
}

/** The fields of a draft in a request. Undefined fields stay unchanged, or get the default. */
export interface DraftInput {
  name?: string | undefined
  segmentId?: string | undefined
  exclude?: string[] | undefined
  topicId?: string | null | undefined
  content: Partial<BroadcastContent>
  /** ID or alias of the template that the content was made from. Only for a new draft. */
  template?: string | undefined
  /** The editor document. Null means that the content is written as code from now on. */
  document?: unknown
  /** Maximum number of emails per hour; null for as fast as the lanes allow. */
  hourlyRate?: number | null | undefined
  /** Null: no A/B test. */
  abTest?: AbTestInput | null | undefined
  /** Whether it is published in the team's archive once it is sent. Copies aren't. */
  archive?: boolean | undefined
}

export interface DraftMethods {
  /** Returns a broadcast. Refuses: `not_found`. */
  getBroadcast(ref: BroadcastRef): Promise<Broadcast>
  listBroadcasts(args: {
    teamId: string
    limit: number
    after?: string | undefined
    before?: string | undefined
    status?: BroadcastStatus | undefined
    /** Matches part of the name. */
    text?: string | undefined
    segmentId?: string | undefined
  }): Promise<{ items: Broadcast[]; hasMore: boolean }>
  /**
   * Checks the name and content of a new draft, without storing it.
   * Refuses: `missing_field`, `invalid_field`, `invalid_address`, `merge_tag`.
   */
  checkBroadcast(draft: Pick<DraftInput, 'name' | 'content'>): void
  /**
   * Creates a draft. Refuses: `missing_field`, `invalid_field`, `invalid_address`, `invalid_id`, `merge_tag`,
   * `not_found` (segment, topic).
   */
  createBroadcast(args: { teamId: string; draft: DraftInput; author: string }): Promise<Broadcast>
  /**
   * Updates a draft.
   * @param args edits: the version of the draft that the caller read; undefined for any
   *
   * Refuses: `broadcast_started`, `broadcast_changed`, and for the same reasons as `createBroadcast`.
   */
  updateBroadcast(
    args: BroadcastRef & { draft: DraftInput; author: string; edits?: number | undefined },
  ): Promise<void>
  /** Deletes a broadcast. Refuses: `not_found`, `broadcast_kept`. */
  deleteBroadcast(ref: BroadcastRef): Promise<void>
  /**
   * Creates a draft with the same content.
   * @param args without: also excludes the contacts that did this (opened or clicked) with the original
   *
   * Refuses: `not_found`, `invalid_field` (without), `too_many`.
   */
  duplicateBroadcast(
    args: BroadcastRef & { author: string; without?: BroadcastAction | undefined },
  ): Promise<Broadcast>
}

/** Maximum lengths in characters. */
const MAX = { name: 70, subject: 998, previewText: 998, body: 2_000_000 }
const MAX_REPLY_TO = 10
const MAX_EXCLUDED = 20

/** Maximum number of versions kept per broadcast. */
const KEPT = 50
/**
 * Period in which changes by the same author count as one version, in milliseconds, because drafts are saved
 * automatically.
 */
const TOGETHER = 5 * 60_000

/** Returns the version record for a change to a draft. */
export const createVersionRecord = (author: string, now: number): VersionRecord => ({
  id: newId(now),
  author,
  together: TOGETHER,
  keep: KEPT,
})

/** Marks the images of a broadcast as used, so that they aren't removed. */
export async function markImagesUsed(
  { storage, clock }: BroadcastDeps,
  teamId: string,
  html: string | null | undefined,
): Promise<void> {
  const ids = findImageIds(html ?? '')
  if (ids.length > 0) await storage.useImages({ teamId, ids }, clock.now())
}

export const broadcastNotFound = () => refuse('not_found', { resource: 'Broadcast' })

export function createDraftMethods({ storage, clock }: BroadcastDeps): DraftMethods {
  const get = async (ref: BroadcastRef): Promise<Broadcast> => {
    const found = isId(ref.id) ? await storage.getBroadcast(ref, clock.now()) : undefined
    if (!found) throw broadcastNotFound()
    return found
  }
  const store = async (
    broadcast: Omit<Broadcast, 'id' | 'createdAt'> & { teamId: string },
    author: string,
  ): Promise<Broadcast> => {
    const now = clock.now()
    const { teamId, name, segmentId, exclude, topicId, content, document, templateId, hourlyRate } = broadcast
    const draft = { teamId, name, segmentId, exclude, topicId, content, document, templateId, hourlyRate }
    const made = { id: newId(now), ...draft, archivedAt: broadcast.archivedAt, createdAt: now }
    await markImagesUsed({ storage, clock }, teamId, htmlOf(content))
    await storage.createBroadcast({ broadcast: made, version: createVersionRecord(author, now) }, now)
    return get(made)
  }
  return {
    getBroadcast: get,
    listBroadcasts: (args) => storage.listBroadcasts(args, clock.now()),
    checkBroadcast,
    async createBroadcast({ teamId, draft, author }) {
      const compiled = await compiledDraft(draft)
      const content = wholeContent(compiled.content)
      const { document = null } = compiled
      const { segmentId, exclude = [], topicId = null, hourlyRate = null } = draft
      if (segmentId === undefined) throw refuse('missing_field', { field: 'segment_id' })
      const checked = { segmentId, exclude, topicId, content, document, hourlyRate }
      await check({ storage, clock }, teamId, checked)
      const name = draft.name === undefined || draft.name === '' ? content.subject : draft.name
      const templateId = await templateOf({ storage, clock }, teamId, draft.template)
      const made = { ...(checked as Broadcast), teamId, templateId, archivedAt: publishedAt(draft, clock) }
      return store({ ...made, name: readName(name, draft.name === undefined) }, author)
    },
    async updateBroadcast({ teamId, id, draft: given, author, edits }) {
      const draft = await compiledDraft(given)
      await check({ storage, clock }, teamId, draft)
      await markImagesUsed({ storage, clock }, teamId, htmlOf(draft.content))
      const name = draft.name === undefined ? undefined : readName(draft.name, false)
      const { segmentId, exclude, topicId, document, hourlyRate, archive } = draft
      const content = Object.keys(draft.content).length === 0 ? undefined : draft.content
      const change = { name, segmentId, exclude, topicId, content, document, hourlyRate, archive }
      const now = clock.now()
      const version = createVersionRecord(author, now)
      const answer = await storage.updateBroadcast({ teamId, id, change, edits, version }, now)
      refuseFailedChange(answer, 'broadcast_started')
    },
    async deleteBroadcast(ref) {
      refuseFailedChange(await storage.deleteBroadcast(ref, clock.now()), 'broadcast_kept')
    },
    async duplicateBroadcast({ without, author, ...ref }) {
      const original = await get(ref)
      const suffix = without === undefined ? ' (copy)' : ` (not ${without})`
      const name = original.name.slice(0, MAX.name - suffix.length).toWellFormed() + suffix
      const exclude = await exclusions({ storage, clock }, original, without)
      return store({ ...original, name, exclude, archivedAt: null }, author)
    },
  }
}

/** Returns when a new draft is published in the archive; null: it isn't. */
const publishedAt = ({ archive }: Pick<DraftInput, 'archive'>, clock: Clock): number | null =>
  archive === true ? clock.now() : null

/** Returns the id of a template. Refuses: `not_found`. */
async function templateOf(
  { storage, clock }: BroadcastDeps,
  teamId: string,
  which: string | undefined,
): Promise<string | null> {
  if (which === undefined) return null
  const ref = isId(which) ? { id: which.toLowerCase() } : { alias: which }
  const found = await storage.getTemplate({ teamId, ref }, clock.now())
  if (!found) throw refuse('not_found', { resource: 'Template' })
  return found.id
}

/** Returns the segments that a copy excludes. Refuses: `invalid_field` (without), `too_many`. */
async function exclusions(
  deps: BroadcastDeps,
  original: Broadcast,
  without: BroadcastAction | undefined,
): Promise<string[]> {
  const { exclude, revisionId } = original
  if (without === undefined) return exclude
  if (revisionId === null)
    throw refuse('invalid_field', { field: 'without', expected: 'absent, because it was not sent' })
  if (exclude.length >= MAX_EXCLUDED)
    throw refuse('too_many', { limit: MAX_EXCLUDED, things: 'excluded segments' })
  return [...exclude, await findOrCreateActionSegment(deps, original, without)]
}

/**
 * Throws unless the change succeeded. Refuses: `not_found`, `broadcast_changed`, or the given refusal for a wrong
 * status.
 */
export function refuseFailedChange(
  answer: BroadcastUpdateResult,
  wrongStatus: 'broadcast_started' | 'broadcast_kept' | 'broadcast_not_paused' | 'broadcast_not_running',
): void {
  if (answer === 'unknown') throw broadcastNotFound()
  if (answer === 'stale') throw refuse('broadcast_changed')
  if (answer === 'wrong_status') throw refuse(wrongStatus)
}

/**
 * Reads a name.
 *
 * @param cut whether to cut a long name, as for a subject used as the name
 */
function readName(name: string, cut: boolean): string {
  const line = name.trim()
  if (line.length > MAX.name && !cut)
    throw refuse('invalid_field', { field: 'name', expected: `at most ${MAX.name} characters` })
  return line.slice(0, MAX.name).toWellFormed()
}

function checkBroadcast({ name = '', content }: Pick<DraftInput, 'name' | 'content'>): void {
  readName(name, false)
  checkContent(wholeContent(content))
}

/** A draft with a compiled document. */
type CompiledDraft = Omit<DraftInput, 'document' | 'abTest'> & { document?: string | null }

/** Returns the HTML of all variants of a draft. */
export const htmlOf = ({ html, abTest }: Partial<BroadcastContent>): string =>
  [html ?? '', ...(abTest?.variants ?? []).map(({ body }) => body?.html ?? '')].join('\n')

/**
 * Compiles the document of a draft. Its preheader becomes the preview text, which `addPreviewText` puts into the HTML
 * of each email. Content written as code removes the document.
 */
async function compiledDraft({ abTest, ...plain }: DraftInput): Promise<CompiledDraft> {
  const compiled = await compiledContent(plain)
  if (abTest === undefined) return compiled
  const read = abTest === null ? null : await readAbTest(abTest)
  return { ...compiled, content: { ...compiled.content, abTest: read } }
}

async function compiledContent({
  document: given,
  ...draft
}: Omit<DraftInput, 'abTest'>): Promise<CompiledDraft> {
  const { html, text, previewText } = draft.content
  if (given === undefined && html === undefined && text === undefined) return draft
  if (given === undefined || given === null) return { ...draft, document: null }
  for (const [field, value] of Object.entries({ html, text }))
    if (value)
      throw refuse('invalid_field', { field, expected: 'absent, because it is made from `document`' })
  const { document, preheader, ...compiled } = await compileInput(given, { preheader: false })
  const preview = previewText === undefined && preheader !== '' ? { previewText: preheader } : {}
  return { ...draft, document, content: { ...draft.content, ...compiled, ...preview } }
}

function wholeContent(content: Partial<BroadcastContent>): BroadcastContent {
  const { from, subject } = content
  if (from === undefined || from === '') throw refuse('missing_field', { field: 'from' })
  if (subject === undefined || subject === '') throw refuse('missing_field', { field: 'subject' })
  const { replyTo = [], previewText = null, html = null, text = null, abTest } = content
  return { from, subject, replyTo, previewText, html, text, ...(abTest && { abTest }) }
}

async function check(
  { storage, clock }: BroadcastDeps,
  teamId: string,
  { segmentId, exclude = [], topicId, content, hourlyRate = null }: CompiledDraft,
): Promise<void> {
  checkContent(content)
  checkRate(hourlyRate)
  if (exclude.length > MAX_EXCLUDED)
    throw refuse('too_many', { limit: MAX_EXCLUDED, things: 'excluded segments' })
  const now = clock.now()
  for (const [field, id] of [
    ['segment_id', segmentId],
    ...exclude.map((one) => ['exclude_segment_ids', one]),
  ]) {
    if (id === undefined) continue
    if (!isId(id)) throw refuse('invalid_id', { parameter: field! })
    if (!(await storage.getSegment({ teamId, id }, now))) throw refuse('not_found', { resource: 'Segment' })
  }
  if (typeof topicId !== 'string') return
  if (!isId(topicId)) throw refuse('invalid_id', { parameter: 'topic_id' })
  if (!(await storage.getTopic({ teamId, id: topicId }, now)))
    throw refuse('not_found', { resource: 'Topic' })
}

function checkRate(rate: number | null): void {
  if (rate !== null && !(Number.isInteger(rate) && rate >= 1 && rate <= MAX_EMAILS_PER_HOUR))
    throw refuse('invalid_field', {
      field: 'emails_per_hour',
      expected: `a whole number from 1 to ${MAX_EMAILS_PER_HOUR.toLocaleString('en')}, or null for no limit`,
    })
}

function checkMailbox(field: string, text: string): void {
  parseMailboxField(field, text)
  if (text.includes('{{{'))
    throw refuse('invalid_field', { field, expected: 'an address without merge tags' })
}

/** @param at where the content is in the request, such as `ab_test.variants[0].` */
function checkContent(content: Partial<BroadcastContent>, at = ''): void {
  const { from, subject, replyTo = [], previewText, html = null, text = null } = content
  if (from !== undefined) checkMailbox('from', from)
  if (replyTo.length > MAX_REPLY_TO)
    throw refuse('too_many_recipients', { field: 'reply_to', limit: MAX_REPLY_TO })
  for (const one of replyTo) checkMailbox('reply_to', one)
  const lines = [
    ['subject', subject ?? '', MAX.subject],
    ['preview_text', previewText ?? '', MAX.previewText],
    ['html', html ?? '', MAX.body],
    ['text', text ?? '', MAX.body],
  ] as const
  for (const [field, value, most] of lines)
    if (value.length > most)
      throw refuse('invalid_field', { field: at + field, expected: `at most ${most} characters` })
  if (subject === '') throw refuse('missing_field', { field: `${at}subject` })
  if (subject !== undefined && /[\r\n]/.test(subject))
    throw refuse('invalid_field', { field: `${at}subject`, expected: 'one line' })
  parseContent({ subject: subject ?? '', html, text }, at)
  for (const [index, variant] of (content.abTest?.variants ?? []).entries()) {
    const { html: own = null, text: plain = null } = variant.body ?? {}
    const said = {
      subject: variant.subject ?? undefined,
      previewText: variant.previewText,
      html: own,
      text: plain,
    }
    checkContent(said, `ab_test.variants[${index}].`)
  }
}
