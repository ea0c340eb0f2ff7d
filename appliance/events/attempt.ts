/** One request to an endpoint. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import type { WebhookAttempt } from '../storage/storage.ts'
import { crashPoint } from '../watch/crash-points.ts'
import type { Poster } from '../wire/post.ts'
import { headersFor, type Signed } from './signature.ts'

/** What is sent where. */
export type Sendable = Signed & { webhookId: string; teamId: string; endpoint: string }

export interface AttemptDeps {
  poster: Pick<Poster, 'post'>
  clock: Clock
  /** `User-Agent`. */
  agent: string
}

/** Signs and sends; what came of it is written down by the caller. `error` null is a success: the endpoint answered with a 2xx. */
export async function attemptWebhook(
  sendable: Sendable,
  { poster, clock, agent }: AttemptDeps,
): Promise<WebhookAttempt> {
  const { id: deliveryId, webhookId, teamId, endpoint: url, payload: body } = sendable
  const sentAt = clock.now()
  const requestHeaders = headersFor(sendable, agent, sentAt)
  const posted = await poster.post({ url, owner: webhookId, headers: requestHeaders, body })
  crashPoint('webhook')
  const durationMs = clock.now() - sentAt
  return { id: newId(sentAt), deliveryId, webhookId, teamId, sentAt, durationMs, requestHeaders, ...posted }
}
