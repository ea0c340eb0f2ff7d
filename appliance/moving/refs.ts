/** Finds the objects here that correspond to objects of the hosted service, because their IDs differ. */
import { pairsOf, type Named } from './named.ts'
import { segmentNames, topicNames } from './lists.ts'
import { text } from './objects.ts'
import type { Kind, MoveDeps } from './report.ts'
import { templateNames } from './templates.ts'

/** IDs here by ID of the hosted service. In a dry run, objects that would be created keep the hosted service's ID. */
export type Ids = ReadonlyMap<string, string>

/** Lookup tables of IDs. Each is read once, when it is first needed. */
export interface Refs {
  segments(): Promise<Ids>
  topics(): Promise<Ids>
  templates(): Promise<Ids>
}

/** Creates the references of a move. The kinds of objects that they refer to must have been moved before. */
export function createRefs(deps: MoveDeps): Refs {
  return {
    segments: once(() => idsOf(deps, 'segments', segmentNames(deps))),
    topics: once(() => idsOf(deps, 'topics', topicNames(deps))),
    templates: once(() => idsOf(deps, 'templates', templateNames(deps))),
  }
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  return () => (asked ??= read())
}

async function idsOf<Here extends { id: string }>(
  deps: MoveDeps,
  kind: Kind,
  named: Named<Here>,
): Promise<Ids> {
  const { dryRun, only } = deps.options
  const ids = new Map<string, string>()
  for (const [wire, , here] of await pairsOf(deps, named)) {
    const id = text(wire.id)
    const found = here?.id ?? (dryRun && only.includes(kind) ? id : null)
    if (id !== null && found !== null) ids.set(id, found)
  }
  return ids
}
