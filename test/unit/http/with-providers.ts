import type { ProviderSettings } from '../../../appliance/accounts/accounts.ts'
import { startIdentityProvider, type IdentityProvider } from '../../world/identity-provider.ts'
import { startApi, type Api } from './harness.ts'

/** The public URL of the API, which the identity provider redirects to. */
export const PUBLIC = 'https://mail.acme.example'

/** Starts an identity provider, and an API that has it several times, under IDs that say how it is configured. */
export async function startWithProviders(): Promise<{ idp: IdentityProvider; api: Api }> {
  const ids = ['corp', 'joining', 'linking', 'strict', 'trusted', 'secret']
  const idp = await startIdentityProvider(ids.map((id) => `${PUBLIC}/session/oidc/${id}/callback`))
  const row = (id: string, more: Partial<ProviderSettings> = {}): ProviderSettings => ({
    id,
    preset: 'oidc',
    label: `The ${id}`,
    issuer: idp.issuer,
    clientId: idp.clientId,
    clientSecret: idp.clientSecret,
    allowedDomains: [],
    join: null,
    linkByEmail: false,
    trustSecondFactor: false,
    ...more,
  })
  const api = await startApi({
    publicUrl: PUBLIC,
    providers: [
      row('corp'),
      row('joining', { join: { role: 'viewer', teamId: null } }),
      row('linking', { linkByEmail: true }),
      row('strict', { allowedDomains: ['acme.example'], join: { role: 'viewer', teamId: null } }),
      row('trusted', { trustSecondFactor: true }),
      row('down', { issuer: 'http://127.0.0.1:9' }),
      row('wrong', { issuer: `${idp.issuer}/elsewhere` }),
      row('secret', { clientSecret: 'not the secret' }),
    ],
  })
  return { idp, api }
}
