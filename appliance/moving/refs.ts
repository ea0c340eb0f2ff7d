/** Finds the objects here that correspond to objects of the hosted service, because their IDs differ. */
import { matchByName, type ObjectMatcher } from './named.ts'
import { createSegmentMatcher, createTopicMatcher } from './lists.ts'
import { stringOrNull } from './objects.ts'
import type { ObjectKind, MoveDeps } from './report.ts'
import { createTemplateMatcher } from './templates.ts'

/** IDs here by ID of the hosted service. In a dry run, objects that would be created keep the hosted service's ID. */
export type IdMap = ReadonlyMap<string, string>

/** Lookup tables of IDs. Each table is read once, when it is first needed. */
export interface IdLookups {
  segments(): Promise<IdMap>
  topics(): Promise<IdMap>
  templates(): Promise<IdMap>
}

/** Creates the lookup tables of a move. The kinds of objects in them must have been moved before. */
export function createIdLookups(deps: MoveDeps): IdLookups {
  return {
    segments: once(() => idsOf(deps, 'segments', createSegmentMatcher(deps))),
    topics: once(() => idsOf(deps, 'topics', createTopicMatcher(deps))),
    templates: once(() => idsOf(deps, 'templates', createTemplateMatcher(deps))),
  }
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  return () => (asked ??= read())
}

async function idsOf<Here extends { id: string }>(
  deps: MoveDeps,
  kind: ObjectKind,
  named: ObjectMatcher<Here>,
): Promise<IdMap> {
  const { dryRun, only } = deps.options
  const ids = new Map<string, string>()
  for (const [wire, , here] of await matchByName(deps, named)) {
    const id = stringOrNull(wire.id)
    const found = here?.id ?? (dryRun && only.includes(kind) ? id : null)
    if (id !== null && found !== null) ids.set(id, found)
  }
  return ids
}
