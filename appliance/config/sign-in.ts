/** `[[sign_in.providers]]`: who else may say who people are. Its schema, and what no single key of it can tell. */
import { Type, type Static } from 'typebox'

/** One table of the list; its defaults are given by `completeProvider`. */
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

/** One table as it was written. */
export type ProviderTable = Static<typeof ProviderSchema>

/** What is said of the list in the example and in the reference. */
export const PROVIDERS_DESCRIPTION =
  'Identity providers that people may sign in with, a [[sign_in.providers]] table each; docs/sign-in-providers.md tells how to set them up. ' +
  'id: a short name, part of the address that the provider sends people back to (PUBLIC_URL/session/oidc/ID/callback). ' +
  'preset: "google", "github" or "oidc" (the default: any provider of OpenID Connect, found by its issuer). ' +
  'label: its name for people. issuer: for "oidc", its https:// address; for "github", that of an Enterprise Server. ' +
  'client_id and client_secret: what the provider gave this server; client_secret_file: a file with the secret instead. ' +
  'allowed_domains: only addresses of these domains may enter. ' +
  'join: { role = "viewer" } makes members of people whom nobody invited, in the first team or the one of team_id. ' +
  'link_by_email: whoever has the verified address of an account enters it without having linked it before. ' +
  'trust_second_factor: whoever comes from there needs no second factor here.'

/** A complaint about one key of one table: `path` goes on from `sign_in.providers`. */
export interface ProviderComplaint {
  path: string
  message: string
}

/** What does not go together, in words. The tables themselves are sound. */
export function checkProviders(
  tables: readonly ProviderTable[],
  publicUrl: string | undefined,
): ProviderComplaint[] {
  if (tables.length === 0) return []
  const lost: ProviderComplaint = {
    path: '',
    message:
      'sign_in.providers needs http.public_url, or http.admin_url where the dashboard has an origin of its own: providers send people back to that address.',
  }
  return [...(publicUrl === undefined ? [lost] : []), ...tables.flatMap(checkProvider)]
}

function checkProvider(table: ProviderTable, index: number, all: readonly ProviderTable[]) {
  const found: ProviderComplaint[] = []
  const complain = (key: keyof ProviderTable, message: string) =>
    found.push({ path: `[${index}].${key}`, message: `sign_in.providers[${index}].${key} ${message}` })
  const { id, preset = 'oidc', issuer, client_secret: secret, client_secret_file: file } = table
  if (all.findIndex((other) => other.id === id) < index)
    complain('id', `is "${id}" again; each provider needs its own.`)
  if (preset === 'oidc' && issuer === undefined)
    complain('issuer', 'is missing: the address of the provider, such as https://login.example.com.')
  if (preset === 'google' && issuer !== undefined)
    complain('issuer', 'does not go with the preset "google", which has one issuer. Remove it.')
  if ((secret === undefined) === (file === undefined))
    complain(
      'client_secret',
      secret === undefined
        ? 'is missing: set it, or client_secret_file.'
        : 'and client_secret_file are both set: keep one of them.',
    )
  for (const [key, message] of weakDoors(table)) complain(key, message)
  return found
}

/** Settings that would let in people whom the operator does not mean. */
function weakDoors(table: ProviderTable): [keyof ProviderTable, string][] {
  const { preset = 'oidc', join, link_by_email: byEmail, allowed_domains: domains } = table
  const found: [keyof ProviderTable, string][] = []
  if (preset === 'github' && join)
    found.push([
      'join',
      'does not go with the preset "github", where anybody can have an account: invite people.',
    ])
  if (preset === 'google' && join && !domains)
    found.push(['join', 'needs allowed_domains with the preset "google", where anybody can have an account.'])
  if (preset === 'github' && byEmail === true)
    found.push([
      'link_by_email',
      'does not go with the preset "github": an address that was verified there once stays so when it is taken away.',
    ])
  return found
}

const LABELS = { google: 'Google', github: 'GitHub', oidc: null } as const

/** A table with its defaults. @param clientSecret as written, or as read from its file */
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
