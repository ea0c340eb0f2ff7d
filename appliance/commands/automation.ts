/** The commands about automations. */
import { Argument, Option } from 'commander'
import {
  presentAutomation,
  presentAutomationSummary,
  presentRun,
  presentRunSummary,
} from '../api/automations.ts'
import { presentTestRun } from '../api/automation-tests.ts'
import { presentList, presentRef } from '../api/shared.ts'
import { AUTOMATION_STATUSES, type AutomationStatus, RUN_STATUSES } from '../mail/automation.ts'
import type { Context } from './context.ts'
import { parsePayload } from './event.ts'
import { Failure } from './failure.ts'
import { formatInstant, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseCount, parseId } from './values.ts'

/** Registers `automation`. */
export function registerAutomationCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const automations = group('automation', 'View, enable and stop automations, and view their runs')
  const limit = ['--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount] as const
  addInTeam('list', 'List automations, newest first', automations)
    .addOption(new Option('--status <status>', 'Only with this status').choices(AUTOMATION_STATUSES))
    .option(...limit)
    .action(does(listAutomations))
  const one = (name: string, words: string) =>
    addInTeam(name, words, automations).addArgument(
      new Argument('<id>', 'ID from the list').argParser(parseId),
    )
  one('show', 'Show an automation with its steps').action(doesTo(showAutomation))
  one('runs', 'List the runs of an automation, newest first')
    .addOption(new Option('--status <status>', 'Only runs with this status').choices(RUN_STATUSES))
    .option(...limit)
    .action(doesWith(listRuns))
  one('run', 'Show a run with its steps')
    .addArgument(new Argument('<run>', 'ID of the run').argParser(parseId))
    .action(doesWith(showRun))
  one('retry', 'Retry a failed run from the step that failed')
    .addArgument(new Argument('<run>', 'ID of the run').argParser(parseId))
    .action(doesWith(retryRun))
  one('test', 'Show what a run would do, without waits, emails or changes')
    .argument('<event>', 'The event that starts it')
    .argument('<contact>', 'Address, or ID of a contact')
    .option('--payload <json>', 'Values of the event as a JSON object')
    .option(
      '--arrives <event@time>',
      'An event that arrives later, such as "order.paid@2 days"; repeatable',
      collect,
    )
    .action(doesWith(testAutomation))
  one('enable', 'Let events start runs').action(doesTo(enableAutomation))
  one('stop', 'Disable an automation and end its runs').action(doesTo(stopAutomation))
}

const MOST = 100

const collect = (one: string, before: string[] = []): string[] => [...before, one]

function checkLimit(limit: number): number {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --status to see fewer.`)
  return limit
}

async function listAutomations(
  { automations, output, team }: Context,
  { status, limit = MOST }: { status?: AutomationStatus; limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await automations.list({ teamId, status, limit: checkLimit(limit) })
  output.object(presentList(items.map(presentAutomationSummary), hasMore))
  if (items.length === 0) return output.text('No automations.')
  const rows = items.map((one) => [
    formatInstant(one.createdAt),
    one.stopReason === null ? one.status : 'stopped',
    one.id,
    one.name,
  ])
  output.text(...formatTable(['CREATED', 'STATUS', 'ID', 'NAME'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --status to see others.`)
}

async function showAutomation({ automations, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const automation = await automations.get({ teamId, id })
  output.object(presentAutomation(automation))
  const { graph, stopReason } = automation
  const steps = graph.steps.map(({ key, type }) => {
    const ways = graph.connections.filter(({ from }) => from === key)
    const to = ways.map((way) => (way.type === 'default' ? way.to : `${way.type}: ${way.to}`)).join(', ')
    return [`Step ${key}`, to === '' ? type : `${type} → ${to}`]
  })
  const facts = [
    ['Name', automation.name],
    ['ID', automation.id],
    ['Status', automation.status],
    ...(stopReason === null ? [] : [['Stopped', stopReason]]),
    ...steps,
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

async function listRuns(
  { automations, output, team }: Context,
  [id = '']: string[],
  { status, limit = MOST }: { status?: string; limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await automations.runs({ teamId, id, status, limit: checkLimit(limit) })
  output.object(presentList(items.map(presentRunSummary), hasMore))
  if (items.length === 0) return output.text('No runs.')
  const rows = items.map((run) => [formatInstant(run.createdAt), run.status, run.id, run.contactId])
  output.text(...formatTable(['STARTED', 'STATUS', 'ID', 'CONTACT'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --status to see others.`)
}

async function showRun(
  { automations, output, team }: Context,
  [id = '', runId = '']: string[],
): Promise<void> {
  const { id: teamId } = await team()
  const run = presentRun(await automations.run({ teamId, id, runId }))
  output.object(run)
  const rows = run.steps.map(({ key, type, status, output: done, error }) => [
    key,
    type,
    status,
    error ? String(error.message) : done ? JSON.stringify(done) : '',
  ])
  output.text(...formatTable(['STEP', 'TYPE', 'STATUS', 'RESULT'], rows))
}

async function retryRun(
  { automations, output, team }: Context,
  [id = '', runId = '']: string[],
): Promise<void> {
  const { id: teamId } = await team()
  await automations.retry({ teamId, id, runId })
  output.object({ object: 'automation_run', id: runId, status: 'running' })
  output.text('Retried. Show the run to see how it continues.')
}

async function testAutomation(
  { automations, output, team }: Context,
  [id = '', event = '', contact = '']: string[],
  { payload = '{}', arrives = [] }: { payload?: string; arrives?: string[] },
): Promise<void> {
  const { id: teamId } = await team()
  const arrivals = arrives.map(readArrival)
  const about = contact.includes('@') ? { email: contact } : { contactId: contact }
  const input = { event, ...about, payload: parsePayload(payload), arrivals }
  const run = presentTestRun(await automations.test({ teamId, id, input }))
  output.object(run)
  const rows = run.steps.map(({ key, type, status, started_at: at, output: done, error }) => [
    at === null ? '-' : formatInstant(Date.parse(at)),
    key,
    type,
    at === null ? 'not reached' : status,
    error ? String(error.message) : done ? JSON.stringify(done) : '',
  ])
  output.text(...formatTable(['TIME', 'STEP', 'TYPE', 'STATUS', 'RESULT'], rows))
}

/** Reads `order.paid@2 days`. The name may contain @ too. */
function readArrival(given: string): { event: string; after: string } {
  const at = given.lastIndexOf('@')
  if (at < 1)
    throw new Failure(`--arrives needs an event and a time, such as "order.paid@2 days". Given: ${given}`)
  return { event: given.slice(0, at), after: given.slice(at + 1) }
}

async function enableAutomation({ automations, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const revision = await automations.update({ teamId, id, input: { status: 'enabled' } })
  output.object({ ...presentRef('automation', id), revision })
  output.text('Enabled.')
}

async function stopAutomation({ automations, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  await automations.stop({ teamId, id })
  output.object({ ...presentRef('automation', id), status: 'disabled' })
  output.text('Stopped. Its runs have ended.')
}
