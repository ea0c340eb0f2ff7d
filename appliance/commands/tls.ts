import { parseDomain } from '../mail/domain.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import { createSilentLogger } from '../watch/log.ts'
import { presentTlsPolicy } from '../api/tls.ts'
import { type Adapters, type Context, Failure } from './context.ts'
import { wrapParagraph } from './output.ts'

/** `tls policy`: looks up the TLS policy of a recipient domain; sends nothing. */
export async function showTlsPolicy(context: Context, name: string, adapters: Adapters): Promise<void> {
  const domain = parseDomain(name)
  if (domain === undefined) throw new Failure(`${name} is not a domain name such as example.com.`)
  const { config, storage, resolver, clock, output } = context
  const { openTlsPolicies } = await adapters()
  const policies = openTlsPolicies(config, { storage, resolver, clock, log: createSilentLogger() })
  const view = await policies.view(domain)
  output.object(presentTlsPolicy(view))
  output.text(...describeTlsPolicy(view))
}

/** Formats the policy as lines. */
function describeTlsPolicy(view: TlsPolicyView): string[] {
  const { domain, validating, mxAuthentic, mtaSts, troubles, hosts, reportsTo } = view
  const dane = !validating
    ? 'not checked: dns.trust_ad is off'
    : mxAuthentic
      ? 'possible: the MX records are DNSSEC-validated'
      : 'not possible: the MX records are not DNSSEC-signed'
  const until = mtaSts && new Date(mtaSts.expiresAt).toISOString().slice(0, 10)
  return [
    domain,
    `  DANE      ${dane}`,
    `  MTA-STS   ${mtaSts ? `${mtaSts.mode} until ${until}: ${mtaSts.mx.join(', ')}` : 'no policy'}`,
    `  Reports   ${reportsTo.length > 0 ? reportsTo.join(', ') : 'not requested'}`,
    ...hosts.flatMap(({ host, preference, tls, why, tlsa }) => [
      '',
      `  ${preference ?? '-'} ${host}: ${tls}`,
      ...(why === null ? [] : wrapParagraph(why).map((line) => `      ${line}`)),
      ...tlsa.map((record) => `      TLSA ${record}`),
    ]),
    ...troubles.flatMap((trouble) => ['', ...wrapParagraph(trouble)]),
  ]
}
