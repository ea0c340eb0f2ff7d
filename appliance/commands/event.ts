/** The commands about custom events. */
import { presentEvent, presentSentEvent } from '../api/custom-events.ts'
import { presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { Failure, UsageError } from './failure.ts'
import { formatInstant, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseCount } from './values.ts'

/** Registers `event`. */
export function registerEventCommands({ group, addInTeam, does, doesWith }: Registrar): void {
  const events = group('event', 'View and send custom events')
  const limit = ['--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount] as const
  addInTeam('list', 'List custom events, newest first', events)
    .option(...limit)
    .action(does(listEvents))
  addInTeam('show', 'Show a custom event with its schema', events)
    .argument('<event>', 'Name or ID')
    .action(doesWith(showEvent))
  addInTeam('sent', 'List the sent events of one name in the last 30 days, newest first', events)
    .argument('<event>', 'Name or ID')
    .option(...limit)
    .action(doesWith(listSent))
  addInTeam('send', 'Send a custom event about a contact', events)
    .argument('<event>', 'Name')
    .argument('<contact>', 'Address, or ID of a contact')
    .option('--payload <json>', 'Values as a JSON object')
    .action(doesWith(sendEvent))
}

const MOST = 100

function checkLimit(limit: number): number {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}.`)
  return limit
}

/** Runs `event list`. */
async function listEvents(
  { customEvents, output, team }: Context,
  { limit = MOST }: { limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await customEvents.listEvents({ teamId, limit: checkLimit(limit) })
  output.object(presentList(items.map(presentEvent), hasMore))
  if (items.length === 0) return output.text('No custom events.')
  const rows = items.map((one) => [
    formatInstant(one.createdAt),
    String(Object.keys(one.schema ?? {}).length),
    one.id,
    one.name,
  ])
  output.text(...formatTable(['CREATED', 'FIELDS', 'ID', 'NAME'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown.`)
}

/** Runs `event show`: by name or id. */
async function showEvent({ customEvents, output, team }: Context, [which = '']: string[]): Promise<void> {
  const { id: teamId } = await team()
  const event = await customEvents.getEvent({ teamId, which })
  output.object({ object: 'event', ...presentEvent(event) })
  const fields = Object.entries(event.schema ?? {}).map(([name, type]) => [`Field ${name}`, type])
  const facts = [
    ['Name', event.name],
    ['ID', event.id],
    ['Created', formatInstant(event.createdAt)],
    ...(fields.length === 0 ? [['Payload', 'any']] : fields),
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

/** Runs `event sent`: by name or id. */
async function listSent(
  { customEvents, output, team }: Context,
  [which = '']: string[],
  { limit = MOST }: { limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await customEvents.listSent({ teamId, which, limit: checkLimit(limit) })
  output.object(presentList(items.map(presentSentEvent), hasMore))
  if (items.length === 0) return output.text('None was sent in the last 30 days.')
  const rows = items.map((one) => [formatInstant(one.createdAt), one.email, JSON.stringify(one.payload)])
  output.text(...formatTable(['SENT', 'CONTACT', 'PAYLOAD'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown.`)
}

/** Runs `event send`. The running server continues what the event starts. */
async function sendEvent(
  { customEvents, output, team }: Context,
  [event = '', contact = '']: string[],
  { payload = '{}' }: { payload?: string },
): Promise<void> {
  const { id: teamId } = await team()
  const about = contact.includes('@') ? { email: contact } : { contactId: contact }
  const sent = await customEvents.sendEvent({
    teamId,
    input: { event, ...about, payload: parsePayload(payload) },
  })
  output.object({ object: 'event', event: sent.event })
  output.text(`Sent ${sent.event}.`)
}

/** Reads `--payload`. Throws `UsageError` if it isn't a JSON object. */
export function parsePayload(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // The payload isn't JSON. It is refused below, like JSON of another type.
  }
  throw new UsageError('--payload must be a JSON object, such as \'{"plan":"pro"}\'.')
}
