/** The commands about received email. */
import { parseCount, parseId } from './values.ts'
import type { Registrar } from './registrar.ts'
import { addRule, listRules, removeRule } from './receiving-rules.ts'
import { RECEIVING_ACTIONS } from '../mail/receiving-rules.ts'
import { Argument } from 'commander'
import { presentReceivedContent, presentReceivedEmail } from '../api/receiving.ts'
import { presentList } from '../api/shared.ts'
import { refuse, Refusal } from '../mail/refusals.ts'
import { createMimeReader } from '../mime/mime.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { formatInstant, formatTable } from './output.ts'

/** Registers `inbound`. */
export function registerInboundCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const inbound = group('inbound', 'View received email, and manage receiving rules')
  addInTeam('list', 'List received emails, newest first', inbound)
    .option('--search <text>', 'Only emails whose sender, recipient or subject contains this text')
    .option('--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount)
    .action(does(listInbound))
  addInTeam('show', 'Show a received email', inbound)
    .addArgument(new Argument('<id>', 'ID from the list').argParser(parseId))
    .option('--source', 'Print the message itself instead')
    .action(doesWith(showInbound))
  const rule = (name: string, words: string) =>
    addInTeam(name, words, inbound).argument('<domain>', 'Name of the domain')
  rule('rules', 'List the receiving rules of a domain').action(doesTo(listRules))
  rule('add-rule', 'Add a receiving rule')
    .argument('<pattern>', 'The part of the address before the @; * stands for any text')
    .addArgument(new Argument('<action>', 'What to do with the mail').choices(RECEIVING_ACTIONS))
    .option('--to <address...>', 'Where to forward it')
    .option(
      '--place <number>',
      'Place in the list (default: last, before a rule for all addresses)',
      parseCount,
    )
    .action(doesWith(addRule))
  rule('remove-rule', 'Remove a receiving rule')
    .argument('<pattern>', 'The pattern, as listed')
    .action(doesWith(removeRule))
}

const DEFAULT_LIMIT = 100
const MOST = 100

/** Runs `inbound list`. */
async function listInbound(
  { storage, clock, output, team }: Context,
  { search, limit = DEFAULT_LIMIT }: { search?: string; limit?: number },
): Promise<void> {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --search to find an email.`)
  const { id: teamId } = await team()
  const { items, hasMore } = await storage.listReceivedEmails({ teamId, limit, search }, clock.now())
  output.object(presentList(items.map(presentReceivedEmail), hasMore))
  if (items.length === 0) return output.text('No received emails.')
  const rows = items.map(({ id, receivedAt, from, receivedFor, subject, authentication }) => [
    formatInstant(receivedAt),
    authentication.dmarc.result,
    id,
    oneLine(from),
    receivedFor.join(', '),
    oneLine(subject),
  ])
  output.text(...formatTable(['RECEIVED', 'DMARC', 'ID', 'FROM', 'FOR', 'SUBJECT'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --search to find others.`)
}

/** Runs `inbound show`. */
async function showInbound(
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
  const verdict = shown.spam
  const spam = verdict
    ? `${verdict.flagged ? 'marked as spam' : 'not marked'}, ${verdict.score} of ${verdict.reject_score}`
    : 'not asked'
  const checks = Object.entries(shown.authentication_results).map(([method, { result, domain }]) => [
    method.toUpperCase(),
    domain === null ? result : `${result} (${domain})`,
  ])
  const facts = [
    ['ID', shown.id],
    ['Received', formatInstant(email.receivedAt)],
    ['From', shown.from],
    ['To', shown.to.join(', ')],
    ['Received for', shown.received_for.join(', ')],
    ['Subject', shown.subject],
    ['Message-ID', shown.message_id],
    ['Answers', shown.in_reply_to_email_id ?? ''],
    ['Envelope', `${email.mailFrom || '<>'} from ${email.helo} [${email.ip}]`],
    ['TLS', email.tls ?? 'none'],
    ...checks,
    ['Spam filter', spam],
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
    ...formatTable(
      ['FIELD', 'VALUE'],
      facts.map((row) => row.map(oneLine)),
    ),
  )
  if (shown.text !== null) output.text('', ...shown.text.trimEnd().split('\n'))
}

const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, ' ')

/** Parses the content in this process, because a command reads one message and ends. Unreadable content is empty. */
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
