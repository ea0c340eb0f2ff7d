/** The name by which mail introduces itself (RFC 5321 §4.1.1.1): whether receivers can make sense of it. Pure. */
import type { Finding } from '../mail/finding.ts'
import { addressesOf, type HostAnswers, type SeenAddress } from './addresses.ts'
import { isInternalName, looksGeneric } from './names.ts'

/** Judges the name itself, and whether it resolves. */
export function judgeHelo(host: HostAnswers): Finding {
  const { name, A, AAAA } = host
  const about = { id: `helo:${name}`, title: `EHLO name ${name}` }
  const choose =
    'Set hostname to a public name of this machine, such as mail.example.com, with A and PTR records.'
  if (!name.includes('.') || isInternalName(name))
    return {
      ...about,
      status: 'failed',
      found: `${name} is a name of the local network only: receivers cannot look it up.`,
      advice: choose,
    }
  if (addressesOf(host).length === 0) {
    const failed = [A, AAAA].find((answer) => answer.kind === 'failed')
    if (failed?.kind === 'failed')
      return { ...about, status: 'skipped', found: `DNS gave no answer: ${failed.note}.`, advice: null }
    return {
      ...about,
      status: 'failed',
      found: `${name} has no address. Many receivers refuse mail from a server whose name leads nowhere.`,
      advice: `Publish an A record of ${name} with the public address of this machine.`,
    }
  }
  if (looksGeneric(name))
    return {
      ...about,
      status: 'warning',
      found: `${name} looks like the name of a home connection, which counts against mail.`,
      advice: choose,
    }
  return { ...about, status: 'ok', found: `${name} is fully qualified and resolves.`, advice: null }
}

/**
 * Whether the host name leads to where mail leaves from: SPF policies that say `a:` and the way back of bounces depend on it.
 * @param seen addresses under which receivers see this machine
 */
export function judgeHostAddresses(host: HostAnswers, seen: readonly SeenAddress[]): Finding {
  const { name } = host
  const about = { id: `address:${name}`, title: `Address of ${name}` }
  const published = addressesOf(host)
  if (published.length === 0)
    return { ...about, status: 'skipped', found: `${name} has no address; see its EHLO name.`, advice: null }
  const own = seen.filter(({ behind }) => behind === null).map(({ ip }) => ip)
  const router = seen.find(({ behind }) => behind !== null)
  if (published.some((ip) => own.includes(ip)))
    return {
      ...about,
      status: 'ok',
      found: `${name} is ${published.join(', ')}, which is here.`,
      advice: null,
    }
  if (router)
    return {
      ...about,
      status: 'ok',
      found: `${name} is ${published.join(', ')}; this machine is ${router.behind}, so a router stands between (NAT). That the router sends from ${router.ip} is believed.`,
      advice: null,
    }
  if (own.length === 0)
    return {
      ...about,
      status: 'warning',
      found: `${name} is ${published.join(', ')}, and this machine has no public address: how receivers see its mail cannot be told.`,
      advice: `Publish the public address of the router as A record of ${name}.`,
    }
  return {
    ...about,
    status: 'warning',
    found: `${name} is ${published.join(', ')}, but mail leaves from ${own.join(', ')}.`,
    advice: `Publish ${own.join(', ')} for ${name}, or send from where it leads to: delivery.source_ips.`,
  }
}
