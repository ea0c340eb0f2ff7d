/** Texts and links of alerts. Pure. */
import Check from '@lucide/svelte/icons/check'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import type { Alert } from '../../../appliance/api/alerts.ts'
import type { StatusBadge } from './status.ts'

/** Values and labels of the status filter. */
export const ALERT_CHOICES = [
  ['open', 'Open'],
  ['closed', 'Closed'],
] as const

/** The kinds of alerts, with the labels used in the settings. */
export const ALERT_KIND_CHOICES: readonly { value: Alert['kind']; words: string; hint: string }[] = [
  { value: 'bounces', words: 'Bounces', hint: 'Many emails from a domain bounce.' },
  {
    value: 'complaints',
    words: 'Spam complaints',
    hint: 'Many readers report emails from a domain as spam.',
  },
  { value: 'deferrals', words: 'Deferrals', hint: 'A mailbox provider defers most mail.' },
  { value: 'bulk', words: 'Bulk mail', hint: 'A domain will soon have to meet the rules for bulk senders.' },
  { value: 'dns', words: 'DNS records', hint: 'A record of a verified domain is missing or invalid.' },
  { value: 'dmarc', words: 'DMARC reports', hint: 'Messages in reports fail DMARC.' },
  { value: 'tls', words: 'TLS reports', hint: 'Connections to your mail server fail.' },
  { value: 'queue', words: 'Queue', hint: 'Deliveries wait for more than 4 hours.' },
  { value: 'blocklist', words: 'Blocklists', hint: 'A sending IP is on a blocklist.' },
  { value: 'region', words: 'Regions', hint: 'All nodes of a region are stopped or lost.' },
]

/** Returns the status of an alert. */
export const getAlertBadge = ({ status }: Pick<Alert, 'status'>): StatusBadge =>
  status === 'open'
    ? { word: 'open', tone: 'amber', icon: TriangleAlert }
    : { word: 'closed', tone: 'slate', icon: Check }

/** The tabs of a domain's page that explain an alert. */
const DOMAIN_TABS: Partial<Record<Alert['kind'], string>> = {
  bounces: '?tab=reputation',
  complaints: '?tab=reputation',
  bulk: '?tab=reputation',
  dmarc: '?tab=reports',
  tls: '?tab=reports',
}

/** Returns the path of the page that explains an alert. */
export function getAlertPath({ kind, subject }: Pick<Alert, 'kind' | 'subject'>): string {
  switch (subject.type) {
    case 'domain':
      return `/domains/${encodeURIComponent(subject.id)}${DOMAIN_TABS[kind] ?? ''}`
    case 'ip':
      return `/sources/${encodeURIComponent(subject.id)}`
    case 'provider':
    case 'queue':
      return '/queue'
    case 'region':
      return '/settings/nodes'
    case 'mail':
      return '/metrics'
  }
}

/**
 * Formats a count for the navigation.
 * @param more whether there are more alerts than `count`
 */
export const formatAlertCount = (count: number, more: boolean): string => `${count}${more ? '+' : ''}`
