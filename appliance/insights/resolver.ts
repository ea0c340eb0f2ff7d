/** Whether the resolver answers, remembers what it was told, and validates DNSSEC. */
import type { DoctorTargets } from '../config/config.ts'
import type { Answer, Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'

/** What the resolver did with each question; times in milliseconds. */
export interface ResolverFacts {
  names: DoctorTargets['resolver']
  first: { answer: Answer<'A'>; ms: number }
  second: { answer: Answer<'A'>; ms: number }
  signed: Answer<'A'>
  broken: Answer<'A'>
}

/** Between the two questions, in milliseconds: a TTL is in whole seconds. */
const PAUSE = 1100

/**
 * Asks everything. Each question goes out for itself, past our own cache. Never rejects.
 * @param fresh makes a resolver that remembers nothing yet
 */
export async function questionResolver(
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

const OWN =
  'Run a resolver on this machine that caches and validates, such as unbound, and name it in dns.servers.'

/** Whether there are answers at all. */
export function judgeAnswers({ first, second, signed }: ResolverFacts): Finding {
  const about = { id: 'resolver:answers', title: 'Resolver' }
  const answers = [first.answer, second.answer, signed]
  if (answers.some(({ kind }) => kind === 'found'))
    return { ...about, status: 'ok', found: 'The resolver answers.', advice: null }
  const failed = answers.find((answer) => answer.kind === 'failed')
  return {
    ...about,
    status: 'failed',
    found:
      failed?.kind === 'failed'
        ? `The resolver does not answer: ${failed.note}.`
        : 'The resolver says that well-known names do not exist.',
    advice: `Without DNS no mail leaves. Correct dns.servers, or /etc/resolv.conf. ${OWN}`,
  }
}

/** Whether an answer comes from memory the second time. */
export function judgeCaching({ names, first, second }: ResolverFacts): Finding {
  const about = { id: 'resolver:caching', title: 'Resolver cache' }
  if (first.answer.kind !== 'found' || second.answer.kind !== 'found')
    return { ...about, status: 'skipped', found: `${names.cached} was not found.`, advice: null }
  const fell = second.answer.ttl < first.answer.ttl
  // A second answer in a third of the time, where the first took long enough to be compared.
  const faster = first.ms > 20 && second.ms * 3 < first.ms
  if (fell || faster)
    return {
      ...about,
      status: 'ok',
      found: fell
        ? `The resolver remembers answers: the TTL of ${names.cached} fell from ${first.answer.ttl} to ${second.answer.ttl} seconds.`
        : `The resolver remembers answers: ${Math.round(first.ms)} ms the first time, ${Math.round(second.ms)} ms the second.`,
      advice: null,
    }
  return {
    ...about,
    status: 'warning',
    found: `The resolver does not seem to remember answers: the TTL of ${names.cached} stayed at ${second.answer.ttl} seconds.`,
    advice: OWN,
  }
}

/** Whether forged answers are refused, and what that means for DANE (RFC 7672 §1.3, §2.2). */
export function judgeValidation({ names, signed, broken }: ResolverFacts, trustAd: boolean): Finding {
  const about = { id: 'resolver:dnssec', title: 'DNSSEC' }
  if (signed.kind !== 'found' || (broken.kind === 'failed' && !broken.note.includes('SERVFAIL')))
    return {
      ...about,
      status: 'skipped',
      found: `Whether the resolver validates cannot be told: ${signed.kind === 'found' ? names.broken : names.signed} brought no answer to judge by.`,
      advice: null,
    }
  const refuses = broken.kind === 'failed'
  if (refuses && signed.authentic)
    return {
      ...about,
      status: 'ok',
      found: trustAd
        ? 'The resolver validates, and dns.trust_ad is on: DANE is used.'
        : 'The resolver validates, but dns.trust_ad is off: DANE is not used.',
      advice: trustAd
        ? null
        : 'If the way to the resolver is safe (it runs on this machine), set dns.trust_ad = true to use DANE.',
    }
  const how = refuses
    ? `The resolver refuses ${names.broken}, but does not say that ${names.signed} is authentic (AD)`
    : `The resolver does not validate: it answers for ${names.broken}, whose signatures are broken`
  if (trustAd && !refuses)
    return {
      ...about,
      status: 'failed',
      found: `${how}. dns.trust_ad is on all the same, so forged records are believed.`,
      advice: `Set dns.trust_ad = false, or: ${OWN}`,
    }
  return { ...about, status: 'warning', found: `${how}. DANE cannot be used.`, advice: OWN }
}
