import { close, go, router, withQuery } from './router.svelte.ts'

/** What is unfolded is in the address, as a list of ids: a pasted link shows the same transcript, and Back folds what was unfolded last. */
export function toggle(id: string): void {
  const open = new Set((router.query.get('open') ?? '').split(',').filter((part) => part !== ''))
  const unfolded = open.delete(id)
  if (!unfolded) open.add(id)
  const to = withQuery({ open: open.size === 0 ? null : [...open].join(',') })
  if (unfolded) close(to)
  else go(to)
}
