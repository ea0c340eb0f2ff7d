/** The commands about broadcasts. */
import { parseCount, parseId, parseRate } from './values.ts'
import { VARIANTS } from '../mail/ab-test.ts'
import { BROADCAST_STATUSES, describeInFlight } from '../mail/broadcast.ts'
import { formatHours, explainForecastLimit } from '../mail/forecast-text.ts'
import type { Registrar } from './registrar.ts'
import { Argument, Option } from 'commander'
import {
  presentRecipientRow,
  formatRecipientHeader,
  formatRecipientRow,
  RECIPIENT_TYPES,
} from '../api/broadcast-results.ts'
import { type AbTestResults, presentAbTestResults } from '../api/broadcast-ab-test.ts'
import { presentReview } from '../api/broadcast-review.ts'
import { presentBroadcast, presentBroadcastSummary } from '../api/broadcasts.ts'
import { presentList, presentRef } from '../api/shared.ts'
import type { BroadcastOperations } from '../broadcasts/operations.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { confirmOnTerminal, formatInstant, wrapParagraph, formatTable } from './output.ts'
import { openShaping } from './provider.ts'

/** Registers `broadcast`. */
export function registerBroadcastCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const broadcasts = group('broadcast', 'View, send, pause and cancel broadcasts')
  addInTeam('list', 'List broadcasts, newest first', broadcasts)
    .addOption(
      new Option('--status <status>', 'Only broadcasts with this status').choices(BROADCAST_STATUSES),
    )
    .option('--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount)
    .action(does(listBroadcasts))
  const one = (name: string, words: string) =>
    addInTeam(name, words, broadcasts).addArgument(
      new Argument('<id>', 'ID from the list').argParser(parseId),
    )
  one('show', 'Show a broadcast with its results').action(doesTo(showBroadcast))
  one('review', 'Check a draft: findings, recipients, and how long sending takes').action(
    doesTo(reviewBroadcast),
  )
  one('export', 'Print the recipients of a broadcast as CSV, with their results')
    .addOption(new Option('--type <type>', 'Only recipients with this result').choices(RECIPIENT_TYPES))
    .action(doesWith(exportRecipients))
  one('send', 'Send a draft; the running server checks it once more')
    .option('--at <time>', 'Send it later: ISO 8601, or words such as "in 2 hours"')
    .option('--yes', 'Skip the confirmation prompt')
    .action(doesWith(sendBroadcast))
  one('pause', 'Stop sending a broadcast until it is resumed').action(doesTo(pauseBroadcast))
  one('resume', 'Continue a paused broadcast')
    .option('--provider <provider>', 'Only the part that waits for this mailbox provider')
    .action(doesWith(resumeBroadcast))
  one('rate', 'Limit how many emails of a broadcast are sent per hour')
    .addArgument(new Argument('<emails-per-hour>', 'From 1 to 1000000, or none').argParser(parseRate))
    .action(doesWith(setRate))
  one('winner', 'Choose the variant of an A/B test that the rest gets')
    .addArgument(new Argument('<variant>', 'Name of the variant').choices(VARIANTS))
    .action(doesWith(chooseWinner))
  one('publish', 'Show a broadcast in the public archive once it is sent').action(doesTo(publishBroadcast))
  one('withdraw', 'Take a broadcast out of the public archive').action(doesTo(withdrawBroadcast))
  one('cancel', 'Stop a broadcast permanently; emails already sent are not affected').action(
    doesTo(cancelBroadcast),
  )
}

const DEFAULT_LIMIT = 100
const MOST = 100

type Found = Awaited<ReturnType<BroadcastOperations['getBroadcast']>>

const statusOf = ({ status, paused }: Found): string => (paused ? 'paused' : status)
const allOf = (numbers: Partial<Record<string, number>>): number =>
  Object.values(numbers).reduce<number>((sum, n = 0) => sum + n, 0)

/** Runs `broadcast list`. */
async function listBroadcasts(
  context: Context,
  { status, limit = DEFAULT_LIMIT }: { status?: Found['status']; limit?: number },
): Promise<void> {
  const { broadcasts, output, team } = context
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --status to see fewer.`)
  const { id: teamId } = await team()
  const page = await broadcasts.listBroadcasts({ teamId, limit, status })
  const items = await Promise.all(page.items.map((one) => broadcasts.refreshed(one)))
  const nameOf = await openShaping(context).names()
  const shown = items.map((one) => presentBroadcastSummary(one, nameOf))
  output.object(presentList(shown, page.hasMore))
  if (items.length === 0) return output.text('No broadcasts.')
  const rows = items.map((one) => [
    formatInstant(one.createdAt),
    statusOf(one),
    String(one.expanded - allOf(one.skipped)),
    one.id,
    one.name,
  ])
  output.text(...formatTable(['CREATED', 'STATUS', 'RECIPIENTS', 'ID', 'NAME'], rows))
  if (page.hasMore) output.error(`Only the newest ${limit} are shown. Use --status to see others.`)
}

/** Runs `broadcast show`. */
async function showBroadcast(context: Context, id: string): Promise<void> {
  const { archive, broadcasts, output, team } = context
  const { id: teamId } = await team()
  const found = await broadcasts.refreshed(await broadcasts.getBroadcast({ teamId, id }))
  const inFlight = await broadcasts.inFlight({ teamId, id })
  const url = await archive.pageUrl(found)
  const shown = presentBroadcast(found, inFlight, await openShaping(context).names(), url)
  output.object(shown)
  const facts = [
    ['Name', shown.name],
    ['ID', shown.id],
    ['Status', statusOf(found)],
    ['Created', formatInstant(found.createdAt)],
    ...(found.scheduledAt === null ? [] : [['Scheduled', formatInstant(found.scheduledAt)]]),
    ...(found.finishedAt === null ? [] : [['Ended', formatInstant(found.finishedAt)]]),
    ['From', shown.from],
    ['Subject', shown.subject],
    ['Segment', shown.segment_id],
    ['Recipients', String(shown.recipients)],
    ...(shown.emails_per_hour === null ? [] : [['Emails per hour', `at most ${shown.emails_per_hour}`]]),
    ['In the archive', shown.archive ? (shown.archive_url ?? 'once it is sent') : 'no'],
    ...Object.entries(shown.counts).map(([event, count]) => [`Emails ${event}`, String(count)]),
    ...(shown.in_flight === 0 ? [] : [['On the wire', String(shown.in_flight)]]),
    ['Unsubscribed', String(shown.unsubscribed)],
    ...Object.entries(shown.skipped).flatMap(([reason, count]) =>
      count === 0 ? [] : [[`Left out: ${reason}`, String(count)]],
    ),
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
  // Sentences would make the table wider than a terminal.
  const reasons = [
    ...(shown.pause_reason === null ? [] : [`Why paused: ${shown.pause_reason}`]),
    ...(shown.warning === null ? [] : [`Warning: ${shown.warning}`]),
    ...shown.paused_providers.map(({ name, reason }) => `Paused for ${name}: ${reason}`),
    ...(shown.problem === null ? [] : [`Why failed: ${shown.problem}`]),
  ]
  for (const reason of reasons) output.text('', ...wrapParagraph(reason))
  const test = presentAbTestResults(found, await broadcasts.abTestResult(found))
  if (test) output.text('', ...testLines(test))
}

/** Formats the progress and results of an A/B test. */
function testLines({ variants, reason, decides_at: decidesAt }: NonNullable<AbTestResults>): string[] {
  const rows = variants.map((one) => [
    one.variant,
    String(one.sent),
    String(one.delivered),
    String(one.clicked),
    String(one.unsubscribed),
    String(one.complained),
    one.subject,
  ])
  const head = ['VARIANT', 'SENT', 'DELIVERED', 'CLICKED', 'UNSUBSCRIBED', 'COMPLAINED', 'SUBJECT']
  const next = decidesAt === null ? [] : ['', `The winner is chosen at ${decidesAt}.`]
  return [...formatTable(head, rows), ...(reason === null ? next : ['', ...wrapParagraph(reason)])]
}

/** Runs `broadcast review`: prints what the review page of a draft shows. */
async function reviewBroadcast(context: Context, id: string): Promise<void> {
  const { broadcasts, clock, output, team } = context
  const { id: teamId } = await team()
  const review = await broadcasts.reviewBroadcast({ caller: { teamId, apiKey: null }, id })
  const forecast = await openShaping(context).forecast(review.pool, review.providers, review.hourlyRate)
  const startsAt = Math.max(review.scheduledAt ?? 0, clock.now())
  const shown = presentReview(review, forecast, startsAt)
  output.object(shown)
  const { eligible, contacts, estimated, out } = shown.recipients
  output.text(`Recipients: ${estimated ? 'about ' : ''}${eligible} of ${contacts} contacts`)
  for (const [reason, count] of Object.entries(out))
    if (count > 0) output.text(`Left out: ${count} ${reason}`)
  output.text('')
  for (const { verdict, note, fix } of shown.findings)
    output.text(`${`${verdict}:`.padEnd(10)} ${verdict === 'pass' || fix === null ? note : `${note} ${fix}`}`)
  const links = shown.links.map(({ text, url, count }) => [text || '(no text)', String(count), url])
  if (links.length > 0) output.text('', ...formatTable(['LINK', 'COUNT', 'LEADS TO'], links))
  const tags = shown.tags.map(({ key, fallback, missing, known }) => [
    key,
    known ? String(missing) : 'all: no such field',
    fallback ?? '-',
  ])
  if (tags.length > 0) output.text('', ...formatTable(['MERGE TAG', 'WITHOUT VALUE', 'FALLBACK'], tags))
  const providers = shown.providers.map(({ name, contacts: count, hours, limited_by: by }) => [
    name || 'not known yet',
    String(count),
    formatHours(hours) + explainForecastLimit(hours, by),
  ])
  if (providers.length > 0)
    output.text('', ...formatTable(['PROVIDER', 'CONTACTS', 'SENDING TIME'], providers))
  const { hours: all } = shown.forecast
  if (all !== null)
    output.text(
      '',
      `Done about ${formatInstant(startsAt + all * 3_600_000)}. Transactional mail is not delayed.`,
    )
}

/** Runs `broadcast export`. */
async function exportRecipients(
  { broadcasts, output, team }: Context,
  [id = '']: string[],
  { type }: { type?: (typeof RECIPIENT_TYPES)[number] },
): Promise<void> {
  const { id: teamId } = await team()
  await broadcasts.getBroadcast({ teamId, id })
  output.text(formatRecipientHeader().trimEnd())
  const objects: ReturnType<typeof presentRecipientRow>[] = []
  for await (const page of broadcasts.allRecipients({ teamId, id, type })) {
    if (page.length === 0) continue
    output.text(page.map(formatRecipientRow).join('').trimEnd())
    objects.push(...page.map(presentRecipientRow))
  }
  output.object(presentList(objects))
}

/** `broadcast send`: passes the broadcast to the daemon, now or at a later time. */
async function sendBroadcast(
  { broadcasts, storage, clock, output, team }: Context,
  [id = '']: string[],
  { at = null, yes = false }: { at?: string | null; yes?: boolean },
): Promise<void> {
  const { id: teamId } = await team()
  const { name, segmentId, content } = await broadcasts.getBroadcast({ teamId, id })
  if (!yes) {
    if (!process.stdin.isTTY)
      throw new Failure('This sends email to all contacts of a segment. Confirm with --yes.')
    const segment = await storage.getSegment({ teamId, id: segmentId }, clock.now())
    output.error(`From: ${content.from}`)
    output.error(`Subject: ${content.subject}`)
    output.error(`Segment: ${segment?.name ?? segmentId}, ${segment?.contacts ?? 0} contacts`)
    if (!(await confirmOnTerminal(`Send ${name}?`))) throw new Failure('Canceled. Nothing was changed.')
  }
  const due = await broadcasts.scheduleBroadcast({ teamId, id, at })
  output.object(presentRef('broadcast', id))
  output.text(
    at === null
      ? `Sending ${name}. Follow it with: posthaste broadcast show ${id}`
      : `${name} is scheduled for ${formatInstant(due)}.`,
  )
}

/** Runs `broadcast pause`. */
async function pauseBroadcast({ broadcasts, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  await broadcasts.pauseBroadcast({ teamId, id })
  const count = await broadcasts.inFlight({ teamId, id })
  output.object({ ...presentRef('broadcast', id), in_flight: count })
  output.text(`Paused ${name}.`)
  if (count > 0) output.text(describeInFlight(count))
}

/** Runs `broadcast resume`. */
async function resumeBroadcast(
  context: Context,
  [id = '']: string[],
  { provider }: { provider?: string },
): Promise<void> {
  if (provider === undefined) return change(context, id, 'resumeBroadcast', 'Resumed')
  const { broadcasts, output, team } = context
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  await broadcasts.resumeProvider({ teamId, id, provider })
  output.object(presentRef('broadcast', id))
  output.text(`Resumed ${name} for ${provider}.`)
}

/** Runs `broadcast rate`. */
async function setRate({ broadcasts, output, team }: Context, [id = '', rate = '']: string[]): Promise<void> {
  const { id: teamId } = await team()
  const hourlyRate = rate === 'none' ? null : Number(rate)
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  await broadcasts.updateBroadcast({ teamId, id, draft: { content: {}, hourlyRate }, author: 'command line' })
  output.object(presentRef('broadcast', id))
  output.text(
    hourlyRate === null
      ? `${name} has no rate of its own.`
      : `${name}: at most ${hourlyRate.toLocaleString('en')} ${hourlyRate === 1 ? 'email' : 'emails'} per hour.`,
  )
}

/** Runs `broadcast winner`. */
async function chooseWinner(
  { broadcasts, output, team }: Context,
  [id = '', variant = '']: string[],
): Promise<void> {
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  await broadcasts.chooseVariant({ teamId, id, variant })
  output.object(presentRef('broadcast', id))
  output.text(`The rest of ${name} gets variant ${variant}.`)
}

/** Runs `broadcast publish`. */
async function publishBroadcast(context: Context, id: string): Promise<void> {
  const { archive, broadcasts, output, team } = context
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  const draft = { content: {}, archive: true }
  await broadcasts.updateBroadcast({ teamId, id, draft, author: 'command line' })
  output.object(presentRef('broadcast', id))
  const url = await archive.pageUrl(await broadcasts.getBroadcast({ teamId, id }))
  const { status } = await archive.get({ teamId })
  const enable = 'The archive is disabled. To enable it: posthaste archive enable'
  output.text(`${name} is in the archive${url === null ? ' once it is sent.' : `: ${url}`}`)
  if (status === 'disabled') output.text(enable)
}

/** Runs `broadcast withdraw`. */
async function withdrawBroadcast({ broadcasts, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  const draft = { content: {}, archive: false }
  await broadcasts.updateBroadcast({ teamId, id, draft, author: 'command line' })
  output.object(presentRef('broadcast', id))
  output.text(`${name} is not in the archive. Its page is offline.`)
}

/** Runs `broadcast cancel`. */
const cancelBroadcast = (context: Context, id: string): Promise<void> =>
  change(context, id, 'cancelBroadcast', 'Canceled')

async function change(
  { broadcasts, output, team }: Context,
  id: string,
  method: 'resumeBroadcast' | 'cancelBroadcast',
  done: string,
): Promise<void> {
  const { id: teamId } = await team()
  const { name } = await broadcasts.getBroadcast({ teamId, id })
  await broadcasts[method]({ teamId, id })
  output.object(presentRef('broadcast', id))
  output.text(`${done} ${name}.`)
}
