import { type Alert, ALERT_LEVELS, BOUNCE_LIMIT } from '../../appliance/mail/alert.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { TestAppliance } from './appliance.ts'

const HOUR = 3_600_000

/** Stores an open and a closed alert about a domain. Returns the titles that the dashboard shows for them. */
export async function seedAlerts(
  { appliance: { storage } }: TestAppliance,
  domain: { id: string; name: string },
  now: number,
): Promise<{ open: string; closed: string }> {
  const team = await storage.firstTeam({}, now)
  const about = {
    teamId: team!.id,
    scope: 'team' as const,
    subject: { type: 'domain' as const, ...domain },
    calmSince: null,
    closedAt: null,
    muted: false,
  }
  const dns: Alert = {
    ...about,
    id: newId(now - 9 * HOUR),
    kind: 'dns',
    note: 'Records with problems: SPF (missing).',
    value: 1,
    limit: null,
    openedAt: now - 9 * HOUR,
  }
  const bounces: Alert = {
    ...about,
    id: newId(now),
    kind: 'bounces',
    note: '3.4% of 1,240 emails in the last 24 hours bounced permanently. The limit is 4%.',
    value: BOUNCE_LIMIT * ALERT_LEVELS.bounces.opens,
    limit: BOUNCE_LIMIT,
    openedAt: now,
  }
  for (const alert of [dns, bounces]) await storage.openAlert({ alert, email: false }, now)
  await storage.closeAlert({ id: dns.id }, now - HOUR)
  return { open: `Bounces of ${domain.name}`, closed: `DNS records of ${domain.name}` }
}
