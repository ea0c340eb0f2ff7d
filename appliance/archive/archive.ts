/**
 * The public module of teams' public archives: their settings, and what their pages show. Each request reads whether
 * the archive is enabled and the broadcast published, so that disabling either takes effect immediately.
 */
import { FORM_PATH } from '../forms/forms.ts'
import type { Archive } from '../mail/archive.ts'
import type { UnsubscribePage } from '../mail/unsubscribe-page.ts'
import { isId } from '../mail/ids.ts'
import type { ArchiveCursor, ArchivedBroadcast, StorageSubset } from '../storage/storage.ts'
import {
  type ArchiveOperations,
  type ArchiveOperationDeps,
  createArchiveOperations,
  urlOf,
} from './settings.ts'
import { type ArchivedContent, createArchiveContents } from './contents.ts'
import type { ArchivedItem, ArchiveView } from './page.ts'

export type { ArchiveInput } from './settings.ts'
export { renderFeed } from './feed.ts'
export { type ArchiveView, renderArchive, renderArchived, renderUnknown } from './page.ts'

/** An archive with the data that its pages show. */
export interface OpenedArchive {
  archive: Archive
  /** Without the language; `url` is null if this server has no public address. */
  view: Omit<ArchiveView, 'language' | 'url'> & { url: string | null }
}

/** A published broadcast, with the data that its page shows. */
export interface OpenedBroadcast {
  broadcast: ArchivedBroadcast
  item: ArchivedItem
  /** The current slug of its archive. */
  slug: string
}

/** A page of the list. */
export interface ArchivePage {
  items: ArchivedItem[]
  /** Where the next page begins; null on the last page. */
  older: string | null
}

export interface PublicArchives extends ArchiveOperations {
  /** Returns an enabled archive; undefined if there is none. */
  open(args: { slug: string }): Promise<OpenedArchive | undefined>
  /** Lists sent broadcasts, newest first. Undefined if the cursor isn't one of this archive. */
  page(args: { teamId: string; after?: string | undefined }): Promise<ArchivePage | undefined>
  /** Returns a published broadcast; undefined if there is none, or the archive of its team is disabled. */
  openBroadcast(args: { id: string }): Promise<OpenedBroadcast | undefined>
  /** Returns the content of a broadcast; undefined if it was deleted meanwhile. */
  contentOf(broadcast: ArchivedBroadcast): Promise<ArchivedContent | undefined>
}

export interface ArchiveDeps extends ArchiveOperationDeps {
  storage: ArchiveOperationDeps['storage'] &
    StorageSubset<'unsubscribePages' | 'broadcasts' | 'broadcastStates'>
}

/** Broadcasts per page, and in the feed. */
const PER_PAGE = 20

export function createArchives(deps: ArchiveDeps): PublicArchives {
  const { storage, clock } = deps
  const contents = createArchiveContents(deps)
  const itemOf = async (broadcast: ArchivedBroadcast): Promise<ArchivedItem | undefined> => {
    const summary = await contents.summaryOf(broadcast)
    return summary && { id: broadcast.id, sentAt: broadcast.startedAt, ...summary }
  }
  return {
    ...createArchiveOperations(deps),
    contentOf: (broadcast) => contents.contentOf(broadcast),
    async open({ slug }) {
      const archive = await storage.findArchive({ slug }, clock.now())
      if (archive?.status !== 'enabled') return undefined
      return { archive, view: await viewOf(deps, archive, slug) }
    },
    async page({ teamId, after: text }) {
      const after = text === undefined ? undefined : readCursor(text)
      if (after === null) return undefined
      const found = await storage.listArchived({ teamId, after, most: PER_PAGE + 1 }, clock.now())
      const shown = found.slice(0, PER_PAGE)
      const items: ArchivedItem[] = []
      // One after the other, because each may have to be rendered first.
      for (const one of shown) {
        const item = await itemOf(one)
        if (item) items.push(item)
      }
      return { items, older: found.length > PER_PAGE ? writeCursor(shown.at(-1)!) : null }
    },
    async openBroadcast({ id }) {
      const broadcast = isId(id)
        ? await storage.findArchived({ id: id.toLowerCase() }, clock.now())
        : undefined
      if (!broadcast) return undefined
      const { status, slug } = await storage.getArchive({ teamId: broadcast.teamId }, clock.now())
      const item = status === 'enabled' && slug !== null ? await itemOf(broadcast) : undefined
      return item && { broadcast, item, slug: slug! }
    },
  }
}

async function viewOf(deps: ArchiveDeps, archive: Archive, slug: string): Promise<OpenedArchive['view']> {
  const { storage, clock } = deps
  const { teamId, formId, title, description, indexed } = archive
  const now = clock.now()
  const team = (await storage.getTeam({ id: teamId }, now))?.name ?? ''
  const page: UnsubscribePage = await storage.getUnsubscribePage({ teamId }, now)
  const form = formId === null ? undefined : await storage.getForm({ teamId, id: formId }, now)
  const formPath = form?.status === 'enabled' ? `${FORM_PATH}${form.id}` : null
  const url = await urlOf(deps, archive)
  return { slug, title: title ?? team, description, team, page, formPath, url, indexed }
}

/** Encodes where the next page begins. */
const writeCursor = ({ startedAt, id }: ArchiveCursor): string => `${startedAt.toString(36)}.${id}`

/** Decodes a cursor; null if it isn't one. */
function readCursor(text: string): ArchiveCursor | null {
  const [, time = '', id = ''] = /^([0-9a-z]{1,10})\.([0-9a-f-]{36})$/.exec(text) ?? []
  return isId(id) ? { startedAt: Number.parseInt(time, 36), id } : null
}
