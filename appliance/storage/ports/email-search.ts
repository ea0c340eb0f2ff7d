/** Finding emails by what is known of them. */
import type { Category } from '../../mail/bounce.ts'
import type { Counted } from '../../mail/counted.ts'
import type { LastEvent } from '../../mail/event.ts'
import type { RecipientCounts } from '../../mail/recipient-status.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { EmailSummary } from './emails.ts'
import type { WebhookDelivery } from './webhooks.ts'

/**
 * What an email has to meet, all of it; what is absent is not asked. Texts are compared without regard to the case of ASCII
 * letters, and found wherever they stand unless it says otherwise.
 */
export interface EmailFilter {
  id?: string | undefined
  /** One of these. */
  status?: readonly LastEvent[] | undefined
  /** The whole domain of the From address. */
  domain?: string | undefined
  from?: string | undefined
  /** A recipient, as To, Cc or Bcc name them: the whole address, or a part where there is no local part before an @. */
  to?: string | undefined
  /** The whole domain of a recipient. */
  toDomain?: string | undefined
  /** `value` null: whatever it is. */
  tag?: { name: string; value: string | null } | undefined
  /** Id or name of the API key. */
  apiKey?: string | undefined
  /** Each stands in the subject. */
  subject?: readonly string[] | undefined
  /** Whole, with its angle brackets. */
  messageId?: string | undefined
  /** Stands in what was last said about a recipient: the id in the queue of the remote server for one. */
  reply?: string | undefined
  /** Something happened to it, all of it in one event. */
  happened?: Happened | undefined
  /** Accepted at or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** What happened: the numbers of the metrics, asked the other way round. What is absent is not asked. */
export interface Happened {
  event?: Counted | undefined
  /** At or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
  /** Id of the recipient's mailbox provider. */
  provider?: string | undefined
  /** What a bounce was about; `undetermined`: that was not told. */
  bounce?: Category | 'undetermined' | undefined
}

export interface FoundEmail extends EmailSummary {
  apiKeyId: string | null
  /** Of the recipient who was tried most often. */
  attempts: number
  /** How its recipients stand. */
  recipients: RecipientCounts
  /** A person opened it, or followed a link, whatever happened since. */
  opened: boolean
  clicked: boolean
  /** The recipient of whom something was heard last; null before that. */
  last: { recipient: string; state: DeliveryState; cause: Cause } | null
}

/** One stretch of a search, newest first. */
export interface EmailsFound {
  items: FoundEmail[]
  /** Where to go on: older than this id. Null: everything was looked at. */
  next: string | null
}

export interface EmailSearchStorage {
  /**
   * Looks at some thousands of emails at most, so that other questions need not wait long: it may find fewer than `limit`, or
   * none, and have more to look at. Without reports, which nobody sent.
   */
  searchEmails(
    args: { teamId: string; filter: EmailFilter; limit: number; after?: string | undefined },
    now: number,
  ): Promise<EmailsFound>
  /** What webhooks were told of an email, oldest first; the first `limit`. */
  webhooksOfEmail(
    args: { teamId: string; emailId: string; limit: number },
    now: number,
  ): Promise<WebhookDelivery[]>
}
