/**
 * The public module of alerts. Measures the mail of all teams every few minutes, opens and closes alerts, and notifies
 * owners by email. The storage lets only one alert about a thing be open, so that two nodes may measure at once.
 */
import type { Clock } from '../clock/clock.ts'
import type { SendNotice } from '../intake/notice.ts'
import { type AlertReading, decideAlerts, DEFAULT_ALERT_SETTINGS } from '../mail/alert.ts'
import { newId } from '../mail/ids.ts'
import type { Storage } from '../storage/storage.ts'
import { dutyOf, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { alertNotice } from './mail.ts'
import { type MeasureDeps, readAround, readOld, readTeam } from './measure.ts'
import { serverReadings, type TeamFacts, teamReadings } from './readings.ts'

export interface AlertDeps extends MeasureDeps {
  storage: MeasureDeps['storage'] &
    Pick<
      Storage,
      | 'listTeams'
      | 'firstTeam'
      | 'listMembers'
      | 'listSources'
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
  /** Address of the page with alerts; null: unknown. */
  url: string | null
  /** Default: this is the only process. */
  duties?: Duties | undefined
}

/** How often everything is measured, in milliseconds. */
const EVERY = 5 * 60_000
/** Minimum time between two emails to the owners of a team, in milliseconds. */
const MAIL_EVERY = 60 * 60_000

/** Creates the worker; it measures at its start and every five minutes. */
export function createAlerts(deps: AlertDeps): Worker {
  const { clock, log } = deps
  const onDuty = dutyOf(deps.duties, 'alerts')
  const step = async (going: () => boolean): Promise<boolean> => {
    await measure(deps, going, onDuty)
    if (going()) await sendMail(deps, going, onDuty)
    return false
  }
  const trouble = 'could not measure what alerts are about; will retry'
  return createWorker({ step, clock, log, pollMs: EVERY, trouble })
}

type OnDuty = () => Promise<boolean>

/** Measures the teams one after the other, so that mail is accepted in between, and then the server. */
async function measure(deps: AlertDeps, going: () => boolean, onDuty: OnDuty): Promise<void> {
  const { storage, clock } = deps
  const around = await readAround(deps)
  const old = await readOld(deps)
  const seen: TeamFacts[] = []
  for (const { id } of await storage.listTeams({}, clock.now())) {
    if (!going()) return
    const facts = await readTeam(deps, id, old.get(id) ?? 0)
    seen.push(facts)
    await decide(deps, { teamId: id, scope: 'team', readings: teamReadings(facts, around) }, onDuty)
  }
  const operator = await storage.firstTeam({}, clock.now())
  if (!operator || !going()) return
  const readings = serverReadings(await storage.listSources({}, clock.now()), seen, around)
  await decide(deps, { teamId: operator.id, scope: 'server', readings }, onDuty)
}

/** Opens, updates and closes the alerts of a team. Writes nothing while nothing changes. */
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

/** Sends what owners are to know, at most one email an hour to each team. */
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
      await sendNotice(alertNotice(mailing, { to: email, team: teams.get(teamId) ?? '', url }))
    // Without a domain that can send there is no email, and an old alert must not be sent once there is one.
    const ids = { opened: opened.map(({ id }) => id), closed: closed.map(({ id }) => id) }
    await storage.settleAlertMail(ids, clock.now())
  }
}
