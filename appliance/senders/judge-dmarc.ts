import { parseTags } from './tags.ts'
import { right, wrong, type Opinion } from './opinion.ts'

const policies = ['none', 'quarantine', 'reject']

/** Whether there is a DMARC policy that receivers will follow (RFC 9989): one record, valid, of whatever strictness. */
export function judgeDmarc(records: string[]): Opinion {
  if (records.length > 1)
    return wrong(`There are ${records.length} DMARC records, so receivers ignore all of them. Keep one.`)
  const tags = parseTags(records[0]!)
  if (!tags || [...tags.keys()][0] !== 'v' || tags.get('v') !== 'DMARC1')
    return wrong('The record must start with v=DMARC1; followed by tags in the form name=value;.')
  const policy = tags.get('p')?.toLowerCase()
  if (policy === undefined) return wrong('The record has no p= tag. Add p=none, p=quarantine or p=reject.')
  if (!policies.includes(policy))
    return wrong(`p=${policy} is not a valid policy. Use p=none, p=quarantine or p=reject.`)
  return right
}

/** Whether a policy that is sound changes nothing: `p=none`, and no address for the reports that it would be good for (RFC 9989). */
export function asksForNothing(texts: readonly string[]): boolean {
  const tags = texts.map(parseTags).find((one) => one?.get('v') === 'DMARC1')
  return tags?.get('p')?.toLowerCase() === 'none' && !tags.get('rua')
}
