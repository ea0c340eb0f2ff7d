/** The commands about alerts. */
import { Argument, Option } from 'commander'
import { presentAlert, presentAlertSettings } from '../api/alerts.ts'
import { presentList } from '../api/shared.ts'
import {
  ALERT_FIXES,
  ALERT_KINDS,
  ALERT_STATUSES,
  type AlertKind,
  type AlertSettings,
  type AlertStatus,
  alertTitle,
} from '../mail/alert.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseCount, parseId } from './values.ts'

/** Registers `alert`. */
export function registerAlertCommands({ group, addInTeam, does, doesTo }: Registrar): void {
  const alerts = group('alert', 'List alerts, and choose which ones to be notified about')
  addInTeam('list', 'List alerts, newest first', alerts)
    .addOption(new Option('--status <status>', 'Only with this status').choices(ALERT_STATUSES))
    .addOption(new Option('--kind <kind>', 'Only of this kind').choices(ALERT_KINDS))
    .option('--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount)
    .action(does(listAlerts))
  addInTeam('show', 'Show an alert', alerts)
    .addArgument(new Argument('<id>', 'ID from the list').argParser(parseId))
    .action(doesTo(showAlert))
  addInTeam('settings', 'Show which alerts the team is notified about', alerts).action(does(showSettings))
  const muting = (name: string, words: string) =>
    addInTeam(name, words, alerts).addArgument(new Argument('<kind>', 'Kind of alert').choices(ALERT_KINDS))
  muting('mute', 'Stop notifying the team about a kind of alert').action(doesTo(muteKind))
  muting('unmute', 'Notify the team about a kind of alert again').action(doesTo(unmuteKind))
  addInTeam('email', "Set whether the team's owners get emails about alerts", alerts)
    .addArgument(new Argument('<on|off>', 'Whether they do').choices(['on', 'off']))
    .action(doesTo(setEmail))
}

const MOST = 100

async function listAlerts(
  { storage, clock, output, team }: Context,
  { status, kind, limit = MOST }: { status?: AlertStatus; kind?: AlertKind; limit?: number },
): Promise<void> {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --status to see fewer.`)
  const { id: teamId } = await team()
  const { items, hasMore } = await storage.listAlerts({ teamId, status, kind, limit }, clock.now())
  output.object(presentList(items.map(presentAlert), hasMore))
  if (items.length === 0) return output.text(status === 'open' ? 'No open alerts.' : 'No alerts.')
  const rows = items.map((one) => [
    formatInstant(one.openedAt),
    one.closedAt === null ? 'open' : 'closed',
    one.id,
    alertTitle(one),
  ])
  output.text(...formatTable(['OPENED', 'STATUS', 'ID', 'ALERT'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --status to see others.`)
}

async function showAlert({ storage, clock, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const alert = await storage.getAlert({ teamId, id }, clock.now())
  if (!alert) throw new Failure('No such alert. Run: posthaste alert list')
  output.object(presentAlert(alert))
  const { openedAt, closedAt, note, kind } = alert
  const until = closedAt === null ? 'open' : `closed ${formatInstant(closedAt)}`
  output.text(alertTitle(alert), `Opened ${formatInstant(openedAt)}, ${until}`, '')
  output.text(...wrapParagraph(note), ...wrapParagraph(ALERT_FIXES[kind]))
}

function tell({ output }: Pick<Context, 'output'>, settings: AlertSettings): void {
  output.object(presentAlertSettings(settings))
  output.text(
    settings.email ? "The team's owners get emails about alerts." : 'Nobody gets emails about alerts.',
    settings.muted.length === 0 ? 'Nothing is muted.' : `Muted: ${settings.muted.join(', ')}`,
  )
}

async function showSettings(context: Context): Promise<void> {
  const { storage, clock, team } = context
  tell(context, await storage.alertSettings({ teamId: (await team()).id }, clock.now()))
}

async function change(context: Context, by: (before: AlertSettings) => AlertSettings): Promise<void> {
  const { storage, clock, team } = context
  const { id: teamId } = await team()
  const settings = by(await storage.alertSettings({ teamId }, clock.now()))
  await storage.setAlertSettings({ teamId, settings }, clock.now())
  tell(context, settings)
}

const muteKind = (context: Context, kind: string): Promise<void> =>
  change(context, ({ email, muted }) => ({
    email,
    muted: ALERT_KINDS.filter((one) => one === kind || muted.includes(one)),
  }))

const unmuteKind = (context: Context, kind: string): Promise<void> =>
  change(context, ({ email, muted }) => ({ email, muted: muted.filter((one) => one !== kind) }))

const setEmail = (context: Context, chosen: string): Promise<void> =>
  change(context, ({ muted }) => ({ email: chosen === 'on', muted }))
