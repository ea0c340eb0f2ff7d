/** The settings of teams' public archives: reads and checks changes. */
import type { Clock } from '../clock/clock.ts'
import {
  type Archive,
  ARCHIVE_LIMITS,
  type ArchiveDetails,
  archivePath,
  type ArchiveSettings,
  FEED_NAME,
  isSlug,
  slugOf,
} from '../mail/archive.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Broadcast, StorageSubset } from '../storage/storage.ts'
import type { DomainTrackingFields, Tracking } from '../tracking/tracking.ts'

/** The settings in a request. Undefined: unchanged. */
export type ArchiveInput = { [name in keyof ArchiveSettings]?: ArchiveSettings[name] | undefined }

export interface ArchiveOperations {
  /** Returns the settings; the defaults if they were never changed. */
  get(args: { teamId: string }): Promise<ArchiveDetails>
  /**
   * Changes the settings. Enabling it without a slug derives one from the team's name.
   * Refuses: `invalid_field`, `invalid_id`, `not_found` for the domain and the form, `slug_taken`.
   */
  update(args: { teamId: string; input: ArchiveInput }): Promise<ArchiveDetails>
  /** Returns the URL of a broadcast's page; null if the broadcast isn't published. */
  pageUrl(
    broadcast: Pick<Broadcast, 'teamId' | 'id' | 'archivedAt' | 'revisionId' | 'status'>,
  ): Promise<string | null>
}

export interface ArchiveOperationDeps {
  storage: StorageSubset<'archives' | 'domains' | 'forms' | 'teams'>
  clock: Clock
  tracking: Pick<Tracking, 'originFor'>
}

/** Maximum number of suffixes tried for a slug derived from the team's name. */
const ATTEMPTS = 20

/** Control characters, and lone surrogates; a description may have line feeds. */
const unprintable = /\p{Cc}|\p{Cs}|\p{Zl}|\p{Zp}/u
const unprintableLines = /[^\P{Cc}\n]|\p{Cs}|\p{Zl}|\p{Zp}/u

export function createArchiveOperations(deps: ArchiveOperationDeps): ArchiveOperations {
  const { storage, clock } = deps
  return {
    get: async ({ teamId }) => detailsOf(deps, await storage.getArchive({ teamId }, clock.now())),
    async update({ teamId, input }) {
      const change = await readChange(deps, teamId, input)
      const { slug } = await storage.getArchive({ teamId }, clock.now())
      if (change.status === 'enabled' && slug === null && change.slug === undefined)
        return enableFirst(deps, teamId, change)
      const archive = await storage.updateArchive({ teamId, change }, clock.now())
      if (archive === 'taken') throw refuse('slug_taken', { slug: change.slug ?? '' })
      return detailsOf(deps, archive)
    },
    async pageUrl({ teamId, id, archivedAt, revisionId, status }) {
      if (archivedAt === null || revisionId === null) return null
      if (status !== 'sent' && status !== 'queued') return null
      const archive = await storage.getArchive({ teamId }, clock.now())
      return urlOf(deps, archive, id)
    },
  }
}

/** Enables an archive with a slug derived from the team's name, with a suffix if the slug is taken. */
async function enableFirst(
  deps: ArchiveOperationDeps,
  teamId: string,
  change: Partial<ArchiveSettings>,
): Promise<ArchiveDetails> {
  const { storage, clock } = deps
  const team = await storage.getTeam({ id: teamId }, clock.now())
  const base = slugOf(team?.name ?? '')
  for (let n = 1; n <= ATTEMPTS; n++) {
    const slug = n === 1 ? base : `${base}-${n}`
    const archive = await storage.updateArchive({ teamId, change: { ...change, slug } }, clock.now())
    if (archive !== 'taken') return detailsOf(deps, archive)
  }
  throw refuse('slug_taken', { slug: base })
}

/** Returns the URL of an archive, or of a broadcast's page in it; null if it is disabled or can't be opened. */
export async function urlOf(
  { storage, clock, tracking }: ArchiveOperationDeps,
  { teamId, status, slug, domain: name }: Archive,
  broadcastId = '',
): Promise<string | null> {
  if (status !== 'enabled' || slug === null) return null
  const domains = name === null ? [] : await storage.listDomains({ teamId }, clock.now())
  // Without a domain, or if it was removed, this server's own host.
  const own: DomainTrackingFields = {
    name: '',
    openTracking: false,
    clickTracking: false,
    trackingSubdomain: null,
    checks: [],
  }
  const origin = tracking.originFor(domains.find((one) => one.name === name) ?? own)
  return origin === null ? null : `${origin}${archivePath(slug, broadcastId)}`
}

async function detailsOf(deps: ArchiveOperationDeps, archive: Archive): Promise<ArchiveDetails> {
  const url = await urlOf(deps, archive)
  return { ...archive, url, feedUrl: url === null ? null : `${url}/${FEED_NAME}` }
}

async function readChange(
  { storage, clock }: ArchiveOperationDeps,
  teamId: string,
  input: ArchiveInput,
): Promise<Partial<ArchiveSettings>> {
  const { status, slug, title, description, domain, formId, indexed } = input
  if (typeof formId === 'string') {
    if (!isId(formId)) throw refuse('invalid_id', { parameter: 'form_id' })
    if (!(await storage.getForm({ teamId, id: formId.toLowerCase() }, clock.now())))
      throw refuse('not_found', { resource: 'Form' })
  }
  if (typeof domain === 'string') {
    const domains = await storage.listDomains({ teamId }, clock.now())
    if (!domains.some(({ name }) => name === domain)) throw refuse('not_found', { resource: 'Domain' })
  }
  const change: ArchiveInput = {
    status,
    slug: slug === undefined ? undefined : readSlug(slug),
    title: title === undefined ? undefined : readText('title', title, ARCHIVE_LIMITS.title, unprintable),
    description:
      description === undefined
        ? undefined
        : readText('description', description, ARCHIVE_LIMITS.description, unprintableLines),
    domain,
    formId: formId?.toLowerCase() ?? formId,
    indexed,
  }
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

function readSlug(given: string | null): string {
  if (given !== null && isSlug(given)) return given
  const { shortestSlug, slug } = ARCHIVE_LIMITS
  throw refuse('invalid_field', {
    field: 'slug',
    expected: `${shortestSlug} to ${slug} lower-case letters (a-z), digits and single hyphens, such as \`acme-news\``,
  })
}

/** Reads a text; an empty one becomes null. */
function readText(field: string, given: string | null, most: number, unwanted: RegExp): string | null {
  const text = given?.replaceAll(/\r\n?/g, '\n').trim() ?? ''
  if (text === '') return null
  if (text.length > most || unwanted.test(text))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${most} characters, without control characters`,
    })
  return text
}
