import { toUnicodeDomains } from '../mail/idn.ts'
import { refuse } from '../mail/refusals.ts'
import { isAliased } from '../senders/aliases.ts'
import { combineReverseDns } from '../senders/reverse-dns.ts'
import type { Domain } from '../storage/storage.ts'
import { presentDkimKey } from '../api/dkim-keys.ts'
import { presentDomain, presentListedDomain } from '../api/domains.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import { Failure, type Context } from './context.ts'
import { describeDomain, describeKeys, describeRecords, describeReverseDns } from './domain-text.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'

/** `domain add`: prints the records to publish. */
export async function addDomain(
  { senders, sources, output, team }: Context,
  [name]: string[],
  { region }: { region?: string },
): Promise<void> {
  const { id: teamId } = await team()
  const domain = await senders.addDomain({ teamId, name: name!, region: region?.toLowerCase() })
  const records = await senders.expectedRecords(domain)
  const [keys, ways] = [await senders.dkimKeys(domain), await sources.waysOut()]
  output.object(presentDomain(domain, records, keys, ways, senders.delegationZone()))
  output.text(
    `Added ${domain.name}. Publish these records with its DNS provider, then run:`,
    `posthaste domain verify ${domain.name}`,
    '',
    ...describeRecords(records.filter(({ served }) => !served)),
  )
}

/** Runs `domain list`. */
export async function listDomains({ senders, sources, output, team }: Context): Promise<void> {
  const domains = await senders.listDomains({ teamId: (await team()).id })
  const ways = await sources.waysOut()
  output.object(presentList(domains.map((domain) => presentListedDomain(domain, ways))))
  const rows = domains.map(({ name, status, checkedAt }) => [
    status,
    formatInstant(checkedAt),
    bothForms(name),
  ])
  output.text(
    ...(rows.length === 0
      ? ['No domains. Add one: posthaste domain add example.com']
      : formatTable(['STATUS', 'LAST CHECKED', 'NAME'], rows)),
  )
}

/** Formats an internationalized name in Unicode, with its A-labels. */
function bothForms(name: string): string {
  const shown = toUnicodeDomains(name)
  return shown === name ? name : `${shown} (${name})`
}

/** `domain show`: prints each record with its expected and found values. */
export async function showDomain(context: Context, name: string): Promise<void> {
  await print(context, await findDomainByName(context, name))
}

/** `domain verify`: checks the records; exit code 1 until the domain is verified. */
export async function verifyDomain(context: Context, name: string): Promise<void> {
  const { id, teamId } = await findDomainByName(context, name)
  const domain = await context.senders.verifyDomain({ teamId, id })
  await print(context, domain)
  const required = (await context.senders.expectedRecords(domain)).filter((record) => record.required)
  const statuses = required.map((record) => domain.checks.find(({ key }) => key === record.key)?.status)
  const bad = statuses.filter((status) => status !== 'verified').length
  if (domain.status === 'verified' && bad === 0) return
  throw new Failure(verdictOf(domain, bad, statuses.includes('temporary_failure')))
}

function verdictOf({ name, status, suspect, nextCheckAt }: Domain, bad: number, unclear: boolean): string {
  const records = `${bad} of its records ${bad === 1 ? 'is' : 'are'}`
  if (suspect !== null)
    return `${name} stays ${status} for now: ${records} missing or wrong, which the next check has to confirm (${formatInstant(nextCheckAt)} UTC).`
  if (status === 'verified')
    return `${name} stays verified, but the DNS lookup failed for ${bad} of its records.`
  if (status === 'partially_failed')
    return `${name} is partially verified: ${records} missing or wrong. Posthaste sends mail, but may not receive bounces.`
  const why = unclear ? 'missing, wrong or could not be looked up' : 'missing or wrong'
  return `${name} is not verified: ${records} ${why}.`
}

/** `domain rotate`: creates new DKIM keys and prints the records to publish. */
export async function rotateDomain(context: Context, name: string): Promise<void> {
  const { senders, output } = context
  const domain = await findDomainByName(context, name)
  const { id, teamId } = domain
  const keys = await senders.rotateKeys({ teamId, id })
  const dkim_keys = keys.map((key) => presentDkimKey(domain, key))
  output.object({ object: 'dkim_rotation', domain_id: id, dkim_keys })
  const selectors = new Set(keys.map(({ selector }) => `${selector}._domainkey.${domain.name}`))
  const records = await senders.expectedRecords(domain)
  if (keys.every(isAliased)) {
    output.text(
      ...wrapParagraph(
        `Created new keys for ${domain.name}. The DNS server of Posthaste publishes them, and they sign after an hour.`,
      ),
    )
    return
  }
  output.text(
    ...wrapParagraph(
      `Created new keys for ${domain.name}. Publish these records in addition to the old ones. The record of the Ed25519 key is optional:`,
    ),
    '',
    ...describeRecords(records.filter(({ fqdn }) => selectors.has(fqdn))),
    '',
    ...wrapParagraph(
      'The daemon signs with each key once it finds its record in DNS. Keep the old records until "posthaste domain show" says that they can be removed, a week after the rotation.',
    ),
  )
}

/** `domain remove`: stops sending from the domain and deletes its DKIM keys. */
export async function removeDomain(context: Context, name: string): Promise<void> {
  const { id, teamId, name: exact } = await findDomainByName(context, name)
  await context.senders.removeDomain({ teamId, id })
  context.output.object(presentDeleted('domain', id))
  context.output.text(`Removed ${exact}. Its DNS records are no longer needed.`)
}

/** Finds the team's domain with that name. @throws Refusal if there is none */
export async function findDomainByName({ senders, team }: Context, name: string): Promise<Domain> {
  const domain = await senders.findDomain({ teamId: (await team()).id, name })
  if (!domain) throw refuse('not_found', { resource: `Domain ${name}` })
  return domain
}

async function print({ senders, sources, output }: Context, domain: Domain): Promise<void> {
  const records = await senders.expectedRecords(domain)
  const keys = await senders.dkimKeys(domain)
  const ways = await sources.waysOut()
  output.object(presentDomain(domain, records, keys, ways, senders.delegationZone()))
  const told = [...describeDomain(domain, records), ...describeReverseDns(combineReverseDns(domain, ways))]
  output.text(...told, ...describeKeys(keys))
}
