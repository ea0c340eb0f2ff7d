/** Alerts about problems with a team's mail, and the team's notification settings. */
import { Type, type Static } from 'typebox'
import {
  type Alert as StoredAlert,
  ALERT_FIXES,
  ALERT_KINDS,
  ALERT_SCOPES,
  ALERT_STATUSES,
  ALERT_SUBJECTS,
  type AlertSettings as StoredSettings,
  alertTitle,
} from '../mail/alert.ts'
import { operationsIn } from './operation.ts'
import { byId, choice, page, query } from './parameters.ts'
import { array, boolean, kind, literals, Nullable, number, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const alertKind = literals(
  ALERT_KINDS,
  'bounces, complaints, deferrals: too many · bulk: a domain soon counts as a bulk sender, and breaks its rules · dns: a record is missing or invalid · dmarc, tls: failures in reports · queue: old deliveries · blocklist: a sending IP is listed.',
)

/** GET /alerts/:id. Not part of the hosted API. */
export const Alert = object('An alert.', {
  object: kind('alert'),
  id: Id,
  kind: alertKind,
  scope: literals(
    ALERT_SCOPES,
    'team: about the team’s mail. server: about all mail, only for the team that runs the server.',
  ),
  subject: object('What it is about.', {
    type: literals(ALERT_SUBJECTS, 'What kind of thing it is about.'),
    id: string('Id of the domain or mailbox provider, or the IP; empty otherwise.'),
    name: string('Its name.'),
  }),
  status: literals(ALERT_STATUSES, 'Whether it is open.'),
  title: string('What is wrong.', { examples: ['Bounces of example.com'] }),
  note: string('What was found last, in English. The wording may change.'),
  fix: string('What to do about it.'),
  value: number('The last value: a share from 0 to 1, or a number.'),
  limit: Nullable(Type.Number(), 'What receivers accept at most; null: no such number exists.'),
  muted: boolean('Whether the team wasn’t notified, because it had muted the kind.'),
  opened_at: Timestamp,
  closed_at: Nullable(Timestamp, 'Null while it is open.'),
})
export type Alert = Static<typeof Alert>
export const AlertList = listOf(Alert, 'alerts')

const email = boolean('Whether the team’s owners get emails about alerts.')
const muted = array(alertKind, 'Kinds that the team is not notified about, by email or webhook.')

/** GET and PUT /alert-settings. Not part of the hosted API. */
export const AlertSettings = object('Which alerts a team is notified about.', {
  object: kind('alert_settings'),
  email,
  muted,
})
export type AlertSettings = Static<typeof AlertSettings>

export const UpdateAlertSettings = object('Which alerts the team is notified about.', { email, muted })

const operation = operationsIn('Alerts')

export const listAlerts = operation('GET /alerts', {
  summary: 'List alerts',
  description: 'Open and past alerts. Past ones are kept for 90 days. Not part of the hosted API.',
  querystring: query({
    ...page,
    status: choice(ALERT_STATUSES, 'Only open or only closed alerts.'),
    kind: choice(ALERT_KINDS, 'Only alerts of this kind.'),
  }),
  response: { 200: AlertList },
})

export const getAlert = operation('GET /alerts/:id', {
  summary: 'Get an alert',
  description: 'Not part of the hosted API.',
  params: byId,
  response: { 200: Alert },
})

export const getAlertSettings = operation('GET /alert-settings', {
  summary: 'Get the alert settings',
  description: 'Not part of the hosted API.',
  response: { 200: AlertSettings },
})

export const setAlertSettings = operation('PUT /alert-settings', {
  summary: 'Set the alert settings',
  description: 'Applies to alerts that open from now on. Not part of the hosted API.',
  body: UpdateAlertSettings,
  response: { 200: AlertSettings },
  errors: ['403'],
})

/** Formats an alert. */
export function presentAlert(alert: StoredAlert): Alert {
  const { id, kind: of, scope, subject, note, value, limit, muted: silent, openedAt, closedAt } = alert
  return {
    object: 'alert',
    id,
    kind: of,
    scope,
    subject,
    status: closedAt === null ? 'open' : 'closed',
    title: alertTitle(alert),
    note,
    fix: ALERT_FIXES[of],
    value,
    limit,
    muted: silent,
    opened_at: timestamp(openedAt),
    closed_at: timestampOrNull(closedAt),
  }
}

/** Formats the settings. */
export const presentAlertSettings = (settings: StoredSettings): AlertSettings => ({
  object: 'alert_settings',
  email: settings.email,
  muted: settings.muted,
})
