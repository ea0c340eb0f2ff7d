/**
 * Receives messages for receiving domains: authenticates the sender, prepends the trace fields and stores one email per
 * team. All refusals happen while the client waits; a stored message is never returned.
 */
import type { Clock } from '../clock/clock.ts'
import type { Throttle } from '../clock/throttle.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import type { Authentication, SpamVerdict } from '../mail/inbound.ts'
import type { ReceivingRule } from '../mail/receiving-rules.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { ReceivedLimits, Receiver, Storage } from '../storage/storage.ts'
import { verifyMessage, addTraceFields } from '../verification/verification.ts'
import type { Logger } from '../watch/log.ts'
import { extractHeaderSummary, type HeaderSummary } from './outline.ts'
import type { Milters } from './milters.ts'
import type { SpamFilter } from './spam-filter.ts'

export interface ReceiveDeps {
  storage: Pick<Storage, 'keepReceivedEmails' | 'getEmail'>
  mime: Pick<MimeReader, 'read'>
  resolver: Pick<Resolver, 'resolve'>
  clock: Clock
  log: Logger
  hostname: string
  /** Default: none. */
  spamFilter?: SpamFilter | undefined
  /** Default: none. */
  milters?: Milters | undefined
  /** Limits events about email that is not stored, per team in 24 hours. */
  events: Throttle
}

/** A message and its recipients. */
export interface ReceiveArgs {
  bytes: Uint8Array
  mailFrom: string
  ip: string
  helo: string
  tls: string | null
  extended: boolean
  recipients: readonly { address: string; receiver: Receiver; rule?: ReceivingRule | undefined }[]
}

/** Limits per team in 24 hours. Above them, servers retry later (452). */
export const RECEIVED_LIMITS: ReceivedLimits = { messages: 20_000, bytes: 2 * 1024 ** 3 }

/** A stored message. */
export interface ReceiveResult {
  id: string
  /** Whether its sender is authenticated, so that its server counts as known. */
  wanted: boolean
}

/** Whether the message comes from its stated sender. SPF or DKIM suffices if the domain has no DMARC policy. */
const isAuthenticated = ({ spf, dkim, dmarc }: Authentication): boolean =>
  dmarc.result === 'pass' || (dmarc.result === 'none' && (spf.result === 'pass' || dkim.result === 'pass'))

/**
 * Stores a message and returns its id once it is durable. Refuses: `inbound_spam`, `inbound_later`, `received_full`,
 * `inbound_unknown`, `disk_full`, …
 */
export async function receiveMessage(args: ReceiveArgs, deps: ReceiveDeps): Promise<ReceiveResult> {
  const { storage, clock, hostname, log } = deps
  const now = clock.now()
  const { mailFrom, ip, helo, tls } = args
  const [authentication, judged, filtered] = await Promise.all([
    verifyMessage(args, deps),
    deps.spamFilter?.judge(args) ?? null,
    deps.milters?.filter(args) ?? { bytes: args.bytes, quarantined: null },
  ])
  const { bytes, quarantined } = filtered
  const spam = quarantined === null ? judged : inQuarantine(judged, quarantined)
  const attachments = await attachmentsOf(bytes, deps)
  const outline = extractHeaderSummary(bytes)
  const byTeam = Map.groupBy(args.recipients, ({ receiver }) => receiver.teamId)
  const emails = await Promise.all(
    [...byTeam].map(async ([teamId, recipients]) => {
      const id = newId(now)
      const receivedFor = recipients.map(({ address }) => address)
      const whole = addTraceFields(bytes, {
        ...args,
        hostname,
        id,
        recipients: receivedFor,
        authentication,
        spam,
        now,
      })
      return {
        id,
        teamId,
        domainId: recipients[0]!.receiver.domainId,
        receivedAt: now,
        mailFrom,
        ip,
        helo,
        tls,
        receivedFor,
        size: whole.length,
        authentication,
        spam,
        ...shown(outline, id, hostname),
        attachments: attachments.map((attachment) => ({ id: newId(now), ...attachment })),
        answers: await answered(teamId, outline, deps),
        bytes: whole,
        forwardTo: recipients.flatMap(({ rule }) => rule?.to ?? []),
        eventOnly: recipients.every(({ rule }) => rule?.action === 'webhook'),
      }
    }),
  )
  const eventsOf = emails.flatMap(({ teamId, eventOnly }) => (eventOnly ? [teamId] : []))
  if (eventsOf.length > 0 && deps.events.attempt(eventsOf) > 0) throw refuse('received_full')
  const kept = await storage.keepReceivedEmails({ emails, limits: RECEIVED_LIMITS }, now)
  if (kept === 'full') throw refuse('received_full')
  if (kept === 'unknown') throw refuse('received_unknown')
  for (const { id, teamId, size } of emails)
    log.info({ ...lineOf(id, teamId, size, authentication), spam: spam?.score }, 'received an email')
  return { id: emails[0]!.id, wanted: isAuthenticated(authentication) && !spam?.flagged }
}

/** Treats a message that a milter quarantined like one that the spam filter flags. */
const inQuarantine = (judged: SpamVerdict | null, reason: string): SpamVerdict => {
  const { score = 0, rejectScore = 0, symbols = [] } = judged ?? {}
  return { flagged: true, score, rejectScore, symbols: [`quarantine: ${reason}`, ...symbols] }
}

const lineOf = (id: string, teamId: string, size: number, { spf, dkim, dmarc }: Authentication) => ({
  received_id: id,
  team_id: teamId,
  size,
  spf: spf.result,
  dkim: dkim.result,
  dmarc: dmarc.result,
})

const shown = ({ candidates: _, messageId, ...outline }: HeaderSummary, id: string, hostname: string) => ({
  ...outline,
  messageId: messageId ?? `<${id}@${hostname}>`,
})

/** Lists the attachments. A message that can't be parsed is still stored, because it was accepted. */
async function attachmentsOf(bytes: Uint8Array, { mime }: ReceiveDeps) {
  try {
    const { attachments } = await mime.read(bytes, null)
    return attachments.map(({ digest: _, ...attachment }) => attachment)
  } catch (error) {
    if (error instanceof Refusal && error.key === 'overloaded') throw error
    if (error instanceof Refusal) return []
    throw error
  }
}

/**
 * Finds the team's email that a message replies to. The ID alone could be guessed, so the whole Message-ID must match.
 */
async function answered(
  teamId: string,
  { candidates }: HeaderSummary,
  { storage, clock }: ReceiveDeps,
): Promise<string | null> {
  for (const { id, messageId } of candidates) {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (email?.messageId === messageId) return id
  }
  return null
}
