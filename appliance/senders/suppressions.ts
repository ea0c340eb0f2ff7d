/** The addresses that a team doesn't send to, across all its domains. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import { isId, newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  NewSuppression,
  Page,
  PageArgs,
  Storage,
  Suppression,
  SuppressionRef,
} from '../storage/storage.ts'
import { importSuppressionList, type ImportArgs, type SuppressionImport } from './suppression-import.ts'

export interface SuppressionMethods {
  /**
   * Adds addresses manually, all or none. Leaves existing entries unchanged.
   * Refuses: `invalid_address`, naming `field` (of a list, with its index).
   */
  suppress(args: { teamId: string; emails: string[]; field: string }): Promise<Suppression[]>
  listSuppressions(args: PageArgs & Which): Promise<Page<Suppression>>
  /** Returns the whole list or the part selected by `which`, newest first; reads page by page. */
  allSuppressions(args: { teamId: string } & Which): AsyncGenerator<Suppression[]>
  /**
   * Adds the addresses of a CSV list. Reports and skips invalid lines; leaves existing entries unchanged. Runs in
   * batches of 500: after a failure, added entries are kept, and the same list can be imported again.
   * Refuses: `invalid_field` for a list that is too long.
   */
  importSuppressions(args: ImportArgs): Promise<SuppressionImport>
  /**
   * Returns an entry by id or address.
   * Refuses: `not_found`.
   */
  getSuppression(args: { teamId: string; idOrEmail: string }): Promise<Suppression>
  /**
   * Removes an entry by id or address, and returns it.
   * Refuses: `not_found`.
   */
  unsuppress(args: { teamId: string; idOrEmail: string }): Promise<Suppression>
  /** Removes several entries by id or address, and returns them; skips those that aren't on the list. */
  unsuppressAll(args: { teamId: string; idsOrEmails: string[] }): Promise<Suppression[]>
}

/** Selects a part of the list. */
interface Which {
  origin?: Suppression['origin'] | undefined
  /** Only addresses that contain this text, ignoring case. */
  search?: string | undefined
}

/** Number of entries per page. */
const PAGE = 200

export function createSuppressionMethods({
  storage,
  clock,
}: {
  storage: Storage
  clock: Clock
}): SuppressionMethods {
  const notFound = () => refuse('not_found', { resource: 'Suppression' })
  return {
    suppress({ teamId, emails, field }) {
      const now = clock.now()
      const suppressions = emails.map((text, index): NewSuppression => {
        const email = parseMailbox(text)?.address
        if (email === undefined)
          throw refuse('invalid_address', { field: emails.length > 1 ? `${field}[${index}]` : field })
        return { id: newId(now), teamId, email, origin: 'manual', sourceId: null, createdAt: now }
      })
      return storage.addSuppressions({ teamId, suppressions }, now)
    },
    listSuppressions: (args) => storage.listSuppressions(args, clock.now()),
    async *allSuppressions(which) {
      for (let after: string | undefined; ;) {
        const { items, hasMore } = await storage.listSuppressions(
          { ...which, limit: PAGE, after },
          clock.now(),
        )
        yield items
        if (!hasMore) return
        after = items.at(-1)!.id
      }
    },
    importSuppressions: (args) => importSuppressionList(args, storage, clock),
    async getSuppression({ teamId, idOrEmail }) {
      const ref = refOf(idOrEmail)
      const found = ref && (await storage.getSuppression({ teamId, ref }, clock.now()))
      if (!found) throw notFound()
      return found
    },
    async unsuppress({ teamId, idOrEmail }) {
      const ref = refOf(idOrEmail)
      const [removed] = ref ? await storage.removeSuppressions({ teamId, refs: [ref] }, clock.now()) : []
      if (!removed) throw notFound()
      return removed
    },
    unsuppressAll({ teamId, idsOrEmails }) {
      const refs = idsOrEmails.flatMap((text) => refOf(text) ?? [])
      return storage.removeSuppressions({ teamId, refs }, clock.now())
    },
  }
}

/** Parses an id or address; undefined if it is neither. */
function refOf(text: string): SuppressionRef | undefined {
  if (isId(text)) return { id: text.toLowerCase() }
  const email = parseMailbox(text)?.address
  return email === undefined ? undefined : { email }
}
