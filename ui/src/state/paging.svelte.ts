import type { Resource } from './resource.svelte.ts'
import { go, router, buildQueryPath } from './router.svelte.ts'

/** The position in a list, from the address bar: after or before the id of a row. */
export const cursor = {
  get after(): string | null {
    return router.query.get('after')
  },
  get before(): string | null {
    return router.query.get('before')
  },
  /** Whether this is the first page. */
  get newest(): boolean {
    return this.after === null && this.before === null
  },
}

/** Cursors of the adjacent pages; null if there is none. */
export interface Paging {
  readonly older: string | null
  readonly newer: string | null
}

/**
 * Returns the cursors of the pages before and after the one that `list` shows. The address of the first page has no
 * cursor.
 */
export function paging(list: Resource<{ data: { id: string }[]; has_more: boolean }>): Paging {
  $effect(() => {
    if (cursor.before !== null && list.data?.has_more === false)
      go(buildQueryPath({ before: null, after: null }), { replace: true })
  })
  return {
    get older() {
      const more = list.data?.has_more === true || cursor.before !== null
      return more ? (list.data?.data.at(-1)?.id ?? null) : null
    },
    get newer() {
      return cursor.newest ? null : (list.data?.data[0]?.id ?? null)
    },
  }
}
