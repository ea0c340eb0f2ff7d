/** Alerts about problems with the mail of a team or of the server, and when they open and close. Pure. */

export const ALERT_KINDS = [
  'bounces',
  'complaints',
  'deferrals',
  'bulk',
  'dns',
  'dmarc',
  'tls',
  'queue',
  'blocklist',
  'region',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

export const ALERT_STATUSES = ['open', 'closed'] as const
export type AlertStatus = (typeof ALERT_STATUSES)[number]

/** team: about the team's own mail. server: about all mail of the server, for the team that runs it. */
export const ALERT_SCOPES = ['team', 'server'] as const
export type AlertScope = (typeof ALERT_SCOPES)[number]

export const ALERT_SUBJECTS = ['domain', 'provider', 'ip', 'queue', 'mail', 'region'] as const

/** The subject of an alert. */
export interface AlertSubject {
  type: (typeof ALERT_SUBJECTS)[number]
  /** Id of the domain or provider, the IP, or the name of the region. Empty for the queue and for all mail. */
  id: string
  /** Display name. */
  name: string
}

/** An alert. Times in Unix milliseconds. */
export interface Alert {
  id: string
  /** The team that the alert belongs to. Alerts about the server belong to the team that runs it. */
  teamId: string
  scope: AlertScope
  kind: AlertKind
  subject: AlertSubject
  /** The latest finding, as a sentence. */
  note: string
  /** The last measured value, in the unit of its kind. */
  value: number
  /** The maximum value that receivers accept, in the same unit; null if there is no such limit. */
  limit: number | null
  openedAt: number
  /** When the value fell below the closing level; null if it isn't below it. */
  calmSince: number | null
  /** When the alert closed; null while it is open. */
  closedAt: number | null
  /** Whether the team asked not to be notified of this kind when it opened. */
  muted: boolean
}

/** One measurement. */
export interface AlertReading {
  scope: AlertScope
  kind: AlertKind
  subject: AlertSubject
  /** The measured value; null if it is unknown, for example because a DNS lookup failed. */
  value: number | null
  limit: number | null
  note: string
}

/** The levels at which alerts of a kind open and close. */
export interface AlertLevel {
  /** Value at which an alert opens. If `ofLimit` is set, a share of the reading's limit. */
  opens: number
  /** An alert closes after the value was below this for `CLOSE_DELAY_MS`. */
  closes: number
  ofLimit?: true
  /** Minimum number of results; fewer are not significant. */
  least: number
}

/** The levels of all kinds. */
export type AlertLevels = Readonly<Record<AlertKind, AlertLevel>>

/**
 * The default levels. Mailbox providers publish one limit for complaints (Gmail and Yahoo: 0.3%; Gmail advises to stay
 * below 0.1%, a third of it). Hosted sending services act on bounce rates of 4% to 5%, which receivers don't publish.
 */
export const ALERT_LEVELS: AlertLevels = {
  bounces: { opens: 0.75, closes: 0.5, ofLimit: true, least: 100 },
  complaints: { opens: 1 / 3, closes: 0.2, ofLimit: true, least: 4 },
  // Greylisting defers each message once, which is a share of 0.5.
  deferrals: { opens: 0.7, closes: 0.4, least: 50 },
  // Shares of the daily number of messages that makes a bulk sender.
  bulk: { opens: 0.8, closes: 0.6, ofLimit: true, least: 1 },
  dns: { opens: 1, closes: 0.5, least: 1 },
  dmarc: { opens: 0.1, closes: 0.05, least: 100 },
  tls: { opens: 0.1, closes: 0.05, least: 20 },
  queue: { opens: 20, closes: 10, least: 1 },
  blocklist: { opens: 1, closes: 0.5, least: 1 },
  region: { opens: 1, closes: 0.5, least: 1 },
}

/** The bounce rate that alerts measure against, which the dashboard draws as a limit. */
export const BOUNCE_LIMIT = 0.04

/** How long a value must be low before its alert closes, in milliseconds. */
export const CLOSE_DELAY_MS = 30 * 60_000

/** The changes to make to alerts. */
export interface AlertDecision {
  open: AlertReading[]
  update: { alert: Alert; value: number; note: string; calmSince: number | null }[]
  close: Alert[]
}

/** Whether two alerts have the same scope, kind and subject. Only one of them may be open at a time. */
const isSame = (
  a: Pick<Alert, 'scope' | 'kind' | 'subject'>,
  b: Pick<Alert, 'scope' | 'kind' | 'subject'>,
): boolean =>
  a.scope === b.scope &&
  a.kind === b.kind &&
  a.subject.type === b.subject.type &&
  a.subject.id === b.subject.id

/** Returns the value of a level, which is a share of the limit if `ofLimit` is set. */
const at = ({ ofLimit }: AlertLevel, share: number, limit: number | null): number =>
  ofLimit ? share * (limit ?? 1) : share

/**
 * Decides what changes, with hysteresis: an alert opens at one level, and closes after half an hour below a lower one.
 * An unknown value changes nothing. A subject that is no longer measured counts as calm.
 * @param open the open alerts of the team
 * @param now Unix milliseconds
 */
export function decideAlerts(
  open: readonly Alert[],
  readings: readonly AlertReading[],
  now: number,
  levels: AlertLevels = ALERT_LEVELS,
): AlertDecision {
  const decision: AlertDecision = { open: [], update: [], close: [] }
  for (const reading of readings) {
    const level = levels[reading.kind]
    if (open.some((alert) => isSame(alert, reading))) continue
    if (reading.value !== null && reading.value >= at(level, level.opens, reading.limit))
      decision.open.push(reading)
  }
  for (const alert of open) {
    const level = levels[alert.kind]
    const found = readings.find((reading) => isSame(alert, reading))
    const { value, note, limit } = found ?? { value: 0, note: alert.note, limit: alert.limit }
    if (value === null) continue
    const calm = value < at(level, level.closes, limit)
    if (calm && alert.calmSince !== null && now - alert.calmSince >= CLOSE_DELAY_MS)
      decision.close.push(alert)
    else if (calm !== (alert.calmSince !== null) || (!calm && note !== alert.note))
      // A calm alert keeps its sentence, so that a closed alert shows why it was open.
      decision.update.push({
        alert,
        value: calm ? alert.value : value,
        note: calm ? alert.note : note,
        calmSince: calm ? now : null,
      })
  }
  return decision
}

/** How to fix the problem, by kind of alert. */
export const ALERT_FIXES: Readonly<Record<AlertKind, string>> = {
  bounces: 'Stop mailing to addresses that bounce, and find out where they came from.',
  complaints: 'Send only to people who asked for it, and make unsubscribing easy.',
  deferrals: 'Send less to this provider until it accepts mail again, and read its replies under Queue.',
  bulk: 'Fix the problems shown in the domain’s Reputation tab before its mail counts as bulk mail.',
  dns: 'Publish the record as the domain’s page shows it.',
  dmarc:
    'Find the sender in the domain’s Reports tab. If it is your own service, it needs records; anybody else is forging the domain.',
  tls: 'Find the reason in the domain’s Reports tab. It is usually the certificate of your mail server.',
  queue: 'See under Queue why the deliveries wait.',
  blocklist: 'Find out what was sent, stop it, then ask the blocklist to remove the IP.',
  region: 'Start a node of the region. See Settings > Nodes.',
}

/** Returns the title of an alert: `Bounces of example.com`. */
export function alertTitle({ kind, subject }: Pick<Alert, 'kind' | 'subject'>): string {
  const { name } = subject
  switch (kind) {
    case 'bounces':
      return `Bounces of ${name}`
    case 'complaints':
      return `Spam complaints about ${name}`
    case 'deferrals':
      return `Deferrals by ${name}`
    case 'bulk':
      return `Bulk mail of ${name}`
    case 'dns':
      return `DNS records of ${name}`
    case 'dmarc':
      return `DMARC failures of ${name}`
    case 'tls':
      return `TLS failures of ${name}`
    case 'queue':
      return 'Old mail in the queue'
    case 'blocklist':
      return `Blocklisting of ${name}`
    case 'region':
      return `Loss of the region ${name}`
  }
}

/** Which alerts a team is notified of. */
export interface AlertSettings {
  /** Whether the team's owners get emails about alerts. */
  email: boolean
  /** Kinds of alerts that the team isn't notified of, by email or webhook. */
  muted: AlertKind[]
}

/** The settings of a team that hasn't changed them. */
export const DEFAULT_ALERT_SETTINGS: AlertSettings = { email: true, muted: [] }
