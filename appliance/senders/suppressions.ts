/** The addresses that a team does not send to. The list is the team's, across all its domains. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import { isId, newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Page, PageArgs, Storage, Suppression, SuppressionRef } from '../storage/storage.ts'

export interface SuppressionMethods {
  /**
   * Puts addresses on the list by hand; an address that is there already keeps its entry. All or none.
   * Refuses: `invalid_address`, naming `field` (of a list, with its index).
   */
  suppress(args: { teamId: string; emails: string[]; field: string }): Promise<Suppression[]>
  /** Refuses: `invalid_field` for an origin that is none. */
  listSuppressions(
    args: PageArgs & { origin?: Suppression['origin'] | undefined },
  ): Promise<Page<Suppression>>
  /** By id or address. Refuses: `not_found`. */
  getSuppression(args: { teamId: string; idOrEmail: string }): Promise<Suppression>
  /** By id or address. Refuses: `not_found`. */
  unsuppress(args: { teamId: string; idOrEmail: string }): Promise<Suppression>
  /** Many at once, by id or address; those that are not on the list are passed over. Returns the removed ones. */
  unsuppressAll(args: { teamId: string; idsOrEmails: string[] }): Promise<Suppression[]>
}

export function suppressionMethods({
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
      const suppressions = emails.map((text, index): Suppression => {
        const email = parseMailbox(text)?.address
        if (email === undefined)
          throw refuse('invalid_address', { field: emails.length > 1 ? `${field}[${index}]` : field })
        return { id: newId(now), teamId, email, origin: 'manual', sourceId: null, createdAt: now }
      })
      return storage.addSuppressions({ teamId, suppressions }, now)
    },
    listSuppressions: (args) => storage.listSuppressions(args, clock.now()),
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

/** Undefined for what can be neither. */
function refOf(text: string): SuppressionRef | undefined {
  if (isId(text)) return { id: text.toLowerCase() }
  const email = parseMailbox(text)?.address
  return email === undefined ? undefined : { email }
}
