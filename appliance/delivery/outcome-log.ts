/** Logs attempts: one line for each settled delivery. */
import type { LeasedDelivery, SettleArgs } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

/**
 * Logs the results of deliveries, except those in `lost`, which weren't stored. Logs the recipient's domain instead of
 * the address, and the reply's codes instead of its text, because logs go to places where people's addresses don't
 * belong.
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
        email_id: emailId,
        team_id: teamId,
        delivery: deliveryId,
        domain,
        attempt: attempts,
        state,
        phase,
        host,
        code: reply?.code ?? null,
        status: reply?.enhanced ?? status ?? null,
        ms,
        ...(state === 'waiting' && dueAt !== null ? { next: new Date(dueAt).toISOString() } : {}),
      },
      'delivery',
    )
  }
}
