import type { Resource } from './resource.svelte.ts'
import { go, router, withQuery } from './router.svelte.ts'

/** Where in a long list the address bar is: after or before a row, by its id. */
export const cursor = {
  get after(): string | null {
    return router.query.get('after')
  },
  get before(): string | null {
    return router.query.get('before')
  },
  /** On the first page. */
  get newest(): boolean {
    return this.after === null && this.before === null
  },
}

/** The rows that the pages before and after begin at; null where there is none. */
export interface Paging {
  readonly older: string | null
  readonly newer: string | null
}

/** The pages around the one that `list` shows. Whoever comes back to the first page gets its plain address. */
export function paging(list: Resource<{ data: { id: string }[]; has_more: boolean }>): Paging {
  $effect(() => {
    if (cursor.before !== null && list.data?.has_more === false)
      go(withQuery({ before: null, after: null }), { replace: true })
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
