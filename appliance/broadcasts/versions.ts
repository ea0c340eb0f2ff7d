/** Versions of drafts, so that an earlier text can be brought back. */
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  BroadcastRef,
  BroadcastVersion,
  BroadcastVersionSummary,
  Page,
  PageArgs,
} from '../storage/storage.ts'
import { type BroadcastDeps, htmlOf, keepImages, noBroadcast, refuseUnless, versionBy } from './drafts.ts'

export interface VersionMethods {
  /** Lists versions, newest first. Refuses: `not_found`. */
  listBroadcastVersions(args: BroadcastRef & Omit<PageArgs, 'teamId'>): Promise<Page<BroadcastVersionSummary>>
  /** Refuses: `not_found`. */
  getBroadcastVersion(args: BroadcastRef & { version: string }): Promise<BroadcastVersion>
  /**
   * Makes the draft say what a version said. This is a new version.
   *
   * @param args edits: the version of the draft that the caller read; undefined: any
   *
   * Refuses: `not_found`, `broadcast_started`, `broadcast_changed`.
   */
  restoreBroadcastVersion(
    args: BroadcastRef & { version: string; author: string; edits?: number | undefined },
  ): Promise<void>
}

export function versionMethods({ storage, clock }: BroadcastDeps): VersionMethods {
  const ensure = async (ref: BroadcastRef): Promise<void> => {
    if (!isId(ref.id) || !(await storage.getBroadcast(ref, clock.now()))) throw noBroadcast()
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
      await keepImages({ storage, clock }, ref.teamId, htmlOf(content))
      const now = clock.now()
      const made = { ...versionBy(author, now), together: 0 }
      // A version without an A/B test ends that of the draft.
      const change = { content: { abTest: null, ...content }, document }
      const answer = await storage.updateBroadcast({ ...ref, change, edits, version: made }, now)
      refuseUnless(answer, 'broadcast_started')
    },
  }
}
