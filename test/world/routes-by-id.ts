/** The part of `GET /openapi.json` used here. */
export interface ApiDocument {
  paths: Record<string, Record<string, { security?: unknown[] }>>
}

/** A request to a route that takes an ID. */
export interface RouteById {
  /** The route as in the document: `GET /emails/{id}`. */
  name: string
  method: string
  path: string
  body: unknown
}

/** Request bodies that would be valid if the caller owned the object. */
const BODIES: Record<string, unknown> = {
  'PATCH /emails/{id}': { scheduled_at: 'in 1 hour' },
  'POST /emails/{id}/share': {},
  'PATCH /api-keys/{id}': { name: 'Mine' },
  'PATCH /domains/{id}': { open_tracking: true },
  'PUT /domains/{id}/bodies': { keep: false },
  'PUT /domains/{id}/receiving-rules': { rules: [] },
  'PATCH /webhooks/{id}': { status: 'disabled' },
  'POST /webhooks/{id}/replay': { since: '2026-01-01T00:00:00Z' },
  'PATCH /account/passkeys/{id}': { name: 'Mine' },
  'PATCH /members/{id}': { role: 'viewer' },
  'PATCH /providers/{id}': { connections: 1 },
  'POST /lanes/{id}/pause': {},
  'PATCH /sources/{id}': {},
  'PATCH /sources/{ip}': {},
  'PATCH /sources/pools/{pool}': { region: null },
  'POST /automations/{automation_id}/test': { event: 'joined', email: 'mine@people.example' },
  'PATCH /contacts/{id}/topics': [],
  'POST /templates/{id}/test': { to: 'mine@people.example' },
  'POST /audiences/{audience_id}/contacts': { email: 'mine@people.example' },
}

/** Deletes that succeed even if the object doesn't exist, because clients of the hosted service expect it. */
export const GONE_ANYWAY = [
  'DELETE /segments/{id}',
  'DELETE /audiences/{id}',
  'DELETE /audiences/{audience_id}/contacts/{id}',
]

/** Returns requests to every authenticated API route that takes an ID, one for each of `ids`. */
export function routesById({ paths }: ApiDocument, ids: Iterable<string>): RouteById[] {
  const all = [...ids]
  return Object.entries(paths)
    .filter(([path]) => path.includes('{'))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security?.length !== 0)
        .flatMap(([lower]) => {
          const method = lower.toUpperCase()
          const name = `${method} ${path}`
          const body = method === 'GET' || method === 'DELETE' ? undefined : (BODIES[name] ?? {})
          return all.map((id) => ({ name, method, path: path.replaceAll(/\{\w+\}/g, id), body }))
        }),
    )
}
