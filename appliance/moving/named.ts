/** Moves objects that are matched by name. Several objects with the same name are matched one to one. */
import { HostedError, type HostedObject } from './hosted.ts'
import { stringOrNull } from './objects.ts'
import { tryAdd, tryChange, countSkipped, type MoveCount, type MoveDeps } from './report.ts'

/** Functions that read, match and create objects of a kind. */
export interface ObjectMatcher<Here extends { id: string }> {
  /** Path of the list in the hosted service's API. */
  path: string
  /** Noun for reports about an object without a name, such as `a segment`. */
  noun: string
  /** Returns the name that identifies the object, apart from its ID; null if it has none. */
  nameOf(wire: HostedObject): string | null | Promise<string | null>
  /** Returns all objects of the team, newest first. */
  here(): Promise<Here[]>
  nameHere(here: Here): string
}

/** Functions that create or change an object here. In a dry run, both only check. Both refuse with `Refusal`. */
export interface ObjectWriter<Here> {
  create(wire: HostedObject, name: string): Promise<void>
  /** Updates the object here, with `overwrite`. Returns whether it changed. */
  change?(wire: HostedObject, here: Here): Promise<boolean>
}

/** Statuses of a list that isn't available to the account, or that the server doesn't have. */
const ABSENT = [403, 404, 405]

/**
 * Yields the objects of a list in the service's order. If the service has no such list, adds a note and yields nothing.
 */
export async function* everyOf(
  { hosted }: Pick<MoveDeps, 'hosted'>,
  path: string,
  count?: MoveCount,
): AsyncGenerator<HostedObject> {
  try {
    yield* hosted.list(path)
  } catch (error) {
    if (!(error instanceof HostedError) || !ABSENT.includes(error.status ?? 0)) throw error
    count?.notes.push({ what: path, text: 'the hosted API has no such list for this key' })
  }
}

/** An object of the hosted service, its name, and the object here with the same name. */
type Pair<Here> = [wire: HostedObject, name: string | null, here: Here | undefined]

/**
 * Matches the hosted service's objects, oldest first, with the objects here. Of several with the same name, the oldest
 * are matched with each other, so that a second run finds the objects that the first one created.
 */
export async function matchByName<Here extends { id: string }>(
  deps: Pick<MoveDeps, 'hosted'>,
  named: ObjectMatcher<Here>,
  count?: MoveCount,
): Promise<Pair<Here>[]> {
  const theirs: HostedObject[] = []
  for await (const wire of everyOf(deps, named.path, count)) theirs.push(wire)
  const free = Map.groupBy((await named.here()).toReversed(), (one) => named.nameHere(one).trim())
  const pairs: Pair<Here>[] = []
  for (const wire of theirs.toReversed()) {
    const name = (await named.nameOf(wire))?.trim() ?? null
    pairs.push([wire, name, name === null ? undefined : free.get(name)?.shift()])
  }
  return pairs
}

/** Creates the objects that don't exist here. With `overwrite`, changes the existing ones. */
export async function moveByName<Here extends { id: string }>(
  deps: MoveDeps,
  count: MoveCount,
  { named, making }: { named: ObjectMatcher<Here>; making: ObjectWriter<Here> },
): Promise<void> {
  const { overwrite } = deps.options
  for (const [wire, name, here] of await matchByName(deps, named, count)) {
    count.there += 1
    if (name === null || name === '')
      countSkipped(count, named.noun, 'the hosted API returned no name for it')
    else if (!here) await tryAdd(count, name, () => making.create(wire, name))
    else if (overwrite && making.change)
      await tryChange(count, name, async () => (await making.change?.(wire, here)) === true)
    else count.present += 1
  }
}

/** Fetches an object of a list with all its fields. */
export async function fetchWholeObject(
  { hosted }: Pick<MoveDeps, 'hosted'>,
  path: string,
  wire: HostedObject,
): Promise<HostedObject> {
  return hosted.get(`${path}/${encodeURIComponent(stringOrNull(wire.id) ?? '')}`)
}

/** Reads all pages of a list here. */
export async function readAllPages<T extends { id: string }>(
  read: (after: string | undefined) => Promise<{ items: T[]; hasMore: boolean }>,
): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const { items, hasMore } = await read(all.at(-1)?.id)
    all.push(...items)
    if (!hasMore || items.length === 0) return all
  }
}
