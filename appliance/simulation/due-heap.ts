/** Items ordered by due time; items due at the same time are in order of arrival. */
export class DueHeap<T extends { dueAt: number }> {
  readonly #heap: { item: T; dueAt: number; order: number }[] = []
  #order = 0

  /** The item that is due first. */
  get first(): T | undefined {
    return this.#heap[0]?.item
  }

  /** All items, in no particular order. */
  get items(): T[] {
    return this.#heap.map(({ item }) => item)
  }

  push(item: T): void {
    const heap = this.#heap
    const added = { item, dueAt: item.dueAt, order: this.#order++ }
    let at = heap.push(added) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(added, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = added
  }

  /** Removes the item that is due first. */
  pop(): T | undefined {
    const heap = this.#heap
    const taken = heap[0]
    const last = heap.pop()
    if (!taken || !last || heap.length === 0) return taken?.item
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (below >= heap.length || !isBefore(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return taken.item
  }
}

interface Placed {
  dueAt: number
  order: number
}

const isBefore = (a: Placed, b: Placed): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order)
