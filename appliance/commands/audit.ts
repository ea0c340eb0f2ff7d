import { describeAuditEntry } from '../mail/audit-sentence.ts'
import { AUDIT_CSV_HEADER, formatAuditRow, presentAuditEntry } from '../api/audit.ts'
import { presentList } from '../api/shared.ts'
import { UsageError, type Context } from './context.ts'
import { formatInstant, sanitizeForTerminal, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseCount } from './values.ts'
import { createTeamFilterOption } from './which-team.ts'

/** The options of `audit`. */
export interface AuditOptions {
  limit?: number
  actor?: string
  action?: string
  target?: string
  since?: string
  until?: string
  csv?: boolean
  json?: boolean
}

/** Number of entries read at a time for a file. */
const AT_ONCE = 500

/** `audit`: prints the audit log, newest first; with --csv, exports all of it. */
async function listAudit(
  { storage, clock, output, namedTeam }: Context,
  { limit = 20, csv = false, ...options }: AuditOptions,
): Promise<void> {
  const { actor, action, target } = options
  const range = { since: instantOf('--since', options.since), until: instantOf('--until', options.until) }
  if (csv && options.json) throw new UsageError('Use either --csv or --json, not both.')
  const filter = { teamId: (await namedTeam())?.id, actor, action, target, ...range }
  if (csv) return printCsv({ storage, clock, output }, filter)
  const { items, hasMore } = await storage.listAudit({ limit, ...filter }, clock.now())
  output.object(presentList(items.map(presentAuditEntry), hasMore))
  if (items.length === 0) return output.text('No audit entries match.')
  const rows = items.map((entry) => [
    formatInstant(entry.at),
    entry.id,
    entry.ip ?? 'this machine',
    describeAuditEntry(entry),
  ])
  output.text(...formatTable(['AT', 'ID', 'FROM', 'WHAT'], rows))
  output.text('', 'Add --json to see the recorded values before and after.')
}

type Filter = Omit<Parameters<Context['storage']['listAudit']>[0], 'limit' | 'after' | 'before'>

async function printCsv(
  { storage, clock, output }: Pick<Context, 'storage' | 'clock' | 'output'>,
  filter: Filter,
): Promise<void> {
  output.text(AUDIT_CSV_HEADER.trimEnd())
  for (let after: string | undefined; ;) {
    const page = await storage.listAudit({ ...filter, limit: AT_ONCE, after }, clock.now())
    for (const entry of page.items) output.text(sanitizeForTerminal(formatAuditRow(entry).trimEnd()))
    if (!page.hasMore) return
    after = page.items.at(-1)?.id
  }
}

function instantOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at < 0)
    throw new UsageError(`${option} must be a time such as 2026-11-20T09:00:00Z, or a date in UTC.`)
  return at
}

/** Registers `audit`. */
export function registerAuditCommands({ add, does }: Registrar): void {
  add('audit', 'List the audit log, newest first')
    .addOption(createTeamFilterOption('Only actions affecting this team'))
    .option('--actor <words>', 'Only actions by this user, API key or account; part of the name is enough')
    .option(
      '--action <action>',
      'Only this action, such as domain.update, or all actions on a type, such as domain',
    )
    .option('--target <target>', 'Only this target: a type, an ID, both, or part of a name')
    .option('--since <instant>', 'Only entries from this time on, ISO 8601')
    .option('--until <instant>', 'Only entries before this time, ISO 8601')
    .option('--limit <count>', 'Maximum number of entries (default: 20)', parseCount)
    .option('--csv', 'Print all matching entries as CSV')
    .action(does(listAudit))
}
