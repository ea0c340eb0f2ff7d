/** Formats the result of an import, for people and programs. Pure. */
import {
  sharesReturnPath,
  formatZoneFile,
  type ObjectKind,
  type CreatedObject,
  type MoveReport,
  type MoveCount,
} from '../moving/moving.ts'
import type { SourcesAndPools } from '../senders/reverse-dns.ts'
import { presentDomain } from '../api/domains.ts'
import { wrapParagraph, truncate, formatTable } from './output.ts'

/** A token or signing secret, as a line of text and as an object. */
export interface Secret {
  text: string
  object: object
}

/** The context of an import. */
export interface ImportContext {
  base: string
  team: string
  teamId: string
  dryRun: boolean
  /** Secrets that are part of the result. */
  printed: Secret[]
}

/** Returns the secret of a created object, or undefined if the object has no secret. */
export function extractSecret(what: CreatedObject): Secret | undefined {
  if (what.kind === 'api_key') {
    const { token, domain } = what
    const { id, name, permission } = what.key
    const where = domain === null ? '' : `, ${domain}`
    return {
      text: `API key "${name}" (${permission}${where}): ${token}`,
      object: { object: 'api_key', id, name, permission, domain, token },
    }
  }
  if (what.kind !== 'webhook') return undefined
  const { id, endpoint, events, status, secret } = what.webhook
  return {
    text: `Webhook ${endpoint}: ${secret}`,
    object: { object: 'webhook', id, endpoint, events, status, signing_secret: secret },
  }
}

const WORDS: Record<ObjectKind, string> = {
  domains: 'domains',
  suppressions: 'suppressions',
  webhooks: 'webhooks',
  keys: 'API keys',
  properties: 'contact properties',
  segments: 'segments',
  topics: 'topics',
  contacts: 'contacts',
  templates: 'templates',
  broadcasts: 'broadcasts',
  events: 'event schemas',
  automations: 'automations',
}

const countsOf = ({ counts }: MoveReport) => Object.entries(counts) as [ObjectKind, MoveCount][]

/** Formats the report: counts, skipped objects and reasons, and differences. */
export function describeImport(report: MoveReport, { base, team, dryRun }: ImportContext): string[] {
  const all = countsOf(report)
  // Only `--overwrite` and opt-outs change existing objects.
  const changed = all.some(([, { updated }]) => updated > 0)
  const rows = all.map(([kind, { there, added, present, updated, leftOut }]) => {
    const counts = changed ? [there, added, present, updated, leftOut] : [there, added, present, leftOut]
    return [WORDS[kind], ...counts.map(String)]
  })
  const title = ['', 'THERE', dryRun ? 'TO ADD' : 'ADDED', 'ALREADY HERE']
  if (changed) title.push(dryRun ? 'TO CHANGE' : 'CHANGED')
  title.push('SKIPPED')
  const reasons = all.flatMap(([, { reasons }]) => reasons)
  const more = all.reduce((sum, [, count]) => sum + count.leftOut - count.reasons.length, 0)
  const notes = all.flatMap(([, count]) => count.notes)
  return [
    `From ${base} to the team "${team}"${dryRun ? '; dry run, nothing is changed' : ''}:`,
    ...(rows.length === 0 ? ['nothing'] : formatTable(title, rows)),
    ...reasons.map(({ what, text }) => `skipped: ${truncate(what, 100)}: ${text}`),
    ...(more > 0 ? [`and ${more} more skipped`] : []),
    ...notes.map(({ what, text }) => `note: ${truncate(what, 100)}: ${text}`),
    ...report.domains
      .filter(sharesReturnPath)
      .flatMap(({ domain }) => ['', ...wrapParagraph(sharing(domain))]),
  ]
}

const sharing = ({ name, returnPath }: { name: string; returnPath: string }): string =>
  `note: ${name}: both services use the return path ${returnPath}.${name}, and its records can point to only one of them. The domain is verified here once they point here. To use both services in parallel, remove the domain here and import it again with a different --return-path.`

/** Formats the report as JSON. */
export function presentImport(
  report: MoveReport,
  title: ImportContext & { failure: string | null },
  ways: SourcesAndPools,
): object {
  const { base, teamId, dryRun, printed, failure } = title
  return {
    object: 'import',
    from: base,
    team_id: teamId,
    dry_run: dryRun,
    ...Object.fromEntries(countsOf(report).map(([kind, count]) => [kind, presentCount(count)])),
    domains_here: report.domains.map(({ domain, records, keys }) =>
      presentDomain(domain, records, keys, ways, null),
    ),
    zone: formatZoneFile(report.domains),
    secrets: printed.map(({ object }) => object),
    failure,
  }
}

function presentCount({ there, added, present, updated, leftOut, reasons, notes }: MoveCount): object {
  const said = ({ what, text }: { what: string; text: string }) => ({ what, text })
  const remarks = { reasons: reasons.map(said), notes: notes.map(said) }
  return { there, added, present, updated, left_out: leftOut, ...remarks }
}
