/** Mail of the appliance itself to people: a link that sets a password, an invitation. It goes the way of all mail. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Intake } from './accept.ts'
import { noticeHtml, noticeText, type Notice } from './notice-mail.ts'
import type { Submission } from './submission.ts'

/** What became of a notice. A reason is a sentence for the person on call, and for an admin who waits for it. */
export type NoticeResult = { sent: true; emailId: string } | { sent: false; reason: string }

/** Sends one notice. Never rejects: it tells why it could not, and the log has it too. */
export type SendNotice = (notice: Notice) => Promise<NoticeResult>

export interface NoticeDeps {
  storage: Pick<Storage, 'firstTeam' | 'listDomains'>
  intake: Pick<Intake, 'accept'>
  clock: Clock
  log: Logger
  /** Signs the notice. */
  hostname: string
  /** `notices.from`; undefined: `posthaste@` the first domain that may send. */
  from: string | undefined
}

/** Notices are sent in the name of the first team, whose appliance it is, and signed with the key of its domain. */
export function createNotices(deps: NoticeDeps): SendNotice {
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
    // What the notice is about has happened already, and must not fail with it.
    if (error instanceof Refusal) return { sent: false, reason: error.message }
    deps.log.error({ err: error, kind: notice.kind }, 'could not store a notice')
    return { sent: false, reason: 'it could not be stored' }
  }
}

/** From whom; undefined when there is no domain that may send. */
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
    ...{ from, to: [to], cc: [], bcc: [], replyTo: [], subject: notice.subject },
    ...{ html: noticeHtml(notice, hostname), text: noticeText(notice, hostname) },
    // RFC 3834 §5: no vacation responder answers it.
    headers: [{ name: 'Auto-Submitted', value: 'auto-generated' }, ...(notice.headers ?? [])],
    attachments: notice.attachment ? [{ ...notice.attachment, contentId: null }] : [],
    ...{ messageId: null, links: [], scheduledAt: null, stream: 'transactional', topicId: null },
    tags: [{ name: 'notice', value: notice.kind }],
    notice: true,
  }
}
