/** The command that lets the server's own DNS server publish records of a domain. */
import type { Domain } from '../storage/storage.ts'
import { presentDomain } from '../api/domains.ts'
import type { Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { describeRecords } from './domain-text.ts'
import { wrapParagraph } from './output.ts'

/** `domain delegate`: changes who publishes the records, and prints those that the owner has to publish. */
export async function delegateDomain(context: Context, given: string[]): Promise<void> {
  const [name = '', what = ''] = given
  const { senders, sources, output } = context
  const { id, teamId } = await findDomainByName(context, name)
  await senders.updateDomain({ teamId, id, settings: { delegation: what as Domain['delegation'] } })
  const domain = await senders.getDomain({ teamId, id })
  const zone = senders.delegationZone()
  const records = await senders.expectedRecords(domain)
  const unpublished = records.filter(({ served }) => !served)
  const [keys, ways] = [await senders.dkimKeys(domain), await sources.waysOut()]
  output.object(presentDomain(domain, records, keys, ways, zone))
  output.text(
    ...wrapParagraph(
      what === 'none'
        ? `The owner of ${domain.name} publishes all its records. The current keys sign until the records of the new ones are found. Publish these records:`
        : `The DNS server for ${zone} publishes records of ${domain.name} and replaces the DKIM keys on schedule. Publish these records once:`,
    ),
    '',
    ...describeRecords(unpublished),
  )
}
