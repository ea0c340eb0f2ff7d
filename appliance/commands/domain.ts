import { refuse } from '../mail/refusals.ts'
import type { Domain } from '../storage/storage.ts'
import { presentDomain, presentDomainSummary, presentList } from '../wireformat/wireformat.ts'
import { Failure, type Context } from './context.ts'
import { describeDomain, describeRecords } from './domain-text.ts'
import { instant, table } from './output.ts'

/** `domain add`: prints the records to publish. */
export async function addDomain({ senders, output, team }: Context, name: string): Promise<void> {
  const { id: teamId } = await team()
  const domain = await senders.addDomain({ teamId, name })
  const records = await senders.expectedRecords(domain)
  output.object(presentDomain(domain, records))
  output.text(
    `${domain.name} was added. Publish these records where its DNS is kept, then run:`,
    `posthaste domain verify ${domain.name}`,
    '',
    ...describeRecords(records),
  )
}

/** `domain list` */
export async function listDomains({ senders, output, team }: Context): Promise<void> {
  const domains = await senders.listDomains({ teamId: (await team()).id })
  output.object(presentList(domains.map(presentDomainSummary)))
  const rows = domains.map(({ name, status, checkedAt }) => [status, instant(checkedAt), name])
  output.text(
    ...(rows.length === 0
      ? ['No domains. Add one: posthaste domain add example.com']
      : table(['STATUS', 'LAST CHECKED', 'NAME'], rows)),
  )
}

/** `domain show`: every record with what is expected and what was found. */
export async function showDomain(context: Context, name: string): Promise<void> {
  await print(context, await named(context, name))
}

/** `domain verify`: looks the records up; exit code 1 as long as the domain is not verified. */
export async function verifyDomain(context: Context, name: string): Promise<void> {
  const { id, teamId } = await named(context, name)
  const domain = await context.senders.verifyDomain({ teamId, id })
  await print(context, domain)
  const bad = domain.checks.filter(({ key, status }) => status !== 'verified' && key !== 'DMARC').length
  if (domain.status === 'verified' && bad === 0) return
  throw new Failure(
    domain.status === 'verified'
      ? `${domain.name} stays verified, but DNS gave no answer for ${bad} of its records.`
      : `${domain.name} is not verified: ${bad} of its records ${bad === 1 ? 'is' : 'are'} missing or wrong.`,
  )
}

/** `domain remove`: it can no longer be sent from, and its DKIM key is gone. */
export async function removeDomain(context: Context, name: string): Promise<void> {
  const { id, teamId, name: exact } = await named(context, name)
  await context.senders.removeDomain({ teamId, id })
  context.output.object({ object: 'domain', id, deleted: true })
  context.output.text(`${exact} is removed. Its DNS records are of no use any more.`)
}

async function named({ senders, team }: Context, name: string): Promise<Domain> {
  const domain = await senders.findDomain({ teamId: (await team()).id, name })
  if (!domain) throw refuse('not_found', { resource: `Domain ${name}` })
  return domain
}

async function print({ senders, output }: Context, domain: Domain): Promise<void> {
  const records = await senders.expectedRecords(domain)
  output.object(presentDomain(domain, records))
  output.text(...describeDomain(domain, records))
}
