/** What the daemon's log says of attempts: one line for each delivery that was settled. */
import type { LeasedDelivery, SettleArgs } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

/**
 * Tells the log what became of deliveries; those of `lost` were not written down, so nothing became of them here.
 * The recipient's domain and not the address, the reply's codes and not its words: logs go to places where people's addresses do not belong.
 */
export function logOutcomes(
  log: Pick<Logger, 'info' | 'isLevelEnabled'>,
  batch: readonly LeasedDelivery[],
  { attempt, changes }: SettleArgs,
  lost: readonly string[],
): void {
  if (!log.isLevelEnabled('info')) return
  const byId = new Map(batch.map((delivery) => [delivery.id, delivery]))
  const ms = attempt === null ? null : attempt.endedAt - attempt.startedAt
  for (const { deliveryId, state, dueAt, cause } of changes) {
    const delivery = byId.get(deliveryId)
    if (!delivery || lost.includes(deliveryId)) continue
    const { emailId, teamId, domain, attempts } = delivery
    const { phase, host, reply, status } = cause
    log.info(
      {
        ...{ email_id: emailId, team_id: teamId, delivery: deliveryId, domain, attempt: attempts, state },
        ...{ phase, host, code: reply?.code ?? null, status: reply?.enhanced ?? status ?? null, ms },
        ...(state === 'waiting' && dueAt !== null ? { next: new Date(dueAt).toISOString() } : {}),
      },
      'delivery',
    )
  }
}
