import type { Component } from 'svelte'
import Ban from '@lucide/svelte/icons/ban'
import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import Check from '@lucide/svelte/icons/check'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Clock from '@lucide/svelte/icons/clock'
import CornerUpLeft from '@lucide/svelte/icons/corner-up-left'
import Eye from '@lucide/svelte/icons/eye'
import Flag from '@lucide/svelte/icons/flag'
import HourglassIcon from '@lucide/svelte/icons/hourglass'
import Hand from '@lucide/svelte/icons/hand'
import Inbox from '@lucide/svelte/icons/inbox'
import Layers from '@lucide/svelte/icons/layers'
import Lightbulb from '@lucide/svelte/icons/lightbulb'
import MousePointerClick from '@lucide/svelte/icons/mouse-pointer-click'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import ShieldOff from '@lucide/svelte/icons/shield-off'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import X from '@lucide/svelte/icons/x'
import type { DkimKey } from '../../../appliance/api/dkim-keys.ts'
import type { Domain, DomainRecord, ListedDomain } from '../../../appliance/api/domains.ts'
import type { DoctorReport } from '../../../appliance/api/doctor.ts'
import type { Insights } from '../../../appliance/api/insights.ts'
import type { Propagation } from '../../../appliance/api/propagation.ts'
import type { Suppression } from '../../../appliance/api/suppressions.ts'
import type { EmailEvent } from '../../../appliance/api/timeline.ts'

/** The tone of a status. Each status has one label, color and icon everywhere; color is never the only difference. */

export type Tone = 'slate' | 'blue' | 'green' | 'amber' | 'red' | 'magenta' | 'violet'

export interface StatusBadge {
  word: string
  tone: Tone
  icon: Component<{ size?: number }>
}

const look = (word: string, tone: Tone, icon: StatusBadge['icon']): StatusBadge => ({ word, tone, icon })

export const STATUS_BADGES = {
  queued: look('queued', 'slate', Layers),
  scheduled: look('scheduled', 'slate', CalendarClock),
  sent: look('sent', 'blue', Send),
  delivered: look('delivered', 'green', Check),
  delayed: look('delayed', 'amber', Clock),
  held: look('held', 'amber', Pause),
  bounced: look('bounced', 'red', CornerUpLeft),
  failed: look('failed', 'red', TriangleAlert),
  expired: look('expired', 'red', HourglassIcon),
  complained: look('complained', 'magenta', Flag),
  suppressed: look('suppressed', 'slate', ShieldOff),
  opened: look('opened', 'violet', Eye),
  clicked: look('clicked', 'violet', MousePointerClick),
  canceled: look('canceled', 'slate', Ban),
} as const satisfies Record<string, StatusBadge>
export type Status = keyof typeof STATUS_BADGES

export function getEventStatus(type: EmailEvent['type']): Status {
  const word = type.slice('email.'.length)
  return word === 'delivery_delayed' ? 'delayed' : (word as Status)
}

const ACCEPTED = look('accepted', 'slate', Inbox)
const WAITED = look('waited', 'slate', HourglassIcon)

/** Returns the look of a timeline entry. @param now the delivery's state, for an attempt without an event */
export function getTimelineBadge(
  kind: EmailEvent['type'] | 'attempt' | 'accepted' | 'wait',
  now: Status,
): StatusBadge {
  if (kind === 'accepted') return ACCEPTED
  if (kind === 'wait') return WAITED
  return STATUS_BADGES[kind === 'attempt' ? now : getEventStatus(kind)]
}

/** Returns the look of a webhook event; undefined if its type isn't an email status. */
export function getEventBadge(type: string): StatusBadge | undefined {
  if (!type.startsWith('email.')) return undefined
  const word = getEventStatus(type as EmailEvent['type'])
  return Object.hasOwn(STATUS_BADGES, word) ? STATUS_BADGES[word] : undefined
}

export const DOMAIN_BADGES: Record<Domain['status'], StatusBadge> = {
  not_started: look('not checked', 'slate', CircleDashed),
  pending: look('pending', 'blue', Clock),
  verified: look('verified', 'green', Check),
  failed: look('failed', 'red', X),
  partially_verified: look('partly verified', 'amber', TriangleAlert),
  partially_failed: look('partly failed', 'red', TriangleAlert),
}

export const RECORD_BADGES: Record<DomainRecord['status'], StatusBadge> = {
  not_started: look('not checked', 'slate', CircleDashed),
  pending: look('not found yet', 'blue', Clock),
  verified: look('verified', 'green', Check),
  failed: look('failed', 'red', X),
  temporary_failure: look('no answer', 'amber', TriangleAlert),
}

/** Labels of results in DMARC reports. */
export const REPORT_BADGES: Record<'ok' | 'warning' | 'failed', StatusBadge> = {
  ok: look('passes', 'green', Check),
  warning: look('not set up', 'amber', TriangleAlert),
  failed: look('fails', 'red', X),
}

/** Returns the look of a record type. A missing optional record isn't a problem. */
export function getRecordBadge({ name, status }: ListedDomain['lights'][number]): StatusBadge {
  if (status === 'verified') return look('in place', 'green', Check)
  if (status === 'failed') return look('wrong', 'red', X)
  if (status === 'warning') return look('warning', 'amber', TriangleAlert)
  if (status !== 'pending') return RECORD_BADGES[status]
  return name === 'SPF' || name === 'DKIM'
    ? look('missing', 'amber', TriangleAlert)
    : look('not found', 'slate', CircleDashed)
}

/** Labels of how many name servers have a record. */
export const PROPAGATION_BADGES: Record<Propagation['records'][number]['status'], StatusBadge> = {
  ...RECORD_BADGES,
  partial: look('propagating', 'amber', HourglassIcon),
}

/** Results of the checks of an email. */
export const INSIGHT_BADGES: Record<Insights['insights'][number]['verdict'], StatusBadge> = {
  block: look('must be fixed', 'red', X),
  attention: look('look at it', 'amber', TriangleAlert),
  advice: look('could be better', 'blue', Lightbulb),
  pass: look('fine', 'green', Check),
}

/** Labels of check results. */
export const FINDING_BADGES: Record<DoctorReport['checks'][number]['status'], StatusBadge> = {
  failed: look('failed', 'red', X),
  warning: look('warning', 'amber', TriangleAlert),
  skipped: look('skipped', 'slate', CircleDashed),
  ok: look('ok', 'green', Check),
}

/** Labels of the states of a DKIM key. */
export const DKIM_BADGES: Record<DkimKey['state'], StatusBadge> = {
  pending: look('waiting for record', 'blue', Clock),
  active: look('signing', 'green', Check),
  retiring: look('retiring', 'amber', HourglassIcon),
  retired: look('retired', 'slate', Ban),
}

/** Labels of suppression reasons. */
export const ORIGIN_BADGES: Record<Suppression['origin'], StatusBadge> = {
  bounce: look('bounced', 'red', CornerUpLeft),
  complaint: look('complained', 'magenta', Flag),
  manual: look('manual', 'slate', Hand),
}

/** Returns the look of an HTTP status (RFC 9110 §15), with the number as the label. */
export function getHttpBadge(status: number): StatusBadge {
  if (status >= 500) return look(String(status), 'red', X)
  if (status >= 400) return look(String(status), 'amber', TriangleAlert)
  return look(String(status), 'green', Check)
}

/** The look of mail that the spam filter marked as spam. */
export const SPAM_BADGE: StatusBadge = look('spam', 'amber', TriangleAlert)

/** Returns the look of an authentication result, `dkim=pass` and others (RFC 8601 §2.7). */
export function getAuthResultBadge(verdict: string): StatusBadge {
  if (verdict === 'pass') return look('pass', 'green', Check)
  if (['fail', 'permerror', 'policy'].includes(verdict)) return look(verdict, 'red', X)
  if (['softfail', 'temperror'].includes(verdict)) return look(verdict, 'amber', TriangleAlert)
  return look(verdict || 'none', 'slate', CircleDashed)
}
