import { go, router, withQuery } from './router.svelte.ts'

/** What is unfolded is in the address, as a list of ids: a pasted link shows the same transcript. */
export function toggle(id: string): void {
  const open = new Set((router.query.get('open') ?? '').split(',').filter((part) => part !== ''))
  if (!open.delete(id)) open.add(id)
  go(withQuery({ open: open.size === 0 ? null : [...open].join(',') }), { replace: true })
}
