/** Recovers deliveries that an earlier run of this node left in progress. */
import { INTERRUPTED } from '../mail/verdict.ts'
import { INTERRUPTED_DELAY } from '../queue/schedule.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { isEarlierRun } from '../mail/ids.ts'

/** Voids the leases of earlier runs of the owner's node only, because other nodes may be running. */
export async function recoverLeases(
  {
    storage,
    owner,
    log,
  }: { storage: Pick<Storage, 'leaseOwners' | 'voidLeases'>; owner: string; log: Logger },
  now: number,
): Promise<void> {
  const owners = (await storage.leaseOwners({}, now)).filter((one) => isEarlierRun(one, owner))
  if (owners.length === 0) return
  const firstDueAt = now + INTERRUPTED_DELAY
  const voided = await storage.voidLeases({ owners, cause: INTERRUPTED, firstDueAt }, now)
  log.info({ deliveries: voided }, 'recovered deliveries that an earlier run left in progress')
}
