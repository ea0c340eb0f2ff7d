/** Looks up the TLSA records of a mail exchanger (RFC 7672 §2.2). */
import type { Resolver } from '../../dns/dns.ts'
import { isUsable, type Tlsa } from './dane.ts'

/**
 * none: no DANE for this host · unusable: the host has only unusable records, so use TLS without checking the
 * certificate (RFC 7672 §2.2) · records: `base` is the TLSA base domain · failed: the lookup failed, so the host must
 * not be used (§2.1.2, §2.2).
 */
export type DaneState =
  | { kind: 'none' }
  | { kind: 'unusable'; base: string; records: Tlsa[] }
  | { kind: 'records'; base: string; records: Tlsa[] }
  | { kind: 'failed'; base: string; why: string }

type Lookup = Pick<Resolver, 'resolve'>

/**
 * Looks up the TLSA records of a host; call it only for a host from a DNSSEC-validated MX answer. Its addresses must be
 * validated, too. Otherwise records aren't looked up, because name servers without DNSSEC fail such queries (RFC 7672
 * §2.2.2).
 */
export async function lookUpDane(host: string, port: number, resolver: Lookup): Promise<DaneState> {
  const answers = await Promise.all([resolver.resolve(host, 'A'), resolver.resolve(host, 'AAAA')])
  const found = answers.filter((answer) => answer.kind === 'found')
  const trouble = answers.find((answer) => answer.kind === 'failed')
  // With bogus addresses the host is unreachable, instead of being used without DANE (RFC 7672 §2.2.2). The addresses
  // to connect to were looked up just before.
  if (found.length === 0 && trouble)
    return failed(host, `The addresses of ${host} could not be looked up: ${trouble.note}`)
  const target = found.find(({ alias }) => alias !== undefined)?.alias
  const secure = found.length > 0 && found.every(({ authentic }) => authentic)
  if (target === undefined) return secure ? tlsaOf(host, port, resolver) : { kind: 'none' }
  if (secure) {
    // Prefer the name that an alias leads to (RFC 7672 §2.2.3), then the alias itself.
    const records = await tlsaOf(target, port, resolver)
    return records.kind === 'none' ? tlsaOf(host, port, resolver) : records
  }
  // An alias in a signed zone to a host in an unsigned one may have its own records (RFC 7672 §2.2.2).
  const alias = await resolver.resolve(host, 'CNAME')
  if (alias.kind === 'failed') return failed(host, `The alias ${host} could not be looked up: ${alias.note}`)
  return alias.authentic ? tlsaOf(host, port, resolver) : { kind: 'none' }
}

const failed = (base: string, why: string): DaneState => ({ kind: 'failed', base, why })

async function tlsaOf(base: string, port: number, resolver: Lookup): Promise<DaneState> {
  const name = `_${port}._tcp.${base}`
  const answer = await resolver.resolve(name, 'TLSA')
  if (answer.kind === 'failed') {
    const why = `The TLSA records ${name} could not be looked up, so the certificate cannot be checked: ${answer.note}`
    return failed(base, why)
  }
  // Records that aren't validated count as none (RFC 7672 §2.2).
  if (answer.kind === 'absent' || !answer.authentic) return { kind: 'none' }
  const usable = answer.records.filter(isUsable)
  return usable.length > 0
    ? { kind: 'records', base, records: usable }
    : { kind: 'unusable', base, records: answer.records }
}
