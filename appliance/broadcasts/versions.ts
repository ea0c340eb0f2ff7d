/** Stores versions of drafts, so that an earlier text can be restored. */
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  BroadcastRef,
  BroadcastVersion,
  BroadcastVersionSummary,
  Page,
  PageArgs,
} from '../storage/storage.ts'
import {
  type BroadcastDeps,
  htmlOf,
  markImagesUsed,
  broadcastNotFound,
  refuseFailedChange,
  createVersionRecord,
} from './drafts.ts'

export interface VersionMethods {
  /** Lists versions, newest first. Refuses: `not_found`. */
  listBroadcastVersions(args: BroadcastRef & Omit<PageArgs, 'teamId'>): Promise<Page<BroadcastVersionSummary>>
  /** Returns a version. Refuses: `not_found`. */
  getBroadcastVersion(args: BroadcastRef & { version: string }): Promise<BroadcastVersion>
  /**
   * Restores the content of a version to the draft, as a new version.
   *
   * @param args edits: the version of the draft that the caller read; undefined for any
   *
   * Refuses: `not_found`, `broadcast_started`, `broadcast_changed`.
   */
  restoreBroadcastVersion(
    args: BroadcastRef & { version: string; author: string; edits?: number | undefined },
  ): Promise<void>
}

export function createVersionMethods({ storage, clock }: BroadcastDeps): VersionMethods {
  const ensure = async (ref: BroadcastRef): Promise<void> => {
    if (!isId(ref.id) || !(await storage.getBroadcast(ref, clock.now()))) throw broadcastNotFound()
  }
  const getBroadcastVersion: VersionMethods['getBroadcastVersion'] = async ({ version, ...ref }) => {
    await ensure(ref)
    const asked = { teamId: ref.teamId, broadcastId: ref.id, id: version }
    const found = await storage.getBroadcastVersion(asked, clock.now())
    if (!found) throw refuse('not_found', { resource: 'Broadcast version' })
    return found
  }
  return {
    getBroadcastVersion,
    async listBroadcastVersions({ id, ...page }) {
      await ensure({ teamId: page.teamId, id })
      return storage.listBroadcastVersions({ ...page, broadcastId: id }, clock.now())
    },
    async restoreBroadcastVersion({ version, author, edits, ...ref }) {
      const { content, document } = await getBroadcastVersion({ ...ref, version })
      await markImagesUsed({ storage, clock }, ref.teamId, htmlOf(content))
      const now = clock.now()
      const made = { ...createVersionRecord(author, now), together: 0 }
      // A version without an A/B test ends that of the draft.
      const change = { content: { abTest: null, ...content }, document }
      const answer = await storage.updateBroadcast({ ...ref, change, edits, version: made }, now)
      refuseFailedChange(answer, 'broadcast_started')
    },
  }
}
