/** Checks whether mail gets out: dials port 25 of well-known mail exchangers from a sending IP. */
import { isIP } from 'node:net'
import type { Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'
import { AUTO_IP } from '../mail/source.ts'
import { getFamily } from '../sources/sources.ts'
import { dialForGreeting, type Greeting } from './connect.ts'

/** Time limit for a greeting, in milliseconds; working exchangers take less than a second. */
const TIMEOUT = 8000

/** The result of dialing a mail exchanger. */
export interface Port25Probe {
  host: string
  greeting: Greeting | { kind: 'unresolved'; note: string }
}

/** Dials all exchangers at once from one address. Never rejects. */
export function probePort25(
  resolver: Pick<Resolver, 'resolve'>,
  targets: readonly string[],
  source: string,
  timeoutMs: number = TIMEOUT,
): Promise<Port25Probe[]> {
  return Promise.all(
    targets.map(async (target): Promise<Port25Probe> => {
      const [, host = target, port = '25'] = /^(.*):(\d+)$/.exec(target) ?? []
      const address = await addressOf(resolver, host, source)
      if ('note' in address) return { host, greeting: { kind: 'unresolved', note: address.note } }
      const localAddress = source === AUTO_IP ? undefined : source
      return {
        host,
        greeting: await dialForGreeting({ ip: address.ip, port: Number(port), localAddress, timeoutMs }),
      }
    }),
  )
}

async function addressOf(
  resolver: Pick<Resolver, 'resolve'>,
  host: string,
  source: string,
): Promise<{ ip: string } | { note: string }> {
  if (isIP(host) !== 0) return { ip: host }
  const answer = await resolver.resolve(host, getFamily(source) === 6 ? 'AAAA' : 'A')
  if (answer.kind === 'found') return { ip: answer.records[0]! }
  return { note: answer.kind === 'failed' ? answer.note : `${host} has no address of this IP version` }
}

/** Evaluates the results. One greeting is enough: other exchangers may have their own reasons to refuse. */
export function evaluatePort25(source: string, tries: readonly Port25Probe[]): Finding {
  const from = source === AUTO_IP ? 'this machine' : source
  const about = { id: `port25:${source}`, title: `Outbound port 25 from ${from}` }
  const good = tries.find(({ greeting }) => greeting.kind === 'greeted' && greeting.line.startsWith('220'))
  if (good) return { ...about, status: 'ok', found: `${good.host} answers.`, advice: null }
  if (tries.every(({ greeting }) => greeting.kind === 'unresolved'))
    return {
      ...about,
      status: 'skipped',
      found: 'No mail exchanger could be contacted: DNS returned no address for any of them.',
      advice: 'See the findings about the resolver.',
    }
  const seen = tries.map(({ host, greeting }) =>
    greeting.kind === 'greeted' ? `${host} says "${greeting.line.slice(0, 80)}"` : `${host} ${greeting.note}`,
  )
  const answered = tries.some(({ greeting }) => greeting.kind === 'greeted')
  return {
    ...about,
    status: 'failed',
    found: answered
      ? `Something responds on port 25, but not like a mail exchanger: ${seen.join('; ')}.`
      : `No mail exchanger can be reached: ${seen.join('; ')}.`,
    advice: answered
      ? 'A firewall or the hosting provider intercepts outgoing mail. Allow TCP connections to port 25 to pass unchanged.'
      : `No mail can be delivered. Most hosting providers block outgoing port 25 by default. Ask yours to open outgoing TCP port 25 for ${from}, for a mail server that sends its own customers' mail. Then check the firewall of this machine.`,
  }
}
