/** Checks whether receivers can resolve the HELO name (RFC 5321 §4.1.1.1). Pure. */
import type { Finding } from '../mail/finding.ts'
import {
  listAddresses,
  type HostAnswers,
  type VisibleAddress,
  isInternalName,
  looksGeneric,
} from '../sources/sources.ts'

/** Checks the name's syntax and resolution. */
export function evaluateHelo(host: HostAnswers): Finding {
  const { name, A, AAAA } = host
  const about = { id: `helo:${name}`, title: `EHLO name ${name}` }
  const choose =
    'Set hostname to a public name of this machine, such as mail.example.com, that has A and PTR records.'
  if (!name.includes('.') || isInternalName(name))
    return {
      ...about,
      status: 'failed',
      found: `${name} exists only in the local network, so receivers cannot look it up.`,
      advice: choose,
    }
  if (listAddresses(host).length === 0) {
    const failed = [A, AAAA].find((answer) => answer.kind === 'failed')
    if (failed?.kind === 'failed')
      return { ...about, status: 'skipped', found: `The DNS lookup failed: ${failed.note}.`, advice: null }
    return {
      ...about,
      status: 'failed',
      found: `${name} has no address record. Many receivers refuse mail from a server whose name does not resolve.`,
      advice: `Publish an A record for ${name} with the public address of this machine.`,
    }
  }
  if (looksGeneric(name))
    return {
      ...about,
      status: 'warning',
      found: `${name} looks like a residential connection, which hurts delivery.`,
      advice: choose,
    }
  return { ...about, status: 'ok', found: `${name} is fully qualified and resolves.`, advice: null }
}

/**
 * Checks whether the host name resolves to the sending IPs: SPF policies with `a:` and the delivery of bounces depend
 * on it.
 *
 * @param seen addresses that receivers see
 */
export function evaluateHostAddresses(host: HostAnswers, seen: readonly VisibleAddress[]): Finding {
  const { name } = host
  const about = { id: `address:${name}`, title: `Address of ${name}` }
  const published = listAddresses(host)
  if (published.length === 0)
    return {
      ...about,
      status: 'skipped',
      found: `${name} has no address. See the finding about the EHLO name.`,
      advice: null,
    }
  const own = seen.filter(({ behind }) => behind === null).map(({ ip }) => ip)
  const router = seen.find(({ behind }) => behind !== null)
  if (published.some((ip) => own.includes(ip)))
    return {
      ...about,
      status: 'ok',
      found: `${name} resolves to ${published.join(', ')}, which is this machine.`,
      advice: null,
    }
  if (router)
    return {
      ...about,
      status: 'ok',
      found: `${name} resolves to ${published.join(', ')}, but this machine is ${router.behind}, so it is behind a router (NAT). Posthaste assumes that the router sends from ${router.ip}.`,
      advice: null,
    }
  if (own.length === 0)
    return {
      ...about,
      status: 'warning',
      found: `${name} resolves to ${published.join(', ')}, but this machine has no public address. Posthaste cannot tell which address receivers see.`,
      advice: `Publish an A record for ${name} with the router's public address.`,
    }
  return {
    ...about,
    status: 'warning',
    found: `${name} resolves to ${published.join(', ')}, but mail is sent from ${own.join(', ')}.`,
    advice: `Publish ${own.join(', ')} for ${name}, or send from the published address (delivery.source_ips).`,
  }
}
