/** Collects all stored data about one email. */
import type {
  Email,
  EmailHistory,
  ListedRequest,
  ReturnedMessage,
  Storage,
  WebhookDelivery,
} from '../storage/storage.ts'

/** Maximum number of webhook events in a record. */
const MOST_TOLD = 101
/** Maximum number of requests in a record; one request creates an email. */
const MOST_REQUESTS = 10

/** Reads the parts of an email's record; undefined if the team has no such email. */
export async function readEmailRecord(
  storage: Pick<Storage, 'getEmail' | 'getHistory' | 'listReturned' | 'webhooksOfEmail' | 'listLogs'>,
  { teamId, id }: { teamId: string; id: string },
  now: number,
): Promise<
  | {
      email: Email
      requests: ListedRequest[]
      history: EmailHistory
      returned: ReturnedMessage[]
      told: WebhookDelivery[]
    }
  | undefined
> {
  const email = await storage.getEmail({ teamId, id }, now)
  if (!email) return undefined
  const [requests, history, returned, told] = await Promise.all([
    storage.listLogs({ teamId, emailId: id, limit: MOST_REQUESTS }, now),
    storage.getHistory({ teamId, id }, now),
    storage.listReturned({ teamId, emailId: id }, now),
    storage.webhooksOfEmail({ teamId, emailId: id, limit: MOST_TOLD }, now),
  ])
  return { email, requests: requests.items, history, returned, told }
}
