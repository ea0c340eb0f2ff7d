/** The commands about received email. */
import { presentReceivedContent, presentReceivedEmail } from '../api/receiving.ts'
import { presentList } from '../api/shared.ts'
import { refuse, Refusal } from '../mail/refusals.ts'
import { createMimeReader } from '../mime/mime.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { instant, table } from './output.ts'

const DEFAULT_LIMIT = 100
const MOST = 100

/** Runs `inbound list`. */
export async function listInbound(
  { storage, clock, output, team }: Context,
  { search, limit = DEFAULT_LIMIT }: { search?: string; limit?: number },
): Promise<void> {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --search to find an email.`)
  const { id: teamId } = await team()
  const { items, hasMore } = await storage.listReceivedEmails({ teamId, limit, search }, clock.now())
  output.object(presentList(items.map(presentReceivedEmail), hasMore))
  if (items.length === 0) return output.text('No received emails.')
  const rows = items.map(({ id, receivedAt, from, receivedFor, subject, authentication }) => [
    ...[instant(receivedAt), authentication.dmarc.result, id],
    ...[oneLine(from), receivedFor.join(', '), oneLine(subject)],
  ])
  output.text(...table(['RECEIVED', 'DMARC', 'ID', 'FROM', 'FOR', 'SUBJECT'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --search to find others.`)
}

/** Runs `inbound show`. */
export async function showInbound(
  { storage, clock, output, team }: Context,
  [id = '']: string[],
  { source = false }: { source?: boolean },
): Promise<void> {
  const { id: teamId } = await team()
  const email = await storage.getReceivedEmail({ teamId, id }, clock.now())
  if (!email) throw refuse('not_found', { resource: 'Email' })
  const bytes = await storage.getReceivedSource({ teamId, id }, clock.now())
  if (source) {
    if (!bytes) throw refuse('not_found', { resource: 'Email source' })
    return void process.stdout.write(bytes)
  }
  const content = bytes ? await contentOf(bytes, clock) : { html: null, text: null }
  const forwards = await storage.listForwards({ teamId, receivedId: id }, clock.now())
  const shown = presentReceivedContent(email, bytes, content, forwards)
  output.object({ ...shown, html_format: 'cid', raw: null })
  const checks = Object.entries(shown.authentication_results).map(([method, { result, domain }]) => [
    method.toUpperCase(),
    domain === null ? result : `${result} (${domain})`,
  ])
  const facts = [
    ['ID', shown.id],
    ['Received', instant(email.receivedAt)],
    ['From', shown.from],
    ['To', shown.to.join(', ')],
    ['Received for', shown.received_for.join(', ')],
    ['Subject', shown.subject],
    ['Message-ID', shown.message_id],
    ['Answers', shown.in_reply_to_email_id ?? ''],
    ['Envelope', `${email.mailFrom || '<>'} from ${email.helo} [${email.ip}]`],
    ['TLS', email.tls ?? 'none'],
    ...checks,
    ...shown.forwards.map(({ to, status, email_id: sent, reason }) => [
      'Forward',
      `${to}: ${status}${sent === null ? '' : ` as ${sent}`}${reason === null ? '' : `. ${reason}`}`,
    ]),
    ...shown.attachments.map(({ filename, content_type: type, size }) => [
      'Attachment',
      `${filename ?? '(no name)'} (${type}, ${size} bytes)`,
    ]),
  ]
  output.text(
    ...table(
      ['FIELD', 'VALUE'],
      facts.map((row) => row.map(oneLine)),
    ),
  )
  if (shown.text !== null) output.text('', ...shown.text.trimEnd().split('\n'))
}

const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, ' ')

/** Reads the content in this process, because a command reads one message and ends. Unreadable content is empty. */
async function contentOf(bytes: Uint8Array, clock: Context['clock']) {
  const turns = {
    take: () => Promise.resolve({ [Symbol.dispose]: () => undefined }),
    figures: () => ({ used: 0, limit: 0, waiting: 0, refused: 0 }),
  }
  const mime = createMimeReader({ clock, turns })
  try {
    return await mime.read(bytes, null)
  } catch (error) {
    if (error instanceof Refusal) return { html: null, text: null }
    throw error
  } finally {
    await mime.close()
  }
}
