/**
 * Forwards mail to postmaster as a new message from this server with the original attached, so that it passes SPF and
 * DMARC. Each message is also stored, so messages that are not forwarded can be read in the dashboard.
 */
import type { Clock } from '../clock/clock.ts'
import type { Notice } from '../intake/intake.ts'
import type { Forwarding, PostmasterMessage, Storage, MessageBytes } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { createNetworkRateLimiter } from './rates.ts'
import type { SendNotice } from '../intake/notice.ts'

export interface ForwarderDeps {
  storage: Pick<Storage, 'duePostmaster' | 'settlePostmaster'>
  sendNotice: SendNotice
  clock: Clock
  log: Logger
  hostname: string
  /** The address to forward to; undefined to forward nothing. */
  postmaster: string | undefined
  pollMs?: number
  /** Default: this is the only process. */
  duties?: Duties | undefined
}

/**
 * Maximum number of forwarded messages per hour. Strangers trigger this mail, and the low limit makes it useless for
 * attacks.
 */
const MOST = 20
const WINDOW_MS = 60 * 60_000
/**
 * Header field of every forwarded message, with our name. It detects forwards that come back, also inside a message
 * that encloses them.
 */
const MARK = 'X-Posthaste-Postmaster'

export function createForwarder(deps: ForwarderDeps): Worker {
  const { storage, clock, log, pollMs = 60_000 } = deps
  const rate = createNetworkRateLimiter(clock, { windowMs: WINDOW_MS, perNetwork: MOST, inAll: MOST })
  const onDuty = createDutyCheck(deps.duties, 'postmaster mail')
  const step = async (): Promise<boolean> => {
    const message = await storage.duePostmaster({}, clock.now())
    if (!message || !(await onDuty())) return false
    const forwarding = await forward(message, deps, () => rate.take(message.ip) === 0)
    await storage.settlePostmaster({ id: message.id, forwarding }, clock.now())
    if (forwarding.state === 'skipped')
      log.warn({ message_id: message.id, reason: forwarding.reason }, 'skipped forwarding mail to postmaster')
    return true
  }
  const trouble = 'could not forward mail to postmaster; will retry'
  return createWorker({ step, clock, log, pollMs, trouble })
}

type Settled = Exclude<Forwarding, { state: 'off' | 'due' }>

async function forward(
  message: PostmasterMessage & MessageBytes,
  { sendNotice, hostname, postmaster }: ForwarderDeps,
  permit: () => boolean,
): Promise<Settled> {
  const skipped = (reason: string): Settled => ({ state: 'skipped', reason })
  if (postmaster === undefined) return skipped('smtp.postmaster is no longer set')
  if (isMarked(message.bytes, hostname))
    return skipped('this server already forwarded it, so this is a mail loop')
  if (!permit()) return skipped(`more than ${MOST} messages within an hour`)
  const result = await sendNotice(noticeOf(message, postmaster, hostname))
  return result.sent ? { state: 'done', emailId: result.emailId } : skipped(result.reason)
}

function isMarked(bytes: Uint8Array, hostname: string): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').toLowerCase()
  return text.includes(`${MARK}: ${hostname}`.toLowerCase())
}

function noticeOf(message: PostmasterMessage & MessageBytes, to: string, hostname: string): Notice {
  const { id, mailFrom, rcptTo, helo, ip, bytes } = message
  const sender = mailFrom === '' ? 'the null sender (<>)' : mailFrom
  return {
    kind: 'postmaster',
    to,
    subject: `Mail for ${rcptTo}`,
    paragraphs: [
      `${hostname} received the attached message for ${rcptTo} on port 25.`,
      `Envelope sender: ${sender}. Client: ${helo} [${ip}]. Neither the sender nor the content was verified, so be careful with attachments and links.`,
    ],
    action: null,
    after: [
      `Posthaste forwards such mail because smtp.postmaster is set. It forwards at most ${MOST} messages an hour. The dashboard lists all of them under Settings, Nodes.`,
    ],
    attachment: { filename: `${id}.eml`, contentType: 'message/rfc822', content: bytes },
    headers: [{ name: MARK, value: hostname }],
    once: id,
  }
}
