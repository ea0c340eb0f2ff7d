/**
 * Forwards received email by rule, as a new message from the domain with the original attached. The new message passes
 * SPF and DMARC; an unchanged one would fail. Nothing is ever returned to the sender of the original.
 */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
import type { Intake, Submission } from '../intake/intake.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'
import { Refusal } from '../mail/refusals.ts'
import { getAllValues, splitHeader } from '../mime/entity.ts'
import type { MimeReader } from '../mime/mime.ts'
import { type ForwardResult, readOrMissing, type ReceivedEmail, type Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

export interface ReceivedForwarderDeps {
  storage: Pick<Storage, 'nextForward' | 'settleForward' | 'getReceivedEmail' | 'getReceivedSource'>
  intake: Pick<Intake, 'accept'>
  mime: Pick<MimeReader, 'read'>
  clock: Clock
  log: Logger
  pollMs?: number
  /** Default: this is the only process. */
  duties?: Duties | undefined
}

/** Maximum number of forwarded messages per team and hour. Strangers trigger this mail, so it needs a limit. */
const MOST = 500
const WINDOW_MS = 60 * 60_000
/** Header field of every forwarded message; names the domain that forwarded it. */
const MARK = 'X-Posthaste-Forwarded'
/** Characters of the original's text that are shown above the attachment. */
const MOST_TEXT = 100_000
/** Temporary refusals, after which forwarding is retried. */
const PASSING = new Set(['overloaded', 'unavailable', 'disk_full', 'concurrent_idempotent_requests'])

export function createReceivedForwarder(deps: ReceivedForwarderDeps): Worker {
  const { storage, clock, log, pollMs = 60_000 } = deps
  const throttle = createThrottle(clock, MOST, WINDOW_MS)
  const onDuty = createDutyCheck(deps.duties, 'forwarded mail')
  const step = async (): Promise<boolean> => {
    const next = await storage.nextForward({}, clock.now())
    if (!next || !(await onDuty())) return false
    const { teamId, receivedId, to } = next
    const result = await forward(next, deps, () => throttle.attempt([teamId]) === 0)
    await storage.settleForward({ receivedId, to, result }, clock.now())
    log.info({ received_id: receivedId, team_id: teamId, ...result }, 'forwarded a received email')
    return true
  }
  const trouble = 'could not forward a received email; will retry'
  return createWorker({ step, clock, log, pollMs, trouble })
}

const skipped = (reason: string): ForwardResult => ({ state: 'skipped', reason })

async function forward(
  { teamId, receivedId: id, to }: { teamId: string; receivedId: string; to: string },
  { storage, intake, mime, clock, log }: ReceivedForwarderDeps,
  permit: () => boolean,
): Promise<ForwardResult> {
  const email = await storage.getReceivedEmail({ teamId, id }, clock.now())
  const source = storage.getReceivedSource({ teamId, id }, clock.now())
  const bytes = await readOrMissing(source, log, { received_id: id })
  if (bytes === 'missing') return skipped('The content of the email is missing on this server.')
  const mailbox = parseMailbox(to)
  if (!email || !bytes || !mailbox)
    return skipped('The domain keeps no content, so there is nothing to forward.')
  const reason = reasonAgainst(email, bytes)
  if (reason !== null) return skipped(reason)
  if (!permit()) return skipped(`The team forwarded ${MOST} messages within an hour, which is the limit.`)
  const submission = submissionOf(email, mailbox, bytes, await textOf(bytes, mime))
  // The idempotency key prevents a second forward if a crash comes before the result is stored.
  const name = { idempotencyKey: id, scope: `forward to ${to}`, fingerprint: '' }
  try {
    const { ids } = await intake.accept({ submissions: [submission], ...name }, { teamId, apiKey: null })
    return { state: 'sent', emailId: ids[0]! }
  } catch (error) {
    if (error instanceof Refusal && !PASSING.has(error.key)) return skipped(error.message)
    throw error
  }
}

/**
 * Returns why a message must not be forwarded: because it is spam, a report, automatic (RFC 3834 §5), or was forwarded
 * before. Null if it may be forwarded.
 */
function reasonAgainst({ mailFrom, spam }: ReceivedEmail, bytes: Uint8Array): string | null {
  const header = splitHeader(bytes)
  const first = (name: string) => (getAllValues(header, name)[0] ?? '').trim().toLowerCase()
  if (getAllValues(header, MARK.toLowerCase()).length > 0)
    return 'It was forwarded before, so this is a mail loop.'
  if (spam?.flagged) return 'The spam filter marked it as spam.'
  if (mailFrom === '') return 'It has the null sender, like a bounce.'
  if (first('content-type').startsWith('multipart/report')) return 'It is a report about another message.'
  const automatic = first('auto-submitted').split(/[\s;(]/)[0]!
  return ['', 'no'].includes(automatic)
    ? null
    : `It is automatic mail (Auto-Submitted: ${automatic.slice(0, 40)}).`
}

/** Returns the text of a message; empty if it has none or can't be read. */
async function textOf(bytes: Uint8Array, mime: Pick<MimeReader, 'read'>): Promise<string> {
  try {
    return ((await mime.read(bytes, null)).text ?? '').slice(0, MOST_TEXT).toWellFormed()
  } catch (error) {
    if (error instanceof Refusal && error.key !== 'overloaded') return ''
    throw error
  }
}

function submissionOf(email: ReceivedEmail, to: Mailbox, bytes: Uint8Array, text: string): Submission {
  const { id, mailFrom, receivedFor, from, subject, authentication } = email
  const own = receivedFor[0]!
  const domain = own.slice(own.lastIndexOf('@') + 1)
  const writer = parseMailbox(from)
  const names = [writer?.name, writer?.address, mailFrom].filter((name) => name !== undefined && name !== '')
  const shown = names[0]!.replaceAll('@', ' at ').slice(0, 200)
  const local = `forward@${domain}`
  const answer = parseMailbox(email.replyTo[0] ?? '') ?? writer
  const intro = [
    `${own} received this message from ${from === '' ? mailFrom : from}. The original is attached.`,
    `DMARC result of the original: ${authentication.dmarc.result}. Be careful with links and attachments unless it is "pass".`,
  ]
  return {
    from: { ...parseMailbox(local)!, name: `${shown} via ${domain}` },
    to: [to],
    cc: [],
    bcc: [],
    replyTo: answer ? [answer] : [],
    subject: subject === '' ? '(no subject)' : subject,
    html: null,
    text: `${intro.join('\n')}\n\n${text}`,
    headers: [
      { name: 'Auto-Submitted', value: 'auto-generated' },
      { name: MARK, value: domain },
    ],
    messageId: null,
    attachments: [
      { filename: 'original.eml', contentType: 'message/rfc822', contentId: null, content: bytes },
    ],
    links: [],
    tags: [{ name: 'forwarded', value: id }],
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
  }
}
