/** `[[sign_in.providers]]`: external identity providers. Its schema, and checks across its keys. */
import { Type, type Static } from 'typebox'

/** One table of the list; `completeProvider` fills in its defaults. */
export const ProviderSchema = Type.Object(
  {
    id: Type.String({ format: 'provider-id' }),
    preset: Type.Optional(Type.Union([Type.Literal('google'), Type.Literal('github'), Type.Literal('oidc')])),
    label: Type.Optional(Type.String()),
    issuer: Type.Optional(Type.String({ format: 'issuer' })),
    client_id: Type.String(),
    client_secret: Type.Optional(Type.String({ secret: true })),
    client_secret_file: Type.Optional(Type.String({ format: 'absolute-path' })),
    allowed_domains: Type.Optional(Type.Array(Type.String({ format: 'hostname' }), { minItems: 1 })),
    join: Type.Optional(
      Type.Object(
        {
          role: Type.Union([Type.Literal('admin'), Type.Literal('developer'), Type.Literal('viewer')]),
          team_id: Type.Optional(Type.String({ format: 'id' })),
        },
        { additionalProperties: false },
      ),
    ),
    link_by_email: Type.Optional(Type.Boolean()),
    trust_second_factor: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

/** One table as written. */
export type ProviderTable = Static<typeof ProviderSchema>

/** The description of the list in the example and the reference. */
export const PROVIDERS_DESCRIPTION =
  'Identity providers for sign-in, one [[sign_in.providers]] table each. See docs/sign-in-providers.md. ' +
  'id: a short name, used in the redirect URI (PUBLIC_URL/session/oidc/ID/callback). ' +
  'preset: "google", "github" or "oidc" (default; any OpenID Connect provider, discovered from its issuer). ' +
  'label: the name shown on the sign-in page. issuer: for "oidc", the https:// URL of the provider; for "github", the URL of an Enterprise Server. ' +
  'client_id and client_secret: the credentials from the provider. client_secret_file: a file that holds the secret, instead of client_secret. ' +
  'allowed_domains: only email addresses in these domains can sign in. ' +
  'join: { role = "viewer" } lets people join without an invitation, in the first team or the team team_id. ' +
  'link_by_email: sign in to the account with the same verified email address, without linking it first. ' +
  'trust_second_factor: do not require a second step after sign-in with this provider.'

/** A complaint about a key of a table; `path` continues `sign_in.providers`. */
export interface ProviderError {
  path: string
  message: string
}

/** Finds contradictory settings. The tables themselves are valid. */
export function checkProviders(
  tables: readonly ProviderTable[],
  publicUrl: string | undefined,
): ProviderError[] {
  if (tables.length === 0) return []
  const lost: ProviderError = {
    path: '',
    message:
      'sign_in.providers requires http.public_url, or http.admin_url if the dashboard has a separate origin. Providers redirect to that address.',
  }
  return [...(publicUrl === undefined ? [lost] : []), ...tables.flatMap(checkProvider)]
}

function checkProvider(table: ProviderTable, index: number, all: readonly ProviderTable[]) {
  const found: ProviderError[] = []
  const complain = (key: keyof ProviderTable, message: string) =>
    found.push({ path: `[${index}].${key}`, message: `sign_in.providers[${index}].${key} ${message}` })
  const { id, preset = 'oidc', issuer, client_secret: secret, client_secret_file: file } = table
  if (all.findIndex((other) => other.id === id) < index)
    complain('id', `is "${id}" again; each provider needs a unique id.`)
  if (preset === 'oidc' && issuer === undefined)
    complain('issuer', 'is missing: the URL of the provider, such as https://login.example.com.')
  if (preset === 'google' && issuer !== undefined)
    complain('issuer', 'cannot be used with the preset "google", which has a fixed issuer. Remove it.')
  if ((secret === undefined) === (file === undefined))
    complain(
      'client_secret',
      secret === undefined
        ? 'is missing: set it or client_secret_file.'
        : 'and client_secret_file are both set. Keep only one.',
    )
  for (const [key, message] of weakDoors(table)) complain(key, message)
  return found
}

/** Finds settings that would let unintended people sign in. */
function weakDoors(table: ProviderTable): [keyof ProviderTable, string][] {
  const { preset = 'oidc', join, link_by_email: byEmail, allowed_domains: domains } = table
  const found: [keyof ProviderTable, string][] = []
  if (preset === 'github' && join)
    found.push([
      'join',
      'cannot be used with the preset "github", because anyone can create a GitHub account. Invite people instead.',
    ])
  if (preset === 'google' && join && !domains)
    found.push([
      'join',
      'requires allowed_domains with the preset "google", because anyone can create a Google account.',
    ])
  if (preset === 'github' && byEmail === true)
    found.push([
      'link_by_email',
      'cannot be used with the preset "github": GitHub keeps an address verified even after its owner loses it.',
    ])
  return found
}

const LABELS = { google: 'Google', github: 'GitHub', oidc: null } as const

/**
 * Fills in a table's defaults.
 * @param clientSecret as written, or as read from its file
 */
export function completeProvider(table: ProviderTable, clientSecret: string) {
  const { preset = 'oidc', join } = table
  const issuer = { google: 'https://accounts.google.com', github: 'https://github.com', oidc: '' }[preset]
  return {
    id: table.id,
    preset,
    label: table.label ?? LABELS[preset] ?? table.id,
    issuer: table.issuer ?? issuer,
    clientId: table.client_id,
    clientSecret,
    allowedDomains: (table.allowed_domains ?? []).map((domain) => domain.toLowerCase()),
    join: join ? { role: join.role, teamId: join.team_id ?? null } : null,
    linkByEmail: table.link_by_email ?? false,
    trustSecondFactor: table.trust_second_factor ?? false,
  }
}
