/**
 * The public module of alerts. Measures the mail of all teams every few minutes, opens and closes alerts, and notifies
 * owners by email. Storage allows only one open alert per subject, so two nodes may measure at the same time.
 */
import type { Clock } from '../clock/clock.ts'
import type { SendNotice } from '../intake/notice.ts'
import { type AlertReading, decideAlerts, DEFAULT_ALERT_SETTINGS } from '../mail/alert.ts'
import { newId } from '../mail/ids.ts'
import type { NodeView } from '../mail/node.ts'
import type { Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { composeAlertNotice } from './mail.ts'
import { type MeasureDeps, loadSharedFacts, countOldDeliveries, loadTeamFacts } from './measure.ts'
import { regionReadings, serverReadings, type TeamFacts, teamReadings } from './readings.ts'

export interface AlertDeps extends MeasureDeps {
  storage: MeasureDeps['storage'] &
    Pick<
      Storage,
      | 'listTeams'
      | 'firstTeam'
      | 'listMembers'
      | 'listSources'
      | 'regionMap'
      | 'openAlerts'
      | 'openAlert'
      | 'noteAlert'
      | 'closeAlert'
      | 'alertSettings'
      | 'dueAlertMail'
      | 'settleAlertMail'
    >
  clock: Clock
  log: Logger
  sendNotice: SendNotice
  /** Lists the nodes that share the database; undefined if there is only one. */
  listNodes?: (() => Promise<NodeView[]>) | undefined
  /** URL of the alerts page; null if unknown. */
  url: string | null
  /** Duties shared between nodes. Default: this is the only process. */
  duties?: Duties | undefined
}

/** Interval between measurements, in milliseconds. */
const EVERY = 5 * 60_000
/** Minimum time between two emails to the owners of a team, in milliseconds. */
const MAIL_EVERY = 60 * 60_000

/** Creates the worker, which measures when it starts and then every five minutes. */
export function createAlerts(deps: AlertDeps): Worker {
  const { clock, log } = deps
  const onDuty = createDutyCheck(deps.duties, 'alerts')
  const step = async (going: () => boolean): Promise<boolean> => {
    await measure(deps, going, onDuty)
    if (going()) await sendMail(deps, going, onDuty)
    return false
  }
  const trouble = 'could not measure what alerts are about; will retry'
  return createWorker({ step, clock, log, pollMs: EVERY, trouble })
}

type OnDuty = () => Promise<boolean>

/** Measures the teams one after another, so that mail is accepted in between, and then the whole server. */
async function measure(deps: AlertDeps, going: () => boolean, onDuty: OnDuty): Promise<void> {
  const { storage, clock } = deps
  const around = await loadSharedFacts(deps)
  const old = await countOldDeliveries(deps)
  const seen: TeamFacts[] = []
  for (const { id } of await storage.listTeams({}, clock.now())) {
    if (!going()) return
    const facts = await loadTeamFacts(deps, id, old.get(id) ?? 0)
    seen.push(facts)
    await decide(deps, { teamId: id, scope: 'team', readings: teamReadings(facts, around) }, onDuty)
  }
  const operator = await storage.firstTeam({}, clock.now())
  if (!operator || !going()) return
  const nodes = (await deps.listNodes?.()) ?? []
  const readings = [
    ...serverReadings(await storage.listSources({}, clock.now()), seen, around),
    ...regionReadings(nodes, await storage.regionMap({}, clock.now())),
  ]
  await decide(deps, { teamId: operator.id, scope: 'server', readings }, onDuty)
}

/** Opens, updates and closes the alerts of a team. Writes only if something changed. */
async function decide(
  { storage, clock, log, levels }: AlertDeps,
  { teamId, scope, readings }: Pick<AlertReading, 'scope'> & { teamId: string; readings: AlertReading[] },
  onDuty: OnDuty,
): Promise<void> {
  const now = clock.now()
  const known = (await storage.openAlerts({ teamId }, now)).filter((alert) => alert.scope === scope)
  const { open, update, close } = decideAlerts(known, readings, now, levels)
  if (open.length + update.length + close.length === 0 || !(await onDuty())) return
  const { email, muted } =
    open.length > 0 ? await storage.alertSettings({ teamId }, now) : DEFAULT_ALERT_SETTINGS
  for (const { kind, subject, value, limit, note } of open) {
    const about = { id: newId(now), teamId, scope, kind, subject, note, value: value ?? 0, limit }
    const alert = { ...about, openedAt: now, calmSince: null, closedAt: null, muted: muted.includes(kind) }
    if (await storage.openAlert({ alert, email }, now))
      log.warn({ team_id: teamId, alert_id: alert.id, kind, subject: subject.name, note }, 'alert opened')
  }
  for (const { alert, ...change } of update) await storage.noteAlert({ id: alert.id, ...change }, now)
  for (const { id, kind, subject } of close)
    if (await storage.closeAlert({ id }, now))
      log.info({ team_id: teamId, alert_id: id, kind, subject: subject.name }, 'alert closed')
}

/** Emails opened and closed alerts to the owners of each team, at most once an hour per team. */
async function sendMail(
  { storage, clock, sendNotice, url }: AlertDeps,
  going: () => boolean,
  onDuty: OnDuty,
): Promise<void> {
  const before = clock.now() - MAIL_EVERY
  const teams = new Map((await storage.listTeams({}, clock.now())).map(({ id, name }) => [id, name]))
  for (;;) {
    const mailing = await storage.dueAlertMail({ before }, clock.now())
    if (!mailing || !going() || !(await onDuty())) return
    const { teamId, opened, closed } = mailing
    const members = await storage.listMembers({ teamId }, clock.now())
    for (const { email } of members.filter(({ role }) => role === 'owner'))
      await sendNotice(composeAlertNotice(mailing, { to: email, team: teams.get(teamId) ?? '', url }))
    // Mark the alerts as mailed even if there is no domain to send from: an old alert must not be sent once a domain
    // exists.
    const ids = { opened: opened.map(({ id }) => id), closed: closed.map(({ id }) => id) }
    await storage.settleAlertMail(ids, clock.now())
  }
}
