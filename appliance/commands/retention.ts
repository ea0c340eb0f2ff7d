import { statfs } from 'node:fs/promises'
import { refuse } from '../mail/refusals.ts'
import { reportDiskUsage } from '../housekeeping/housekeeping.ts'
import { presentRetention, type DomainBodies } from '../api/retention.ts'
import type { Context } from './context.ts'
import { formatBytes, wrapParagraph, formatTable } from './output.ts'

/** `retention`: prints the retention periods, stored data, and days until the disk is full. */
export async function showRetention({ config, storage, clock, output, team }: Context): Promise<void> {
  const { retention, logs, webhooks, data_dir: dataDir } = config
  const budget = retention.disk_budget_mb === undefined ? null : retention.disk_budget_mb * 1_000_000
  const { bavail, bsize } = await statfs(dataDir)
  const disk = await reportDiskUsage(storage, clock, { budget, onDisk: bavail * bsize })
  const { id: teamId } = await team()
  const without = await storage.domainsWithoutBodies({ teamId }, clock.now())
  const days = {
    bodies: retention.bodies_days,
    attempts: retention.attempts_days,
    events: retention.events_days,
    emails: retention.emails_days,
    logs: logs.retention_days,
    webhooks: webhooks.retention_days,
    audit: retention.audit_days,
  }
  output.object(presentRetention(days, disk, without))
  const rows = [
    ['bodies', `${days.bodies} days`],
    ['transcripts', `${days.attempts} days`],
    ['events', `${days.events} days`],
    ['emails', `${days.emails} days`],
    ['requests', `${days.logs} days`],
    ['webhooks', `${days.webhooks} days`],
    ['audit log', days.audit === 0 ? 'forever' : `${days.audit} days`],
  ]
  output.text(
    ...formatTable(['KEPT', 'FOR'], rows),
    '',
    `Used: ${formatBytes(disk.held)}${budget === null ? '' : ` of ${formatBytes(budget)}`} (database ${formatBytes(disk.database)}, messages in files ${formatBytes(disk.files)}); ${formatBytes(disk.room)} free.`,
    disk.fullInDays === null
      ? 'Disk usage does not appear to grow.'
      : `At last week's rate, the disk is full in ${disk.fullInDays} days.`,
    ...(without.length > 0 ? [`Bodies are not kept for: ${without.join(', ')}`] : []),
  )
}

/** `domain bodies`: sets whether the bodies of a domain's emails are stored. */
export async function setBodyStorage(
  { storage, senders, clock, output, team }: Context,
  given: string[],
): Promise<void> {
  const [name = '', what = ''] = given
  const { id: teamId } = await team()
  const domain = await senders.findDomain({ teamId, name })
  if (!domain) throw refuse('not_found', { resource: `Domain ${name}` })
  const keep = what === 'keep'
  await storage.setKeepBodies({ teamId, domainId: domain.id, keep }, clock.now())
  const bodies: DomainBodies = { object: 'domain_bodies', domain_id: domain.id, keep }
  output.object(bodies)
  const sentence = keep
    ? `Bodies of emails from ${domain.name} are kept for retention.bodies_days.`
    : `Bodies of new emails from ${domain.name} are deleted when the email is final. Bodies of emails accepted earlier are kept for retention.bodies_days.`
  output.text(...wrapParagraph(sentence))
}
