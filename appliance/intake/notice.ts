/** Email from the server itself to users: password links, invitations. It is queued and sent like all other mail. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Intake } from './accept.ts'
import { formatNoticeHtml, formatNoticeText, type Notice } from './notice-mail.ts'
import type { Submission } from './submission.ts'

/** The result of sending a notice. The reason is a sentence for the operator, and for an admin who waits for it. */
export type NoticeResult = { sent: true; emailId: string } | { sent: false; reason: string }

/** Sends one notice. Never rejects: returns and logs why it failed. */
export type SendNotice = (notice: Notice) => Promise<NoticeResult>

export interface NoticeDeps {
  storage: Pick<Storage, 'firstTeam' | 'listDomains'>
  intake: Pick<Intake, 'accept'>
  clock: Clock
  log: Logger
  /** Appears as the signature of the notice. */
  hostname: string
  /** `notices.from`; undefined for `posthaste@` and the first domain that can send. */
  from: string | undefined
}

/**
 * Creates the function that sends notices. They belong to the first team, which runs the server, and are signed with
 * the key of its domain.
 */
export function createNoticeSender(deps: NoticeDeps): SendNotice {
  const { log } = deps
  return async (notice) => {
    const result = await send(notice, deps)
    const about = { kind: notice.kind, to: notice.to }
    if (result.sent) log.info({ ...about, email_id: result.emailId }, 'sending a notice')
    else log.warn(about, `a notice could not be sent: ${result.reason}`)
    return result
  }
}

async function send(notice: Notice, deps: NoticeDeps): Promise<NoticeResult> {
  const team = await deps.storage.firstTeam({}, deps.clock.now())
  if (!team) return { sent: false, reason: 'this server has not been set up yet' }
  const to = parseMailbox(notice.to)
  if (!to) return { sent: false, reason: 'the address is not valid' }
  const from = await senderOf(team.id, deps)
  if (!from) return { sent: false, reason: 'the first team has no verified domain to send from' }
  const request = {
    submissions: [submissionOf(notice, { from, to, hostname: deps.hostname })],
    idempotencyKey: notice.once ?? null,
    scope: 'notice',
    fingerprint: '',
  }
  try {
    const { ids } = await deps.intake.accept(request, { teamId: team.id, apiKey: null })
    return { sent: true, emailId: ids[0]! }
  } catch (error) {
    // Don't throw, because the action that the notice is about has already happened.
    if (error instanceof Refusal) return { sent: false, reason: error.message }
    deps.log.error({ err: error, kind: notice.kind }, 'could not store a notice')
    return { sent: false, reason: 'it could not be stored' }
  }
}

/** Returns the sender; undefined if no domain can send. */
async function senderOf(teamId: string, { storage, clock, from }: NoticeDeps): Promise<Mailbox | undefined> {
  if (from !== undefined) return parseMailbox(from)
  const domains = await storage.listDomains({ teamId }, clock.now())
  const able = domains.filter(({ status, sending }) => status === 'verified' && sending)
  const [first] = able.sort((a, b) => a.createdAt - b.createdAt)
  return first && parseMailbox(`Posthaste <posthaste@${first.name}>`)
}

function submissionOf(
  notice: Notice,
  { from, to, hostname }: { from: Mailbox; to: Mailbox; hostname: string },
): Submission {
  return {
    from,
    to: [to],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: notice.subject,
    html: formatNoticeHtml(notice, hostname),
    text: formatNoticeText(notice, hostname),
    // RFC 3834 §5: vacation responders must not answer it.
    headers: [{ name: 'Auto-Submitted', value: 'auto-generated' }, ...(notice.headers ?? [])],
    attachments: notice.attachment ? [{ ...notice.attachment, contentId: null }] : [],
    messageId: null,
    links: [],
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    tags: [{ name: 'notice', value: notice.kind }],
    notice: true,
  }
}
