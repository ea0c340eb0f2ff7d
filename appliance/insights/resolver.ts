/** Checks whether the resolver responds, caches and validates DNSSEC. */
import type { DoctorTargets } from '../config/config.ts'
import type { Answer, Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'

/** The resolver's response to each query; times in milliseconds. */
export interface ResolverFacts {
  names: DoctorTargets['resolver']
  first: { answer: Answer<'A'>; ms: number }
  second: { answer: Answer<'A'>; ms: number }
  signed: Answer<'A'>
  broken: Answer<'A'>
}

/** Pause between two queries in milliseconds. Longer than a second, because TTLs are in whole seconds. */
const PAUSE = 1100

/**
 * Sends all queries, bypassing our own cache. Never rejects.
 *
 * @param fresh creates a resolver with an empty cache
 */
export async function queryResolver(
  fresh: () => Resolver,
  names: DoctorTargets['resolver'],
  pauseMs: number = PAUSE,
): Promise<ResolverFacts> {
  const ask = async (name: string): Promise<{ answer: Answer<'A'>; ms: number }> => {
    const resolver = fresh()
    const begun = performance.now()
    const answer = await resolver.resolve(name, 'A')
    resolver.close()
    return { answer, ms: performance.now() - begun }
  }
  const twice = async () => {
    const first = await ask(names.cached)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    return { first, second: await ask(names.cached) }
  }
  const [both, signed, broken] = await Promise.all([twice(), ask(names.signed), ask(names.broken)])
  return { names, ...both, signed: signed.answer, broken: broken.answer }
}

const OWN = 'Run a caching, validating resolver on this machine, such as unbound, and set dns.servers to it.'

/** Checks whether the resolver responded. */
export function evaluateResponses({ first, second, signed }: ResolverFacts): Finding {
  const about = { id: 'resolver:answers', title: 'Resolver' }
  const answers = [first.answer, second.answer, signed]
  if (answers.some(({ kind }) => kind === 'found'))
    return { ...about, status: 'ok', found: 'The resolver responds.', advice: null }
  const failed = answers.find((answer) => answer.kind === 'failed')
  return {
    ...about,
    status: 'failed',
    found:
      failed?.kind === 'failed'
        ? `The resolver does not respond: ${failed.note}.`
        : 'The resolver says that well-known names do not exist.',
    advice: `Without DNS, no mail can be delivered. Correct dns.servers or /etc/resolv.conf. ${OWN}`,
  }
}

/** Checks whether the second response came from a cache. */
export function evaluateCaching({ names, first, second }: ResolverFacts): Finding {
  const about = { id: 'resolver:caching', title: 'Resolver cache' }
  if (first.answer.kind !== 'found' || second.answer.kind !== 'found')
    return { ...about, status: 'skipped', found: `${names.cached} was not found.`, advice: null }
  const fell = second.answer.ttl < first.answer.ttl
  // A cached response takes at most a third of the time, if the first response was slow enough to compare.
  const faster = first.ms > 20 && second.ms * 3 < first.ms
  if (fell || faster)
    return {
      ...about,
      status: 'ok',
      found: fell
        ? `The resolver caches answers: the TTL of ${names.cached} fell from ${first.answer.ttl} to ${second.answer.ttl} seconds.`
        : `The resolver caches answers: ${Math.round(first.ms)} ms for the first query, ${Math.round(second.ms)} ms for the second.`,
      advice: null,
    }
  return {
    ...about,
    status: 'warning',
    found: `The resolver does not seem to cache answers: the TTL of ${names.cached} stayed at ${second.answer.ttl} seconds.`,
    advice: OWN,
  }
}

/** Checks whether the resolver rejects forged responses, and what that means for DANE (RFC 7672 §1.3, §2.2). */
export function evaluateValidation({ names, signed, broken }: ResolverFacts, trustAd: boolean): Finding {
  const about = { id: 'resolver:dnssec', title: 'DNSSEC' }
  if (signed.kind !== 'found' || (broken.kind === 'failed' && !broken.note.includes('SERVFAIL')))
    return {
      ...about,
      status: 'skipped',
      found: `Cannot tell whether the resolver validates DNSSEC: the lookup of ${signed.kind === 'found' ? names.broken : names.signed} was inconclusive.`,
      advice: null,
    }
  const refuses = broken.kind === 'failed'
  if (refuses && signed.authentic)
    return {
      ...about,
      status: 'ok',
      found: trustAd
        ? 'The resolver validates DNSSEC and dns.trust_ad is on, so DANE is used.'
        : 'The resolver validates DNSSEC, but dns.trust_ad is off, so DANE is not used.',
      advice: trustAd
        ? null
        : 'If the resolver runs on this machine, set dns.trust_ad = true to use DANE. Otherwise its answers could be forged on the network.',
    }
  const how = refuses
    ? `The resolver rejects ${names.broken}, but does not mark ${names.signed} as authentic (AD flag)`
    : `The resolver does not validate DNSSEC: it resolves ${names.broken}, whose signatures are broken`
  if (trustAd && !refuses)
    return {
      ...about,
      status: 'failed',
      found: `${how}. But dns.trust_ad is on, so Posthaste trusts forged records.`,
      advice: `Set dns.trust_ad = false, or: ${OWN}`,
    }
  return { ...about, status: 'warning', found: `${how}. DANE cannot be used.`, advice: OWN }
}
