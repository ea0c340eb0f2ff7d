/** Moves objects that are matched by name: those of the hosted service and those here, each counted once. */
import { HostedFailed, type Wire } from './hosted.ts'
import { text } from './objects.ts'
import { add, change, leaveOut, type MoveCount, type MoveDeps } from './report.ts'

/** How objects of a kind are read, matched and created. */
export interface Named<Here extends { id: string }> {
  /** List of the hosted service. */
  path: string
  /** For a report about an object without a name: `a segment`. */
  noun: string
  /** Returns what identifies the object, apart from its ID; null: nothing does. */
  nameOf(wire: Wire): string | null | Promise<string | null>
  /** All of the team, newest first. */
  here(): Promise<Here[]>
  nameHere(here: Here): string
}

/** What is done with an object. Both check only in a dry run, and refuse with `Refusal`. */
export interface Making<Here> {
  create(wire: Wire, name: string): Promise<void>
  /** Brings the object here up to date, with `overwrite`. Returns whether it did. */
  change?(wire: Wire, here: Here): Promise<boolean>
}

/** Statuses of a list that the account or the server doesn't have. */
const ABSENT = [403, 404, 405]

/** Yields a list in the service's order. Yields nothing and notes it if the service has no such list. */
export async function* everyOf(
  { hosted }: Pick<MoveDeps, 'hosted'>,
  path: string,
  count?: MoveCount,
): AsyncGenerator<Wire> {
  try {
    yield* hosted.list(path)
  } catch (error) {
    if (!(error instanceof HostedFailed) || !ABSENT.includes(error.status ?? 0)) throw error
    count?.notes.push({ what: path, text: 'the hosted API has no such list for this key' })
  }
}

/** An object of the hosted service, and the one here with the same name. */
type Pair<Here> = [wire: Wire, name: string | null, here: Here | undefined]

/**
 * Matches the hosted service's objects, oldest first, with those here. Of several with the same name, the oldest belong
 * together, so that a second run finds what the first one created.
 */
export async function pairsOf<Here extends { id: string }>(
  deps: Pick<MoveDeps, 'hosted'>,
  named: Named<Here>,
  count?: MoveCount,
): Promise<Pair<Here>[]> {
  const theirs: Wire[] = []
  for await (const wire of everyOf(deps, named.path, count)) theirs.push(wire)
  const free = Map.groupBy((await named.here()).toReversed(), (one) => named.nameHere(one).trim())
  const pairs: Pair<Here>[] = []
  for (const wire of theirs.toReversed()) {
    const name = (await named.nameOf(wire))?.trim() ?? null
    pairs.push([wire, name, name === null ? undefined : free.get(name)?.shift()])
  }
  return pairs
}

/** Creates what isn't here. With `overwrite`, changes what is. */
export async function moveNamed<Here extends { id: string }>(
  deps: MoveDeps,
  count: MoveCount,
  { named, making }: { named: Named<Here>; making: Making<Here> },
): Promise<void> {
  const { overwrite } = deps.options
  for (const [wire, name, here] of await pairsOf(deps, named, count)) {
    count.there += 1
    if (name === null || name === '') leaveOut(count, named.noun, 'the hosted API returned no name for it')
    else if (!here) await add(count, name, () => making.create(wire, name))
    else if (overwrite && making.change)
      await change(count, name, async () => (await making.change?.(wire, here)) === true)
    else count.present += 1
  }
}

/** Fetches an object of a list with all its fields. */
export async function wholeOf({ hosted }: Pick<MoveDeps, 'hosted'>, path: string, wire: Wire): Promise<Wire> {
  return hosted.get(`${path}/${encodeURIComponent(text(wire.id) ?? '')}`)
}

/** Reads all pages of a list here. */
export async function allPages<T extends { id: string }>(
  read: (after: string | undefined) => Promise<{ items: T[]; hasMore: boolean }>,
): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const { items, hasMore } = await read(all.at(-1)?.id)
    all.push(...items)
    if (!hasMore || items.length === 0) return all
  }
}
