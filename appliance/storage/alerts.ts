/** Open and closed alerts, and the notification settings of teams. */
import type { Selectable } from 'kysely'
import {
  type Alert,
  type AlertKind,
  type AlertScope,
  type AlertSettings,
  type AlertStatus,
  ALERT_KINDS,
  DEFAULT_ALERT_SETTINGS,
} from '../mail/alert.ts'
import { recordOtherEvents } from './events.ts'
import { type Page, type PageArgs, readPage } from './lists.ts'
import type { AlertsTable, Db } from './schema.ts'

interface AlertRef {
  teamId: string
  id: string
}

/** Selects the alerts to list. Undefined fields match all alerts. */
interface AlertFilter {
  status?: AlertStatus | undefined
  kind?: AlertKind | undefined
}

/** The alerts that the owners of a team still have to get an email about. */
export interface PendingAlertEmail {
  teamId: string
  opened: Alert[]
  closed: Alert[]
}

const MILLION = 1_000_000

const toAlert = (row: Selectable<AlertsTable>): Alert => ({
  id: row.id,
  teamId: row.team_id,
  scope: row.scope,
  kind: row.kind,
  subject: { type: row.subject_type, id: row.subject_id, name: row.subject_name },
  note: row.note,
  value: Number(row.value) / MILLION,
  limit: row.value_limit === null ? null : Number(row.value_limit) / MILLION,
  openedAt: row.opened_at,
  calmSince: row.calm_since,
  closedAt: row.closed_at,
  muted: row.muted === 1,
})

const millionths = (value: number): number => Math.round(value * MILLION)

/** Lists the alerts of a team, newest first. */
async function listAlerts(db: Db, args: PageArgs & AlertFilter): Promise<Page<Alert>> {
  const { teamId, status, kind } = args
  let query = db.selectFrom('alerts').selectAll().where('team_id', '=', teamId)
  if (status === 'open') query = query.where('closed_at', 'is', null)
  if (status === 'closed') query = query.where('closed_at', 'is not', null)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  return readPage(query, args, toAlert)
}

async function getAlert(db: Db, { teamId, id }: AlertRef): Promise<Alert | undefined> {
  const found = db.selectFrom('alerts').selectAll().where('team_id', '=', teamId).where('id', '=', id)
  const row = await found.executeTakeFirst()
  return row && toAlert(row)
}

/** Lists all open alerts of a team. */
async function openAlerts(db: Db, { teamId }: { teamId: string }): Promise<Alert[]> {
  const found = db
    .selectFrom('alerts')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('closed_at', 'is', null)
    .orderBy('id')
  return (await found.execute()).map(toAlert)
}

/** Counts the open alerts of all teams. */
async function countOpenAlerts(db: Db): Promise<{ kind: AlertKind; scope: AlertScope; count: number }[]> {
  const rows = await db
    .selectFrom('alerts')
    .select(['kind', 'scope'])
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('closed_at', 'is', null)
    .groupBy(['kind', 'scope'])
    .execute()
  return rows.map(({ count, ...row }) => ({ ...row, count: Number(count) }))
}

/**
 * Opens an alert, and records its event unless it is muted. Does nothing if an alert about the same subject is open.
 * Returns whether it was opened.
 */
async function openAlert(
  db: Db,
  { alert, email }: { alert: Alert; email: boolean },
  now: number,
): Promise<boolean> {
  const { id, teamId, scope, kind, subject, note, value, limit, openedAt, muted } = alert
  const inserted = await db
    .insertInto('alerts')
    .values({
      id,
      team_id: teamId,
      scope,
      kind,
      subject_type: subject.type,
      subject_id: subject.id,
      subject_name: subject.name,
      note,
      value: millionths(value),
      value_limit: limit === null ? null : millionths(limit),
      opened_at: openedAt,
      calm_since: null,
      closed_at: null,
      muted: muted ? 1 : 0,
      mail_opened: email && !muted ? 'due' : 'off',
      mail_closed: 'off',
      mailed_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!inserted) return false
  if (!muted) recordOtherEvents(db, [{ teamId, type: 'alert.opened', data: { alert } }], now)
  return true
}

/** Stores the latest finding about an open alert: its value and note, and when it calmed down. */
async function noteAlert(
  db: Db,
  { id, value, note, calmSince }: { id: string; value: number; note: string; calmSince: number | null },
): Promise<void> {
  await db
    .updateTable('alerts')
    .set({ value: millionths(value), note, calm_since: calmSince })
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .execute()
}

/** Closes an open alert, and records its event unless it is muted. Returns whether it was closed. */
async function closeAlert(db: Db, { id }: { id: string }, now: number): Promise<boolean> {
  const row = await db
    .updateTable('alerts')
    .set((set) => ({
      closed_at: now,
      mail_closed: set
        .case()
        .when('mail_opened', '=', 'off')
        .then('off' as const)
        .else('due' as const)
        .end(),
    }))
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!row) return false
  const alert = toAlert(row)
  if (!alert.muted)
    recordOtherEvents(db, [{ teamId: alert.teamId, type: 'alert.closed', data: { alert } }], now)
  return true
}

/** Maximum number of alerts in one email. Further alerts go into the next email. */
const MOST_MAILED = 50

/** Returns the alerts of one team whose owners still have to get an email, and got the last one before `before`. */
async function dueAlertMail(db: Db, { before }: { before: number }): Promise<PendingAlertEmail | undefined> {
  const due = db
    .selectFrom('alerts')
    .where((where) => where.or([where('mail_opened', '=', 'due'), where('mail_closed', '=', 'due')]))
  const team = await due
    .select('team_id')
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('alerts as recent')
            .select('recent.id')
            .whereRef('recent.team_id', '=', 'alerts.team_id')
            .where('recent.mailed_at', '>', before),
        ),
      ),
    )
    .orderBy('team_id')
    .limit(1)
    .executeTakeFirst()
  if (!team) return undefined
  const rows = await due
    .selectAll()
    .where('team_id', '=', team.team_id)
    .orderBy('id')
    .limit(MOST_MAILED)
    .execute()
  const those = (column: 'mail_opened' | 'mail_closed') =>
    rows.filter((row) => row[column] === 'due').map(toAlert)
  return { teamId: team.team_id, opened: those('mail_opened'), closed: those('mail_closed') }
}

/** Marks alerts as mailed. Notifications that became due in the meantime stay due. */
async function settleAlertMail(
  db: Db,
  { opened, closed }: { opened: readonly string[]; closed: readonly string[] },
  now: number,
): Promise<void> {
  const done = { mailed_at: now }
  if (opened.length > 0)
    await db
      .updateTable('alerts')
      .set({ ...done, mail_opened: 'done' })
      .where('id', 'in', opened)
      .execute()
  if (closed.length > 0)
    await db
      .updateTable('alerts')
      .set({ ...done, mail_closed: 'done' })
      .where('id', 'in', closed)
      .execute()
}

async function alertSettings(db: Db, { teamId }: { teamId: string }): Promise<AlertSettings> {
  const found = db.selectFrom('alert_settings').select(['email', 'muted']).where('team_id', '=', teamId)
  const row = await found.executeTakeFirst()
  if (!row) return DEFAULT_ALERT_SETTINGS
  const muted = row.muted.split(' ')
  return { email: row.email === 1, muted: ALERT_KINDS.filter((kind) => muted.includes(kind)) }
}

/** Sets which alerts a team is notified of. Applies to alerts that open from now on. */
async function setAlertSettings(
  db: Db,
  { teamId, settings: { email, muted } }: { teamId: string; settings: AlertSettings },
): Promise<void> {
  const changing = { email: email ? 1 : 0, muted: muted.join(' ') }
  await db
    .insertInto('alert_settings')
    .values({ team_id: teamId, ...changing })
    .onConflict((conflict) => conflict.column('team_id').doUpdateSet(changing))
    .execute()
}

/** Removes at most `most` alerts that closed before `before`. Returns their number. */
async function purgeAlerts(db: Db, { before, most }: { before: number; most: number }): Promise<number> {
  const old = db.selectFrom('alerts').select('id').where('closed_at', '<', before).limit(most)
  const { numDeletedRows } = await db.deleteFrom('alerts').where('id', 'in', old).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export const methods = {
  reads: { listAlerts, getAlert, openAlerts, countOpenAlerts, dueAlertMail, alertSettings },
  writes: { openAlert, noteAlert, closeAlert, settleAlertMail, setAlertSettings, purgeAlerts },
}
