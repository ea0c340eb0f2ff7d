/** Makes one request to a webhook endpoint. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import type { WebhookAttempt } from '../storage/storage.ts'
import { crashPoint } from '../watch/crash-points.ts'
import type { PostClient } from '../wire/post.ts'
import { buildHeaders, type SignableContent } from './signature.ts'

/** The content and target of a request. */
export type OutgoingWebhook = SignableContent & { webhookId: string; teamId: string; endpoint: string }

export interface AttemptDeps {
  poster: Pick<PostClient, 'post'>
  clock: Clock
  /** The User-Agent header. */
  agent: string
}

/** Signs and sends; the caller stores the result. `error` is null on success: the endpoint returned a 2xx status. */
export async function attemptWebhook(
  sendable: OutgoingWebhook,
  { poster, clock, agent }: AttemptDeps,
): Promise<WebhookAttempt> {
  const { id: deliveryId, webhookId, teamId, endpoint: url, payload: body } = sendable
  const sentAt = clock.now()
  const requestHeaders = buildHeaders(sendable, agent, sentAt)
  const posted = await poster.post({ url, owner: webhookId, headers: requestHeaders, body })
  crashPoint('webhook')
  const durationMs = clock.now() - sentAt
  return { id: newId(sentAt), deliveryId, webhookId, teamId, sentAt, durationMs, requestHeaders, ...posted }
}
