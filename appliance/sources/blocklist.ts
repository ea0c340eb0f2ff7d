/** Checks whether blocklists list an IP or a domain (RFC 5782). */
import type { Blocklist } from '../config/config.ts'
import type { Answer, Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'
import { isInNetworks, parseNetworks, toReverseLabels } from '../wire/networks.ts'

/** A blocklist's answers about an entry and about a control entry (RFC 5782 §5). */
export interface BlocklistResponse {
  list: Blocklist
  /** The IP or domain. */
  what: string
  answer: Answer<'A'>
  /**
   * The answer about the control entry. If `what` is listed, this is 127.0.0.1 or `invalid`, which must not be listed;
   * otherwise 127.0.0.2, which must be (RFC 5782 §5). Null if no control entry was queried.
   */
  control: Answer<'A'> | null
}

const LOOPBACK = parseNetworks(['127.0.0.0/8'])

/** Queries one blocklist about an IP or domain. Never rejects. */
export async function queryBlocklist(
  resolver: Pick<Resolver, 'resolve'>,
  list: Blocklist,
  what: string,
): Promise<BlocklistResponse> {
  const { zone } = list
  const addresses = list.lists === 'addresses'
  const answer = await resolver.resolve(`${addresses ? toReverseLabels(what) : what}.${zone}`, 'A')
  const tested = answer.kind === 'found' ? (addresses ? '1.0.0.127' : 'invalid') : '2.0.0.127'
  const asks = answer.kind === 'found' || (answer.kind === 'absent' && addresses)
  const control = asks ? await resolver.resolve(`${tested}.${zone}`, 'A') : null
  return { list, what, answer, control }
}

/** Converts an answer to a finding. A list that fails the control check yields no result. */
export function evaluateListing({ list, what, answer, control }: BlocklistResponse): Finding {
  const { zone, name, delist, listed, refused, suspend } = list
  const about = { id: `blocklist:${zone}:${what}`, title: `${name}: ${what}` }
  const skipped = (found: string, advice: string | null = null): Finding => ({
    ...about,
    status: 'skipped',
    found,
    advice,
  })
  if (answer.kind === 'failed') return skipped(`${name} could not be queried: ${answer.note}.`)
  if (answer.kind === 'absent' && control !== null && control.kind !== 'found')
    return skipped(`${name} does not list its own test entry, so it cannot be queried through this resolver.`)
  if (answer.kind === 'absent')
    return { ...about, status: 'ok', found: `${name} does not list ${what}.`, advice: null }
  const refusal = answer.records.find((code) => refused[code] !== undefined)
  if (refusal !== undefined)
    return skipped(
      `${name} refuses queries from this resolver (${refusal}: ${refused[refusal]}).`,
      `Run a resolver on this machine to query ${name}.`,
    )
  const codes = answer.records
  if (!codes.every((code) => isInNetworks(code, LOOPBACK)))
    return skipped(
      `${name} appears to return ${codes.join(', ')}, which blocklists never do: something on the network path changes DNS answers.`,
      'Run a resolver on this machine.',
    )
  if (control?.kind === 'found')
    return skipped(
      `${name} lists every address, so its answers mean nothing: the list was probably shut down.`,
    )
  const meanings = codes.map((code) => listed[code] ?? listed['*'] ?? 'an unknown return code')
  return {
    ...about,
    status: suspend ? 'failed' : 'warning',
    found: `${name} lists ${what}: ${meanings.join('; ')} (${codes.join(', ')}).`,
    advice: `First find and stop the mail that caused the listing. Then request removal at ${delist}`,
  }
}

/**
 * Combines the results of several lists: one finding for each list that has the entry, one for all lists without a
 * result, and one for all lists that don't have it.
 */
export function summarizeListings(what: string, findings: readonly Finding[]): Finding[] {
  const of = (status: Finding['status']) => findings.filter((one) => one.status === status)
  const about = { id: `blocklists:${what}`, title: `Blocklists: ${what}` }
  const nameOf = ({ title }: Finding) => title.slice(0, title.lastIndexOf(': '))
  const [well, unknown] = [of('ok'), of('skipped')]
  const rest: Finding[] = []
  if (unknown.length > 0)
    rest.push({
      ...about,
      id: `${about.id}:unasked`,
      status: 'skipped',
      found: unknown.map(({ found }) => found).join(' '),
      advice: unknown.find(({ advice }) => advice !== null)?.advice ?? null,
    })
  if (well.length > 0)
    rest.push({
      ...about,
      status: 'ok',
      found: `${what} is not on ${well.map(nameOf).join(', ')}.`,
      advice: null,
    })
  return [...of('failed'), ...of('warning'), ...rest]
}
