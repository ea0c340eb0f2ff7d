import { newId } from '../../appliance/mail/ids.ts'
import type { EmailEventType } from '../../appliance/mail/event.ts'
import type { Cause, DeliveryState } from '../../appliance/mail/verdict.ts'
import type {
  ApiKey,
  Attempt,
  DeliveryChange,
  DkimKey,
  Domain,
  LeaseArgs,
  NewEmail,
  PutArgs,
  QueueFilter,
  Storage,
  DeliveryGroup,
  Team,
  User,
} from '../../appliance/storage/storage.ts'

/** The time at which every contract test starts. */
export const T0 = Date.UTC(2026, 0, 1)
export const MINUTE = 60_000
export const DAY = 24 * 60 * MINUTE

/** Opens an empty storage. */
export type OpenStorage = () => Promise<Storage>

let serial = 0

/** Returns a word that no other test uses, because the tests of a part share a storage. */
export function unique(word: string): string {
  serial += 1
  return `${word}-${serial}`
}

/** Stores a team with its owner. */
export async function makeTeam(storage: Storage, now = T0): Promise<{ team: Team; user: User }> {
  const team: Team = { id: newId(now), name: unique('Team'), createdAt: now }
  const user: User = {
    id: newId(now),
    email: `${unique('owner')}@example.com`,
    passwordHash: '$argon2id$…',
    provenAt: null,
    createdAt: now,
  }
  await storage.createOwner({ team, user }, now)
  return { team, user }
}

/** Returns an API key as it is stored, without the token's hash. */
export const newApiKey = (teamId: string, name: string, domainId: string | null = null): ApiKey => ({
  id: newId(T0),
  teamId,
  name,
  permission: domainId === null ? 'full_access' : 'sending_access',
  domainId,
  prefix: null,
  createdAt: T0,
  lastUsedAt: null,
})

/** Returns a domain with its only DKIM key. Not stored. */
export function newDomain(teamId: string, name: string): { domain: Domain; keys: [DkimKey] } {
  const domain: Domain = {
    id: newId(T0),
    teamId,
    name,
    status: 'not_started',
    region: 'local',
    returnPath: 'send',
    checks: [
      { key: 'SPF', status: 'failed', found: ['v=spf1 -all'], note: 'Publish it.', checkedAt: T0, since: T0 },
    ],
    createdAt: T0,
    checkedAt: null,
    statusSince: T0,
    tls: 'opportunistic',
    sending: true,
    receiving: false,
    openTracking: false,
    clickTracking: false,
    trackingSubdomain: null,
    delegation: 'none',
    verifyUntil: null,
    suspect: null,
    nextCheckAt: null,
  }
  const key: DkimKey = {
    id: newId(T0),
    teamId,
    domainId: domain.id,
    selector: 'posthaste',
    algorithm: 'rsa-sha256',
    privateKey: Uint8Array.from([0, 1, 254, 255]),
    publicKey: 'MIIB',
    createdAt: T0,
    state: 'active',
    stateSince: T0,
    retireAt: null,
  }
  return { domain, keys: [key] }
}

/** Returns an email to these recipients, due at `now`. Not stored. */
export function newEmail(
  teamId: string,
  recipients: string[],
  now = T0,
  more: Partial<NewEmail> = {},
): NewEmail {
  const id = newId(now)
  return {
    id,
    teamId,
    domainId: newId(now),
    apiKeyId: null,
    via: 'rest',
    from: 'Shop <shop@example.com>',
    to: recipients,
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Grüße ✓',
    content: { place: 'row', html: '<p>hello</p>', text: null },
    headers: [{ name: 'X-Order', value: '7' }],
    tags: [{ name: 'kind', value: 'receipt' }],
    attachments: [],
    messageId: `<${id}@example.com>`,
    returnPath: `b-${id}@send.example.com`,
    reportTo: null,
    dsn: null,
    requireTls: null,
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    template: null,
    pool: 'default',
    message: Buffer.from(`Subject: hello\r\n\r\n${id}\r\n`),
    deliveries: recipients.map((recipient) => ({
      id: newId(now),
      recipient,
      field: 'to',
      dueAt: now,
      expiresAt: now + 4 * DAY,
      suppressed: null,
      dsn: null,
    })),
    ...more,
  }
}

/** Returns arguments that store one email, without a receipt or counters. */
export function putArgs(email: NewEmail, more: Partial<PutArgs> = {}): PutArgs {
  return { emails: [email], receipt: null, quota: null, ...more }
}

/** Stores an email and returns it. */
export async function putEmail(
  storage: Storage,
  teamId: string,
  recipients: string[],
  now = T0,
  more: Partial<NewEmail> = {},
): Promise<NewEmail> {
  const email = newEmail(teamId, recipients, now, more)
  await storage.put(putArgs(email), now)
  return email
}

/** Returns arguments of a lease for everything that is due, by owner `one`, until half an hour after T0. */
export function leaseArgs(more: Partial<LeaseArgs> = {}): LeaseArgs {
  return {
    owner: 'one',
    limit: 100,
    room: {},
    roomElse: 100,
    leaseUntil: T0 + 30 * MINUTE,
    retryDelays: [MINUTE, 5 * MINUTE, 10 * MINUTE],
    ...more,
  }
}

/** Returns a cause as a remote server would give it. */
export const cause = (note: string): Cause => ({
  phase: 'rcpt',
  host: 'mx.example.net',
  ip: '192.0.2.1',
  reply: { code: 451, enhanced: '4.7.1', text: 'later' },
  note,
})

/** Returns a change of a delivery, with an event of this type if given. */
export function change(
  deliveryId: string,
  state: DeliveryState,
  event: EmailEventType | null = null,
  dueAt: number | null = null,
): DeliveryChange {
  return {
    deliveryId,
    state,
    dueAt,
    cause: cause(state),
    event: event && { id: newId(T0), type: event, data: { recipient: 'someone' } },
    report: null,
  }
}

/** Returns an attempt for these deliveries of an email. */
export function newAttempt(email: Pick<NewEmail, 'id' | 'teamId'>, deliveryIds: string[]): Attempt {
  return {
    id: newId(T0),
    teamId: email.teamId,
    emailId: email.id,
    deliveryIds,
    startedAt: T0,
    endedAt: T0 + 1500,
    transcript: {
      steps: [
        {
          name: 'rcpt',
          host: 'mx.example.net',
          ip: '192.0.2.1',
          sent: 'RCPT TO:<a@example.net>',
          reply: { code: 250, enhanced: null, text: 'ok' },
          note: null,
          at: 20,
          ms: 3,
        },
      ],
      host: 'mx.example.net',
      ip: '192.0.2.1',
      tls: null,
    },
  }
}

/** Returns the summary of a team's queue, or of the whole queue. */
export async function summaryOf(
  storage: Storage,
  filter: QueueFilter,
  now: number,
): Promise<{ waiting: number; held: number; inFlight: number; oldestAt: number | null }> {
  const groups: DeliveryGroup[] = []
  for (
    let after: string | undefined, next: string | null | undefined;
    next !== null;
    after = next ?? undefined
  ) {
    const part = await storage.surveyQueue({ ...filter, after }, now)
    groups.push(...part.groups)
    next = part.next
  }
  const count = (state: DeliveryGroup['state']): number =>
    groups.reduce((sum, group) => sum + (group.state === state ? group.count : 0), 0)
  const oldest = groups.map(({ oldestAt }) => oldestAt).sort((a, b) => a - b)[0] ?? null
  return { waiting: count('waiting'), held: count('held'), inFlight: count('in_flight'), oldestAt: oldest }
}
